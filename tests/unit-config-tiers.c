/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-config-tiers.c -- the grammar of tiers, and tiers on small machines */

#include "shm/tierspec.h"
#include "tests/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define G (UINT64_C(1) << 30)

static char *env[] = { "HOME=/h", "TMPDIR=/tmp/a b@c+d", "CAP=3G",
		       "LOGIN=me:pw@host", NULL };
static struct spw_tierlist list;
static struct spw_diag diag;
static char shown[SPW_DIAG_MAX];

static int
parse_kinds(const char *text, unsigned kinds)
{
	return spw_tierspec_parse(text, "T", kinds, env, &list, &diag);
}

static int
parse(const char *text)
{
	return parse_kinds(text, SPW_KINDS_ALL);
}

static const char *
message(void)
{
	spw_diag_format(&diag, false, shown, sizeof(shown));
	return shown;
}

/* The list, in a form that shows what was understood. */
static const char *
read_back(const char *text)
{
	static char out[1000];

	out[0] = '\0';
	if (parse(text) < 0)
		return message();
	for (unsigned i = 0; i < list.n; i++) {
		const struct spw_tierspec *t = &list.tier[i];
		char level[8] = "-";

		if (t->level != SPW_LEVEL_DEFAULT)
			snprintf(level, sizeof(level), "%d", t->level);
		snprintf(out + strlen(out), sizeof(out) - strlen(out),
			 "%s [%s] %d/%u/%llu %s %s", spw_tierspec_kind_name(
			 t->kind), spw_tierspec_place(&list, t), t->cap,
			 t->percent, (unsigned long long)t->capacity,
			 spw_tierspec_codec_name(t->codec), level);
		for (unsigned k = 0; k < SPW_KEYS; k++)
			if (spw_tierspec_value(&list, t, k))
				snprintf(out + strlen(out), sizeof(out)
					 - strlen(out), " %s=%s",
					 spw_tierspec_key_name(k),
					 spw_tierspec_value(&list, t, k));
		strcat(out, i + 1 < list.n ? "\n" : "");
	}
	return out;
}

static void
test_accepted(void)
{
	SAME(read_back(""), "ram [] 0/0/0  -");
	SAME(read_back(" \t\n"), "ram [] 0/0/0  -");
	SAME(read_back("ram"), "ram [] 0/0/0  -");
	SAME(read_back("ram@16G"), "ram [] 1/0/17179869184  -");
	SAME(read_back("ram@25%"), "ram [] 2/25/0  -");
	SAME(read_back("ram@auto"), "ram [] 0/0/0  -");
	SAME(read_back("ram@1.5GiB"), "ram [] 1/0/1610612736  -");
	SAME(read_back("ram@${CAP}"), "ram [] 1/0/3221225472  -");
	SAME(read_back("\n ram@1M\tpmem:/mnt/pmem0@64G\n"),
	     "ram [] 1/0/1048576  -\n"
	     "pmem [/mnt/pmem0] 1/0/68719476736  -");
	SAME(read_back("nvme:${TMPDIR}@80%+lz4"),
	     "nvme [/tmp/a b@c+d] 2/80/0 lz4 -");
	SAME(read_back("nvme:$HOME/x%20y%40z%2Bw%25"),
	     "nvme [/h/x y@z+w%] 0/0/0  -");
	SAME(read_back("nvme:///a//b/"), "nvme [/a/b] 0/0/0  -");
	SAME(read_back("bb:/bb@2T+zstd=3"),
	     "bb [/bb] 1/0/2199023255552 zstd 3");
	SAME(read_back("nvme:/a+raw bb:/a+brotli=0 nvme:/b+zstd=19"),
	     "nvme [/a] 0/0/0 raw -\nbb [/a] 0/0/0 brotli 0\n"
	     "nvme [/b] 0/0/0 zstd 19");
	SAME(read_back("nvme:/a+zstd=-5 bb:/a+lz4=-64 nvme:/b+zstd=-1"),
	     "nvme [/a] 0/0/0 zstd -5\nbb [/a] 0/0/0 lz4 -64\n"
	     "nvme [/b] 0/0/0 zstd -1");
	SAME(read_back("nvme:/a+deflate=12 bb:/a+lzma nvme:/b+lzma=0"),
	     "nvme [/a] 0/0/0 deflate 12\nbb [/a] 0/0/0 lzma -\n"
	     "nvme [/b] 0/0/0 lzma 0");
	SAME(read_back("redis://cache01:6379/0@16G+ttl=12h"),
	     "redis [cache01:6379/0] 1/0/17179869184  - ttl=12h");
	SAME(read_back("redis://host"), "redis [host] 0/0/0  -");
	SAME(read_back("tiledb:///lustre/prj/arr+zstd=5"),
	     "tiledb [/lustre/prj/arr] 0/0/0 zstd 5");
	SAME(read_back("bb:/bb/x@2T+filter=none+zstd=6"),
	     "bb [/bb/x] 1/0/2199023255552 zstd 6 filter=none");
	SAME(read_back("s3://lab/run42+zstd=6+region=eu-west-1"
		       "+endpoint=https://s3.example.org:9000/x"),
	     "s3 [lab/run42] 0/0/0 zstd 6"
	     " endpoint=https://s3.example.org:9000/x region=eu-west-1");
	SAME(read_back("azure://c/p+endpoint=http://h gcs://b@1E"),
	     "azure [c/p] 0/0/0  - endpoint=http://h\n"
	     "gcs [b] 1/0/1152921504606846976  -");
}

/* What is handed on to another process says the same. */
static void
test_written(void)
{
	static const char text[] = "nvme:/a+zstd=-1 bb:/b+lz4 bb:/c+lzma=0";
	char buf[200];

	SAME(read_back(text), "nvme [/a] 0/0/0 zstd -1\n"
	     "bb [/b] 0/0/0 lz4 -\nbb [/c] 0/0/0 lzma 0");
	if (spw_tierspec_write(&list, buf, sizeof(buf)) < 0)
		buf[0] = '\0';
	SAME(buf, text);
}

static void
test_refused(void)
{
	static const struct { const char *text; enum spw_code code; }
	cases[] = {
		{ "ram@200Q", SPW_E101 }, { "ram@", SPW_E101 },
		{ "ram@16gb", SPW_E101 }, { "ram@-1G", SPW_E101 },
		{ "ram@80 %", SPW_E103 }, { "ram@16", SPW_E103 },
		{ "ram@1.5", SPW_E103 }, { "ram@17179869184", SPW_E103 },
		{ "ram@0", SPW_E107 }, { "ram@0%", SPW_E107 },
		{ "ram@101%", SPW_E107 }, { "ram@1K", SPW_E107 },
		{ "ram@99E", SPW_E107 }, { "nvme:/a@0G", SPW_E107 },
		{ "ram:/dev/shm", SPW_E180 }, { "ram:", SPW_E180 },
		{ "nvme", SPW_E180 }, { "nvme:", SPW_E180 },
		{ "nvme:@2G", SPW_E180 }, { "nvme@2G", SPW_E180 },
		{ "ram@1G@2G", SPW_E180 }, { "ram@1G,nvme:/a", SPW_E180 },
		{ "nvme:/a+lz4@2G", SPW_E180 }, { "nvme:/a+lz4+raw", SPW_E180 },
		{ "redis:host", SPW_E180 }, { "redis:///0", SPW_E180 },
		{ "redis://h:99999", SPW_E180 }, { "redis://h/x", SPW_E180 },
		{ "redis://h:p/0", SPW_E180 }, { "s3://", SPW_E180 },
		{ "s3:///x", SPW_E180 }, { "s3://b@50%", SPW_E180 },
		{ "s3://b+region=a+region=b", SPW_E180 },
		{ "nvme:/a+filter=none+filter=auto", SPW_E180 },
		{ "nvme:/a+filter=shuffle", SPW_E189 },
		{ "s3://b+filter=none", SPW_E188 },
		{ "nvm:/a", SPW_E181 }, { "RAM", SPW_E181 },
		{ ":x", SPW_E181 }, { "@2G", SPW_E181 }, { "+", SPW_E181 },
		{ "nvme:scratch", SPW_E183 }, { "nvme:~/x", SPW_E183 },
		{ "nvme:./x", SPW_E183 }, { "tiledb:x", SPW_E183 },
		{ "ram ram@1G", SPW_E184 }, { "nvme:/a nvme:/a/", SPW_E184 },
		{ "nvme:/a ram nvme:/./a@2G", SPW_E184 },
		{ "redis://u:p@h", SPW_E185 }, { "s3://b+token=x", SPW_E185 },
		{ "redis://$LOGIN", SPW_E185 },
		{ "s3://b+endpoint=https://u:p@h", SPW_E185 },
		{ "nvme:${NOPE}/x", SPW_E186 }, { "nvme:$NOPE", SPW_E186 },
		{ "nvme:${", SPW_E186 }, { "ram@${NOPE}", SPW_E186 },
		{ "nvme:/a%4", SPW_E187 }, { "nvme:/a%00", SPW_E187 },
		{ "ram+lz4", SPW_E188 }, { "nvme:/a+lz5", SPW_E188 },
		{ "nvme:/a+", SPW_E188 }, { "nvme:/a+region=x", SPW_E188 },
		{ "nvme:/a+zstd=20", SPW_E189 }, { "nvme:/a+zstd=", SPW_E189 },
		{ "nvme:/a+zstd=-6", SPW_E189 }, { "nvme:/a+zstd=-", SPW_E189 },
		{ "nvme:/a+zstd=--1", SPW_E189 },
		{ "nvme:/a+zstd=258", SPW_E189 },
		{ "nvme:/a+zstd=-128", SPW_E189 },
		{ "nvme:/a+raw=1", SPW_E189 }, { "nvme:/a+lz4=13", SPW_E189 },
		{ "nvme:/a+raw=-1", SPW_E189 },
		{ "nvme:/a+deflate=0", SPW_E189 },
		{ "nvme:/a+lzma=10", SPW_E189 },
		{ "s3://b+region=", SPW_E189 }, { "s3://b+region", SPW_E189 },
		{ "s3://b+region=EU", SPW_E189 },
		{ "s3://b+endpoint=ftp://h", SPW_E189 },
		{ "redis://h+ttl=12", SPW_E189 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(cases[i].text) != -EINVAL
		    || diag.code != cases[i].code || !diag.hint[0]
		    || !diag.text[0] || diag.severity != SPW_ERROR) {
			printf("%s: wanted %s, got\n%s", cases[i].text,
			       spw_diag_code_name(cases[i].code), message());
			failures++;
		}
}

static void
test_limits(void)
{
	static char big[SPW_TIERS_LEN + 10];

	CHECK(parse_kinds("ram redis://h", 1u << SPW_KIND_RAM) == -EINVAL);
	SAME(message(), "spillway: error: T, tier 2: tier kind redis is not"
	     " built into this Spillway\n    ram redis://h\n        ^^^^^\n"
	     "    hint: available here: ram  [E182]\n");
	memset(big, 'x', sizeof(big) - 1);
	CHECK(parse(big) == -EINVAL && diag.code == SPW_E108);
	big[0] = '\0';
	for (int i = 0; i < 17; i++)
		sprintf(big + strlen(big), "nvme:/%d ", i);
	CHECK(parse(big) == -EINVAL && diag.code == SPW_E108);
	memset(big, 'x', 3000);
	memcpy(big, "nvme:/", 6);
	big[3000] = '\0';
	CHECK(parse(big) == -EINVAL && diag.code == SPW_E108);
}

/* No message may show what came after the @ or =, whatever is wrong. */
static void
test_discretion(void)
{
	static const char *const cases[] = {
		"redis://me:hunter2@h", "bogus://me:hunter2@h@@",
		"ram@8Q redis://:hunter2@10.0.0.1:1/0@16G+zstd=99",
		"s3://b+secret-key=hunter2", "s3://b+password=hunter2+x@y",
		"nvme:rel s3://b+token=hunter2", "redis:me:hunter2@h",
		"redis://hunter2@cache01", "redis://me:hunter2%40h",
		"azure://c/p?sv=1&sig=hunter2",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(parse(cases[i]) == -EINVAL && diag.code == SPW_E185);
		CHECK(!strstr(message(), "hunter2"));
	}
	CHECK(parse("redis://$LOGIN") == -EINVAL);
	CHECK(!strstr(message(), "pw"));
}

static struct spw_dirs include, exclude;

static int
check_on(const char *text, uint64_t memory, uint64_t group)
{
	struct spw_machine m = { memory, group, SPW_UNLIMITED };
	struct spw_tierspec_where where = {
		.shm_dir = "/dev/shm", .include = &include,
		.exclude = &exclude, .machine = &m,
	};

	CHECK(!parse(text));
	return spw_tierspec_check(&list, &where, &diag);
}

static void
test_ram(void)
{
	uint64_t room, half;

	if (spw_machine_space("/dev/shm", &room) < 0 || room < 8 << 20) {
		printf("no room in /dev/shm, RAM sizes not tried\n");
		return;
	}
	half = room / 2 < 4 * G ? room / 2 : 4 * G;
	CHECK(!check_on("", 4 << 20, SPW_UNLIMITED));
	CHECK(list.tier[0].capacity == 1 << 20);
	CHECK(!check_on("", SPW_UNLIMITED, 8 << 20));
	CHECK(list.tier[0].capacity == 2 << 20);
	CHECK(!check_on("", SPW_UNLIMITED, SPW_UNLIMITED));
	CHECK(list.tier[0].capacity >= half - half / 8
	      && list.tier[0].capacity <= 4 * G);
	CHECK(!check_on("ram@50%", 6 << 20, SPW_UNLIMITED));
	CHECK(list.tier[0].capacity == 3 << 20);
	CHECK(check_on("ram@4M", 3 << 20, SPW_UNLIMITED) == -EINVAL);
	SAME(message(), "spillway: error: tier ram: segment of 4.0 MiB does"
	     " not fit, 3.0 MiB of memory are available\n    ram@4M\n"
	     "        ^^\n    hint: write ram@1536K or ram@auto  [E150]\n");
	CHECK(check_on("ram@4M", 100 << 20, 2 << 20) == -EINVAL);
	SAME(message(), "spillway: error: tier ram: segment of 4.0 MiB does"
	     " not fit, the job's memory limit leaves 2.0 MiB\n    ram@4M\n"
	     "        ^^\n    hint: write ram@1024K or ram@auto  [E150]\n");
	CHECK(check_on("", 1 << 19, SPW_UNLIMITED) == -EINVAL);
	CHECK(diag.code == SPW_E150 && !diag.text[0]);
}

static void
write_file(const char *dir, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static void
test_machine(void)
{
	char dir[] = "/tmp/unit-config-tiers.XXXXXX", command[64];
	struct spw_machine m;

	if (!mkdtemp(dir))
		abort();
	spw_machine_probe(dir, &m);
	CHECK(m.mem_available == SPW_UNLIMITED
	      && m.cgroup_left == SPW_UNLIMITED);
	write_file(dir, "proc/meminfo", "MemTotal:  9999 kB\n"
		   "MemFree: 1 kB\nMemAvailable:   2048 kB\n");
	write_file(dir, "proc/self/cgroup", "3:x:/y\n0::/a/b\n");
	write_file(dir, "sys/fs/cgroup/a/b/memory.max", "max\n");
	write_file(dir, "sys/fs/cgroup/a/memory.max", "1000000\n");
	write_file(dir, "sys/fs/cgroup/a/memory.current", "900000\n");
	write_file(dir, "sys/fs/cgroup/a/memory.stat",
		   "anon 1\nfile 2\ninactive_file 300000\n");
	spw_machine_probe(dir, &m);
	CHECK(m.mem_available == 2048 * 1024);
	CHECK(m.cgroup_left == 400000);
	CHECK(spw_machine_memory(&m) == 400000);
	write_file(dir, "sys/fs/cgroup/a/b/memory.max", "10\n");
	write_file(dir, "sys/fs/cgroup/a/b/memory.current", "900\n");
	spw_machine_probe(dir, &m);
	CHECK(m.cgroup_left == 0);
	write_file(dir, "proc/self/cgroup", "0::/../b\n");
	spw_machine_probe(dir, &m);
	CHECK(m.cgroup_left == SPW_UNLIMITED);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command));
}

int
main(void)
{
	test_accepted();
	test_written();
	test_refused();
	test_limits();
	test_discretion();
	test_ram();
	test_machine();
	return failures != 0;
}
