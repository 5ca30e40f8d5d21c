/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-seed.c -- what was learned outlives a run, beside others, and damage */

#include "planner/seed.h"
#include "tests/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define FILE_NAME "seed.json"

static const struct spw_choice pool[] = {
	{ .codec = 0 }, { .codec = 1, .level = -3 },
	{ .codec = 2, .level = 3, .filter = 1, .width = 4 },
};
static char dir[] = "unit-seed-XXXXXX";

static struct spw_predictor *
fresh(void)
{
	struct spw_predictor *p = spw_predict_new(pool, ARRAY_LEN(pool));

	CHECK(p);
	return p;
}

static void
learn(struct spw_predictor *p, uint64_t id, uint64_t traits, unsigned choice)
{
	struct spw_stream s = { .id = id, .traits = traits };
	struct spw_observed o = { .bytes = 1 << 20, .stored = 1 << 18,
				  .pack = 2e-3, .unpack = 1e-3 };

	spw_predict_learn(p, &s, choice, &o);
}

static void
put_file(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(name, "w");

	CHECK(f && fwrite(text, 1, n, f) == n && !fclose(f));
}

static char *
get_file(const char *name)
{
	static char text[SPW_SEED_MOST + 1];
	FILE *f = fopen(name, "r");

	CHECK(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void
save(struct spw_predictor *p, int wanted)
{
	struct spw_seed_note note;
	int r = spw_seed_save(p, FILE_NAME, &note);

	if (r != wanted)
		printf("save: %d, %s\n", r, note.text);
	CHECK(r == wanted && !note.text[0] == !wanted);
	CHECK(!strchr(note.text, '\n'));
}

static void
load(struct spw_predictor *p, int wanted, const char *said)
{
	struct spw_seed_note note;
	int r = spw_seed_load(p, FILE_NAME, &note);

	if (r != wanted || !strstr(note.text, said))
		printf("load: %d, %s\n", r, note.text);
	CHECK(r == wanted && strstr(note.text, said));
	CHECK(!note.text[0] == !said[0] && !strchr(note.text, '\n'));
}

/* What a new stream of these traits is expected to cost. */
static const struct spw_costs *
costs_of(struct spw_predictor *p, uint64_t traits)
{
	static uint64_t id = 1000;

	return spw_predict_costs(p, &(struct spw_stream){ id++, traits });
}

static bool
is_near(double is, double wanted)
{
	return fabs(is / wanted - 1) < 0.02;
}

static void
must_know(const struct spw_costs *costs, unsigned choice)
{
	CHECK(is_near(costs->pack[choice], 2e-3 / (1 << 20)));
	CHECK(is_near(costs->unpack[choice], 1e-3 / (1 << 20)));
	CHECK(is_near(costs->stored[choice], 1024));
}

static void
test_round(void)
{
	struct spw_predictor *p = fresh();

	(void)unlink(FILE_NAME);
	load(p, 0, "");				/* none is fine */
	learn(p, 1, 7, 1);
	learn(p, 1, 7, 2);
	save(p, 0);
	spw_predict_free(p);
	p = fresh();
	CHECK(isinf(costs_of(p, 6)->pack[1]));
	load(p, 0, "");
	must_know(costs_of(p, 7), 1);
	must_know(costs_of(p, 7), 2);
	save(p, 0);				/* nothing new: nothing lost */
	spw_predict_free(p);
	p = fresh();
	load(p, 0, "");
	must_know(costs_of(p, 7), 2);
	spw_predict_free(p);
}

/* Each is refused with a line, and the next save makes a good one of it. */
static void
test_damage(void)
{
	static const char *const bad[] = {
		"", " ", "{", "[]", "null", "7", "\"x\"", "{}", "{\"a\":1}",
		"{\"spillway-seed\":1}", "{\"spillway-seed\":1,\"costs\":7}",
		"{\"spillway-seed\":\"1\",\"costs\":[]}",
		"{\"spillway-seed\":0,\"costs\":[]}",
		"{\"spillway-seed\":1.5,\"costs\":[]}",
		"{\"spillway-seed\":-1,\"costs\":[]}",
		"{\"spillway-seed\":1,\"costs\":[]} x",
		"{\"spillway-seed\":1,\"costs\":[}", "\xff\xfe", "{\"a\":\"",
	};
	char deep[5000];

	for (size_t i = 0; i <= ARRAY_LEN(bad) + 1; i++) {
		struct spw_predictor *p = fresh();

		memset(deep, '[', sizeof(deep));
		if (i < ARRAY_LEN(bad))
			put_file(FILE_NAME, bad[i], strlen(bad[i]));
		else if (i == ARRAY_LEN(bad))
			put_file(FILE_NAME, deep, sizeof(deep));
		else
			put_file(FILE_NAME,
				 "{\"spillway-seed\":1,\"costs\":[]}\0x", 33);
		load(p, -EBADMSG, "ignored, it will be rebuilt");
		learn(p, 1, 7, 1);
		save(p, 0);
		spw_predict_free(p);
		p = fresh();
		load(p, 0, "");
		must_know(costs_of(p, 7), 1);
		spw_predict_free(p);
	}
}

/* Good entries beside those that make no sense; members of others stay. */
static void
test_entries(void)
{
	static const char text[] =
		"{ \"spillway-seed\": 1,"
		"\"mine\": { \"deep\": [1, \"\\u00e9\"] },"
		"\"machine\": { \"cpu\": \"other\", \"cores\": 3 },"
		"\"costs\": [ 1, null, {}, [], { \"traits\": 7 },"
#define ENTRY(traits, codec, level, w, c, d, f) \
	"{\"traits\":\"000000000000000" traits "\"," \
	"\"codec\":" codec ",\"level\":" level "," \
	"\"filter\":0,\"width\":0,\"weight\":" w ",\"compress\":" c "," \
	"\"decompress\":" d ",\"fraction\":" f "}"
		ENTRY("-1", "1", "-3", "1", "1e8", "1e8", "0.5") ","
		ENTRY("5", "300", "-3", "1", "1e8", "1e8", "0.5") ","
		ENTRY("5", "1", "1e9", "1", "1e8", "1e8", "0.5") ","
		ENTRY("5", "1", "-3", "0", "1e8", "1e8", "0.5") ","
		ENTRY("5", "1", "-3", "1", "-1", "1e8", "0.5") ","
		ENTRY("5", "1", "-3", "1", "1e99", "1e8", "0.5") ","
		ENTRY("5", "1", "-3", "1", "1e8", "\"x\"", "0.5") ","
		ENTRY("5", "1", "-3", "1", "1e8", "1e8", "0") ","
		ENTRY("5", "1", "-3", "1", "1e8", "1e8", "1e999") ","
		ENTRY("5", "1", "-3.5", "1", "1e8", "1e8", "0.5") ","
		ENTRY("5", "77", "1", "1", "1e8", "1e8", "0.5") ","
		ENTRY("6", "1", "-3", "1e5", "1e8", "1e8", "0.25") "] }";
	struct spw_predictor *p = fresh();

	put_file(FILE_NAME, text, strlen(text));
	load(p, 0, "is of another machine (other, 3 cores); its speeds are "
	     "not used");
	CHECK(isinf(costs_of(p, 6)->pack[1]));	/* how fast is not known */
	learn(p, 1, 7, 1);
	CHECK(is_near(costs_of(p, 6)->stored[1], 1024));
	CHECK(isfinite(costs_of(p, 6)->pack[1]));
	save(p, 0);
	spw_predict_free(p);
	CHECK(strstr(get_file(FILE_NAME), "\"deep\""));
	CHECK(strstr(get_file(FILE_NAME), "77"));
	CHECK(!strstr(get_file(FILE_NAME), "other"));
	CHECK(!strstr(get_file(FILE_NAME), "100000000"));
	p = fresh();
	load(p, 0, "");				/* now it is ours */
	must_know(costs_of(p, 7), 1);
	spw_predict_free(p);
}

static void
test_later(void)
{
	static const char text[] = "{\"spillway-seed\":2,\"costs\":{}}";
	struct spw_predictor *p = fresh();

	put_file(FILE_NAME, text, strlen(text));
	load(p, -EPROTONOSUPPORT, "is of a later version; ignored");
	learn(p, 1, 7, 1);
	save(p, -EPROTONOSUPPORT);
	CHECK(!strcmp(get_file(FILE_NAME), text));
	(void)unlink(FILE_NAME);
	save(p, 0);				/* it was not lost */
	CHECK(strstr(get_file(FILE_NAME), "\"fraction\":\t0.25"));
	spw_predict_free(p);
}

/* What a file says of its machine is shown in one line, without colours. */
static void
test_odd_machine(void)
{
	const char *text = "{\"spillway-seed\":1,\"costs\":[],\"machine\":"
		"{\"cpu\":\"a\\u001b[31m\\nb\\u007f\xff\\u009b\xc3\xa9\",\"cores\":3}}";
	struct spw_predictor *p = fresh();

	put_file(FILE_NAME, text, strlen(text));
	load(p, 0, "is of another machine (a?[31m?b????\xc3\xa9, 3 cores)");
	spw_predict_free(p);
}

/* Things that are no file do not hold us up. */
static void
test_odd_files(void)
{
	struct spw_predictor *p = fresh();
	struct spw_seed_note note;
	struct stat st;

	learn(p, 1, 7, 1);
	(void)unlink(FILE_NAME);
	CHECK(!mkfifo(FILE_NAME, 0600));
	load(p, -EINVAL, "no regular file; ignored");
	save(p, -EINVAL);
	CHECK(!lstat(FILE_NAME, &st) && S_ISFIFO(st.st_mode));
	CHECK(!unlink(FILE_NAME));
	CHECK(!mkdir(FILE_NAME, 0700));
	load(p, -EINVAL, "no regular file; ignored");
	CHECK(spw_seed_save(p, FILE_NAME, &note) == -EINVAL);
	CHECK(!strcmp(note.text, "seed " FILE_NAME " was not saved: "
		      "no regular file"));
	CHECK(!rmdir(FILE_NAME));
	CHECK(!symlink(FILE_NAME, FILE_NAME));
	load(p, -ELOOP, "; ignored");
	CHECK(spw_seed_save(p, FILE_NAME, &note) == -ELOOP);
	CHECK(strstr(note.text, " was not saved: "));
	CHECK(!unlink(FILE_NAME));
	CHECK(spw_seed_save(p, "no/such/dir", &note) == -ENOENT);
	CHECK(!strcmp(note.text, "seed no/such/dir was not saved: "
		      "No such file or directory"));

	/* what a process that died left there; a link */
	put_file("there.json.new", "{", 1);
	put_file("there.json", "{", 1);
	CHECK(!symlink("there.json", FILE_NAME));
	save(p, 0);
	CHECK(!lstat(FILE_NAME, &st) && S_ISLNK(st.st_mode));
	CHECK(strstr(get_file("there.json"), "\"costs\""));
	CHECK(access("there.json.new", F_OK) < 0);

	/* it was no seed of ours, so it is kept; the first of them is */
	CHECK(!strcmp(get_file("there.json.damaged"), "{"));
	put_file("there.json", "[", 1);
	learn(p, 2, 7, 1);
	save(p, 0);
	CHECK(!strcmp(get_file("there.json.damaged"), "{"));
	CHECK(strstr(get_file("there.json"), "\"costs\""));

	/* who may read it stays; a link to what is not there yet stays one */
	CHECK(!chmod("there.json", 0644));
	learn(p, 3, 7, 1);
	save(p, 0);
	CHECK(!stat("there.json", &st) && (st.st_mode & 0777) == 0644);
	CHECK(!unlink("there.json"));
	learn(p, 4, 7, 1);
	save(p, 0);
	CHECK(!lstat(FILE_NAME, &st) && S_ISLNK(st.st_mode));
	CHECK(!stat("there.json", &st) && (st.st_mode & 0777) == 0600);
	CHECK(strstr(get_file("there.json"), "\"costs\""));
	CHECK(!unlink(FILE_NAME));
	spw_predict_free(p);
}

/* What the file knows of a tier; false: nothing. */
static bool
knows(const char *name, struct spw_seed_tier *ret)
{
	strcpy(ret->name, name);
	spw_seed_tiers(FILE_NAME, ret, 1);
	return ret->write > 0;
}

/* Tiers that a profile measured are found again, on this machine only; a later
 * save keeps them, and so does a profile of others.
 */
static void
test_tiers(void)
{
	static struct spw_seed_profile profile = {
		.n_tiers = 1,
		.tier = { { "nvme:/a \"b\"", 2e9, 3e9, 1e-4, 1,
			    { { 65536, 8, 2e9, 3e9 } } } },
		.n_versions = 1, .version = { { "lz4", "1.9" } },
	};
	struct spw_predictor *p = fresh();
	struct spw_seed_note note;
	struct spw_seed_tier t;
	char *text;

	(void)unlink(FILE_NAME);
	CHECK(!knows("ram", &t));
	CHECK(!spw_seed_save_profile(p, FILE_NAME, &profile, &note));
	strcpy(profile.tier[0].name, "ram");
	profile.tier[0].write = 5e9;
	CHECK(!spw_seed_save_profile(p, FILE_NAME, &profile, &note));
	learn(p, 1, 7, 1);
	save(p, 0);
	CHECK(knows("ram", &t) && t.write == 5e9);
	CHECK(knows("nvme:/a \"b\"", &t));
	CHECK(t.write == 2e9 && t.read == 3e9 && t.latency == 1e-4);
	CHECK(!knows("bb:/x", &t));
	CHECK(strstr(get_file(FILE_NAME), "\"lz4\":\t\"1.9\""));
	text = strdup(get_file(FILE_NAME));
	CHECK(text);
	memcpy(strstr(text, "5000000000"), "-500000000", 10);
	put_file(FILE_NAME, text, strlen(text));
	CHECK(!knows("ram", &t));
	memcpy(strstr(text, "\"cpu\":\t\"") + 8, "Z", 1);
	put_file(FILE_NAME, text, strlen(text));
	CHECK(!knows("nvme:/a \"b\"", &t));
	free(text);
	spw_predict_free(p);
}

/* Names that are there again and again, behind many others: what they say is
 * replaced, and that does not take long.
 */
static void
test_again(void)
{
	enum { MANY = 90000 };
	static char text[SPW_SEED_MOST];
	struct spw_predictor *p = fresh();
	clock_t start = clock();
	size_t n;

	n = (size_t)sprintf(text, "{\"spillway-seed\":1,\"costs\":[]");
	for (int i = 0; i < MANY; i++)
		n += (size_t)sprintf(text + n, ",\"a\":%d", i);
	for (int i = 0; i < MANY; i++)
		n += (size_t)sprintf(text + n, ",\"updated\":%d", i);
	n += (size_t)sprintf(text + n, "}");
	put_file(FILE_NAME, text, n);
	learn(p, 1, 7, 1);
	save(p, 0);
	CHECK(strstr(get_file(FILE_NAME), "\"a\":\t89999"));
	CHECK(!strstr(get_file(FILE_NAME), "\"updated\":\t0"));
	printf("%d names twice: %.1f s\n", MANY,
	       (double)(clock() - start) / CLOCKS_PER_SEC);
	CHECK(clock() - start < 10 * CLOCKS_PER_SEC);
	spw_predict_free(p);
	(void)unlink(FILE_NAME);
}

static double
weight_of(const struct spw_seed *seed, uint64_t traits)
{
	for (size_t i = 0; i < seed->n; i++)
		if (seed->at[i].traits == traits)
			return seed->at[i].weight;
	return 0;
}

static off_t
size_of(const char *name)
{
	struct stat st;

	CHECK(!stat(name, &st));
	return st.st_size;
}

/* One that many have added to keeps what was seen most, and can be read; one
 * that is larger than that is not.
 */
static void
test_large(void)
{
	struct spw_known known = { .weight = 1, .fraction = 0.5, .pack = 1e8 };
	struct spw_predictor *p = fresh();
	struct spw_seed more = { .n = 0 };
	struct spw_seed_note note;
	static char text[SPW_SEED_MOST];

	(void)unlink(FILE_NAME);
	known.choice = spw_predict_choices(p, &(unsigned){ 0 })[1];
	for (known.traits = 1; known.traits <= 30000; known.traits++) {
		known.weight = known.traits == 29000 ? 9 : 1;
		CHECK(!spw_seed_add(&more, &known));
	}
	CHECK(!spw_seed_merge(&more, FILE_NAME, &note));
	CHECK(size_of(FILE_NAME) > SPW_SEED_MOST / 2);
	CHECK(size_of(FILE_NAME) <= SPW_SEED_MOST);
	CHECK(strstr(get_file(FILE_NAME), "0000000000007148"));
	load(p, 0, "");
	CHECK(!truncate(FILE_NAME, SPW_SEED_MOST + 1));
	load(p, -EBADMSG, "is larger than 4 MiB; ignored, it will be rebuilt");
	memset(text, '[', sizeof(text));
	put_file(FILE_NAME, text, sizeof(text));
	load(p, -EBADMSG, "has too many values; ignored");
	spw_seed_clear(&more);
	spw_predict_free(p);
	(void)unlink(FILE_NAME);
}

/* A block of a new stream counts for one, and none is lost. */
static void
test_together(void)
{
	enum { CHILDREN = 5, SAVES = 12 };
	const char *reason, *text;
	struct spw_seed seed;

	(void)unlink(FILE_NAME);
	for (uint32_t k = 0; k < CHILDREN; k++)
		if (!fork()) {
			struct spw_predictor *p = fresh();

			for (uint64_t i = 0; i < SAVES; i++) {
				learn(p, 100 + i, k, 1);
				learn(p, 100 + i, 50, 2);
				save(p, 0);
			}
			_exit(0);
		}
	for (int k = 0; k < CHILDREN; k++) {
		int status;

		CHECK(wait(&status) > 0 && !status);
	}
	text = get_file(FILE_NAME);
	CHECK(!spw_seed_parse(text, strlen(text), &seed, &reason));
	for (uint32_t k = 0; k < CHILDREN; k++)
		CHECK(is_near(weight_of(&seed, k), SAVES));
	CHECK(is_near(weight_of(&seed, 50), CHILDREN * SAVES));
	spw_seed_clear(&seed);
}

static int
hold_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int fd = open(FILE_NAME ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && !fcntl(fd, F_OFD_SETLK, &lock));
	return fd;
}

/* While others keep the lock many save and are not given the time to wait: one
 * that comes later saves what they learned, and they leave nothing.
 */
static void
test_no_time(void)
{
	enum { CHILDREN = 16 };
	const struct timespec nap = { .tv_nsec = 300000000 };
	struct spw_predictor *p = fresh();
	const char *reason, *text;
	struct spw_seed seed;
	pid_t pid[CHILDREN];
	int lock = hold_lock();

	(void)unlink(FILE_NAME);
	for (uint32_t k = 0; k < CHILDREN; k++) {
		pid[k] = fork();
		if (pid[k])
			continue;
		learn(p, 1, k, 1);
		save(p, 0);
		_exit(0);
	}
	nanosleep(&nap, NULL);
	for (uint32_t k = 0; k < CHILDREN; k++)
		CHECK(!kill(pid[k], SIGKILL) &&
		      waitpid(pid[k], NULL, 0) == pid[k]);
	close(lock);
	put_file(FILE_NAME ".abcdef.more", "{", 1);	/* of no use */
	learn(p, 1, 50, 1);
	save(p, 0);
	text = get_file(FILE_NAME);
	CHECK(!spw_seed_parse(text, strlen(text), &seed, &reason));
	for (uint32_t k = 0; k < CHILDREN; k++)
		CHECK(is_near(weight_of(&seed, k), 1));
	CHECK(is_near(weight_of(&seed, 50), 1));
	spw_seed_clear(&seed);
	spw_predict_free(p);
}

/* Whoever is killed while saving leaves a good file, and no lock. */
static void
test_killed(void)
{
	const struct timespec nap = { .tv_nsec = 3000000 };

	for (int i = 0; i < 20; i++) {
		struct spw_predictor *p = fresh();
		pid_t pid = fork();

		if (!pid)
			for (uint64_t k = 0;; k++) {
				learn(p, k, k % 200, 1);
				save(p, 0);
			}
		nanosleep(&nap, NULL);
		CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
		load(p, 0, "");
		learn(p, 1, 7, 1);
		save(p, 0);
		spw_predict_free(p);
	}
}

int
main(void)
{
	static const char *const left[] = {
		FILE_NAME, FILE_NAME ".lock", "there.json", "there.json.lock",
		FILE_NAME ".damaged", "there.json.damaged",
	};
	const char *reason;
	struct spw_seed none;

	if (spw_seed_parse("", 0, &none, &reason) == -EOPNOTSUPP) {
		puts(reason);
		return 77;
	}
	CHECK(mkdtemp(dir) && !chdir(dir));
	test_round();
	test_damage();
	test_entries();
	test_later();
	test_odd_machine();
	test_odd_files();
	test_tiers();
	test_large();
	test_again();
	test_together();
	test_no_time();
	test_killed();
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		CHECK(!unlink(left[i]));
	CHECK(!chdir("..") && !rmdir(dir));
	return 0;
}
