/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-tiers.c -- kill -9 in the middle of puts, drops, syncs and cleaning */

/*
 * crash-tiers KIND DIR ROUNDS [POINT]...: a child works on a share in DIR and
 * is killed, ROUNDS times after a random while, then at each named point at
 * its first passing, and at the next two if there are any. It notes in shared
 * memory what it begins and what it was told is done. After each death the
 * share is opened again:
 *
 *	all that list shows is whole, and was begun and not dropped;
 *	all that was put and not dropped is there, in every byte;
 *	the space it tells is that of the objects, and within the capacity.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "shm/failpoint.h"
#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum {
	CAPACITY = 3 << 20, BATCH = 6, OBJECTS = 1 << 18, LIFE_US = 12000,
	RAW_MOST = 150000,
};

enum state { NOWHERE, PUTTING, THERE, DROPPING, GONE };

struct note {				/* of the object with this seq */
	_Atomic int state;
	_Atomic uint64_t place;
	uint32_t raw;
};

static struct {
	_Atomic uint64_t seq;		/* of the next object */
	_Atomic unsigned passed;	/* rounds of work of this child */
	struct note note[OBJECTS];
} *book;

static const char *kind, *place;
static bool drops_at_once;		/* else at the next sync */
static bool may_tear;			/* a put cut short: told as damaged */
static uint64_t chance;
static unsigned long deaths, checked;

static struct spw_tier *
open_share(void)
{
	struct spw_tier *t;
	int r, tries = 0;

	/* The dead one's last write may still be on its way. */
	while ((r = kit_open(kind, place, "victim", CAPACITY, &t)) == -EBUSY &&
	       tries++ < 1000)
		usleep(1000);
	CHECK(r == 0);
	return t;
}

/* In the child. */

static size_t
some_size(void)
{
	uint64_t n = draw(&chance);

	return n % 4 ? n / 4 % 5000 + 1 : n / 4 % RAW_MOST + 1;
}

static int
begin_put(struct spw_tier *t, struct spw_transfer *x)
{
	uint64_t seq = atomic_load(&book->seq);
	struct note *n = &book->note[seq];
	int r;

	CHECK(seq < OBJECTS);
	n->raw = (uint32_t)some_size();
	x->len = kit_make(x->buf, seq, n->raw);
	x->user = n;
	atomic_store(&n->state, PUTTING);
	r = t->ops->submit(t, x);
	CHECK(r == 0 || r == -ENOSPC);
	if (r == 0)
		atomic_store(&book->seq, seq + 1);
	else
		atomic_store(&n->state, NOWHERE);
	return r;
}

static void
reap_all(struct spw_tier *t)
{
	struct spw_transfer *x;
	struct note *n;

	while ((x = t->ops->reap(t, true))) {
		CHECK(x->err == 0);
		n = x->user;
		atomic_store(&n->place, x->place);
		atomic_store(&n->state, THERE);
	}
}

static void
drop_some(struct spw_tier *t, unsigned of)
{
	uint64_t i, last = atomic_load(&book->seq);
	struct note *n;

	for (i = last > 4000 ? last - 4000 : 0; i < last; i++) {
		n = &book->note[i];
		if (atomic_load(&n->state) != THERE || draw(&chance) % of)
			continue;
		atomic_store(&n->state, DROPPING);
		CHECK(!t->ops->drop(t, n->place));
		if (drops_at_once)
			atomic_store(&n->state, GONE);
	}
}

static void
sync_all(struct spw_tier *t)
{
	uint64_t i, last = atomic_load(&book->seq);
	int dropped;

	CHECK(!t->ops->sync(t));
	for (i = 0; i < last; i++) {
		dropped = DROPPING;
		atomic_compare_exchange_strong(&book->note[i].state, &dropped,
					       GONE);
	}
}

static void
note_move(void *arg, uint64_t from, uint64_t to)
{
	uint64_t i, last = atomic_load(&book->seq);

	(void)arg;
	for (i = 0; i < last; i++)
		if (atomic_load(&book->note[i].state) == THERE &&
		    book->note[i].place == from) {
			atomic_store(&book->note[i].place, to);
			return;
		}
	CHECK(!"a move of something that is there");
}

static void
work(struct spw_tier *t, struct spw_transfer x[BATCH])
{
	int i, r = 0;

	for (i = 0; i < BATCH && r == 0; i++)
		r = begin_put(t, &x[i]);
	reap_all(t);
	drop_some(t, r == -ENOSPC ? 2 : 16);
	if (r == -ENOSPC || draw(&chance) % 4 == 0)
		sync_all(t);
	if (r == -ENOSPC && t->ops->clean)
		CHECK(t->ops->clean(t, CAPACITY / 4, note_move, NULL) >= 0);
	atomic_fetch_add(&book->passed, 1);
}

static void
live(const char *point)
{
	struct spw_transfer x[BATCH] = { 0 };
	struct spw_tier *t;
	int i;

	spw_failpoint_set(point);
	for (i = 0; i < BATCH; i++)
		x[i].buf = kit_buffer();
	t = open_share();
	for (;;)
		work(t, x);
}

/* Afterwards. */

static uint64_t twice[4096];		/* places of second copies */
static unsigned ntwice;

static int
is_expected(void *arg, const struct spw_tier_found *f)
{
	unsigned char *met = arg;
	struct note *n;
	uint64_t seq;
	int state;

	if (f->err && may_tear)		/* then it was not heard of */
		return 0;
	CHECK(f->err == 0 && f->object);
	seq = f->object->seq;
	CHECK(seq <= atomic_load(&book->seq) && seq < OBJECTS);
	n = &book->note[seq];
	state = atomic_load(&n->state);
	CHECK(state == PUTTING || state == THERE || state == DROPPING);
	CHECK(f->object->length == n->raw);
	if (met[seq]) {			/* died while it was moved */
		CHECK(ntwice < ARRAY_LEN(twice));
		twice[ntwice++] = f->place;
		return 0;
	}
	met[seq] = 1;
	atomic_store(&n->place, f->place);
	atomic_store(&n->state, THERE);
	return 0;
}

static void
check_one(struct spw_tier *t, uint64_t seq)
{
	struct note *n = &book->note[seq];
	static void *buf, *made;
	size_t len;

	if (!buf) {
		buf = kit_buffer();
		made = kit_buffer();
	}
	len = kit_make(made, seq, n->raw);
	kit_get(t, n->place, buf, len);
	CHECK(!memcmp(buf, made, len));
	checked++;
}

static void
check_share(struct spw_tier *t)
{
	unsigned char *met = calloc(1, OBJECTS);
	uint64_t i, last = atomic_load(&book->seq) + 1;
	struct spw_tier_space space;
	struct kit_count c;

	CHECK(met);
	CHECK(!t->ops->list(t, is_expected, met));
	while (ntwice)
		CHECK(!t->ops->drop(t, twice[--ntwice]));
	CHECK(!t->ops->sync(t));
	for (i = 0; i < last; i++) {
		if (atomic_load(&book->note[i].state) == THERE) {
			CHECK(met[i]);
			check_one(t, i);
		} else {
			atomic_store(&book->note[i].state, GONE);
		}
	}
	/* One that was begun but not noted may be there, or not. */
	atomic_store(&book->seq, last);
	free(met);
	c = kit_count(t);
	t->ops->space(t, &space);
	CHECK(c.whole_bytes == space.live && space.live <= space.used);
	CHECK(space.used <= CAPACITY);
}

static void
pause_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

/* False: the child went on for long and did not pass the point. */
static bool
dies(pid_t child, const char *point)
{
	int64_t since = spw_now_ms();
	int status;

	if (!*point) {
		pause_us((long)(draw(&chance) % LIFE_US));
		CHECK(!kill(child, SIGKILL));
	}
	while (waitpid(child, &status, WNOHANG) != child) {
		if (spw_now_ms() - since > 20000 ||
		    (*point && atomic_load(&book->passed) > 60)) {
			kill(child, SIGKILL);
			CHECK(waitpid(child, &status, 0) == child);
			return false;
		}
		pause_us(200);
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return true;
}

static bool
one_life(const char *point)
{
	struct spw_tier *t;
	pid_t child;
	bool died;

	(void)draw(&chance);
	atomic_store(&book->passed, 0);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		live(point);
	died = dies(child, point);
	deaths += died;
	t = open_share();
	check_share(t);
	CHECK(!t->ops->close(t, false));
	return died;
}

static void
start_again(void)
{
	struct spw_tier *t = open_share();

	CHECK(!t->ops->close(t, true));
	memset(book, 0, sizeof(*book));
}

int
main(int argc, char **argv)
{
	char point[64];
	int i, n;

	CHECK(argc >= 4);
	kind = argv[1];
	place = argv[2];
	may_tear = !strcmp(kind, "nvme");
	drops_at_once = !may_tear;
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(book != MAP_FAILED);
	for (i = 0; i < atoi(argv[3]); i++) {
		(void)one_life("");
		if (i % 50 == 49)
			start_again();
	}
	start_again();
	for (i = 4; i < argc; i++) {
		for (n = 1; n <= 3; n++) {
			(void)snprintf(point, sizeof(point), "%s:%d", argv[i],
				       n);
			if (one_life(point))
				continue;
			if (n > 1)	/* passed once in a life */
				break;
			fprintf(stderr, "%s is not passed\n", point);
			return 1;
		}
		start_again();
	}
	printf("%s: %lu deaths, %lu objects checked\n", kind, deaths, checked);
	return 0;
}
