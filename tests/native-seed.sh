#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# native-seed.sh -- what a program learns by packing bytes in memory is saved

. tests/functions.sh

without_sanitizer address "its library would have to come first"
without_sanitizer thread "its library would have to come first"
requires cc --version
requires python3 --version
has_json || cannot "this build has no JSON"

# program thread|child|none [RECORD]: the main thread packs where records are
# given, then a thread; or a child ends
cat >program.c <<'EOF2'
#include <spillway.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *
work(void *arg)
{
	struct spillway_data is = { .size = sizeof(is),
		.kind = SPILLWAY_DATA_INTEGER, .width = 4, .record = 4 };
	size_t n = 1 << 20, room = spillway_compress_bound(n), i;
	char *data = malloc(n), *packed = malloc(room);

	for (i = 0; i < n; i++)
		data[i] = (char)(i / 100);
	if (arg)
		is.record = (uint32_t)atoi(arg);
	if (spillway_compress_as(packed, room, data, n, &is) <= 0)
		_exit(1);
	free(data);
	free(packed);
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;

	if (argc > 2)
		work(argv[2]);
	if (!strcmp(argv[1], "thread") &&
	    (pthread_create(&thread, NULL, work, NULL) ||
	     pthread_join(thread, NULL)))
		return 2;
	if (!strcmp(argv[1], "child")) {
		if (!fork())
			exit(0);
		if (wait(&status) < 0 || status)
			return 3;
		_exit(0);
	}
	return 0;
}
EOF2
cc -pthread -Wall -Werror -I"$top_srcdir/shm" -o program program.c \
	-L"$top_builddir/.libs" -lspillway-engine \
	-Wl,-rpath,"$top_builddir/.libs" || fail "the program does not build"

export SPILLWAY_SEED=$PWD/seed.json SPILLWAY_CONFIG=/dev/null
weight()			# of all that is known of how something packs
{
	python3 -c 'import json, sys
seed = json.load(open(sys.argv[1]))
print(sum(c["weight"] for c in seed["costs"]))' "$SPILLWAY_SEED"
}
above()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}

./program none
[ ! -e seed.json ] || fail "a seed without anything learned"
echo '{' >seed.json
./program none 4 2>err
[ "$(wc -l <err)" = 1 ] || fail "a damaged seed: $(cat err)"
first=$(weight)
above "$first" 0 || fail "nothing is in the seed"
./program none 4
second=$(weight)
above "$second" "$first" || fail "a second process added nothing"
./program child 4
[ "$(weight)" = "$second" ] || fail "a child saved what its parent learned"
./program thread
above "$(weight)" "$second" || fail "what a thread learned is lost with it"

# Several at once lose nothing.
rm seed.json
for i in 8 12 16 20 24 28; do
	./program none $i &
done
wait
[ "$(grep -o '"traits":[^,]*' seed.json | sort -u | wc -l)" = 6 ] ||
	fail "of six processes some were lost: $(cat seed.json)"

# /dev/null keeps nothing.
rm seed.json
SPILLWAY_SEED=/dev/null ./program none 4
[ ! -e seed.json ] && [ -c /dev/null ] || fail "/dev/null was written to"
