#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-fstream.sh -- file streams of C++, narrow and wide

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires g++ --version

cat >streams.cc <<'PROGRAM'
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

static void
text()
{
	std::ofstream o("text");
	for (int i = 0; i < 20000; i++)
		o << i << ' ' << std::setprecision(10) << i * 0.1 << '\n';
	o.seekp(10);
	o << "HELLO";
	o.close();

	std::ifstream in("text");
	std::string line;
	long n = 0, sum = 0;
	while (std::getline(in, line)) {
		n++;
		sum += (long)line.size();
	}
	std::cout << n << ' ' << sum << '\n';
	in.clear();
	in.seekg(-20, std::ios::end);
	std::getline(in, line);
	std::getline(in, line);
	std::cout << line << '\n';

	std::ofstream more("text", std::ios::app);
	more << "more\n" << std::flush;
	std::cout << more.tellp() << '\n';
}

static void
binary()
{
	std::fstream f("binary", std::ios::in | std::ios::out |
		       std::ios::binary | std::ios::trunc);
	std::vector<char> v(100000, 'x');
	f.write(v.data(), (std::streamsize)v.size());
	f.seekg(500);
	char c = (char)f.get();
	f.seekp(500);
	f.put((char)(c + 1));
	f.seekg(0, std::ios::end);
	std::cout << f.tellg() << '\n';
	f.sync();
	f.seekg(0);
	std::string all((std::istreambuf_iterator<char>(f)), {});
	std::cout << all.size() << ' ' << all[500] << '\n';
}

static void
others()
{
	std::wofstream w("wide");
	w << L"wide " << 42 << L'\n';
	w.close();
	std::filebuf b;
	b.pubsetbuf(nullptr, 0);
	b.open("unbuffered", std::ios::out);
	for (int i = 0; i < 100; i++)
		b.sputn("abc", 3);
	b.close();
	std::ofstream nowhere("nowhere/x");
	std::cout << nowhere.is_open() << '\n';
	std::ifstream from("text");
	std::ofstream to("copy");
	to << from.rdbuf();
}

int
main()
{
	text();
	binary();
	others();
}
PROGRAM
g++ -O1 -o streams streams.cc

twins ../streams
same_trees
counter_above bytes_absorbed 400000
