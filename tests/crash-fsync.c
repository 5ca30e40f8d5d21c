/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-fsync.c -- what fsync promised is found after all else is gone */

/*
 * crash-fsync DIR BELOW ROUNDS [SEED]: writers change a file each, in the
 * working directory, and ask for fsync; a drainer answers from a tier in BELOW
 * and is killed at times, for another to take over. Then everybody is killed
 * and the segment, in DIR, is removed, as a reboot would. What the tier holds
 * is put over what home is known to hold, oldest object first:
 *
 *	a byte not changed since the last fsync is what it was then;
 *	any other is that, or what was written since;
 *	a file not made longer or shorter since has the size it had then.
 *
 * In every other round nothing goes home unless a writer was told to look
 * there; in the others home may have anything that was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "planner/drainer.h"
#include "shm/cache.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/proc.h"
#include "tiers/codec.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum {
	WRITERS = 3, SIZE = 80 * 1024, UNIT = 1024, VALUES = 251,
	UNSAFE_MOST = 60,		/* operations between two fsyncs */
	OBJECTS = 4096, CAPACITY = 64 << 20, OFFICES = 3,
	PATIENCE_MS = 10000,		/* with a busy machine */
};

struct note {				/* of one writer */
	_Atomic uint32_t op;		/* the last begun */
	_Atomic uint32_t safe_op;	/* the last that fsync covers */
	uint64_t size, safe_size, base_size;
	uint64_t lowest;		/* size since home was fsynced */
	bool cut_since, asks_home;
	uint64_t ops;
	_Atomic uint64_t syncs, home_syncs;
	uint8_t now[SIZE], safe[SIZE];
	uint8_t changed[SIZE];		/* since the last fsync */
	uint8_t base[SIZE];		/* home, when it was last fsynced */
	uint64_t ino;
};

struct found {
	struct spw_object o;
	uint64_t place;
	struct spw_object_block block[64];
};

static struct note *notes;
static struct spw_map map;
static struct found found[OBJECTS];
static unsigned nfound;
static uint64_t chance, objects, kills;
static const char *below;
static bool strict;

/* A writer. */

struct hand {
	struct spw_me me;
	struct spw_target t;
	struct note *n;
	uint64_t rng;
};

static void
file_name(char name[16], int no)
{
	snprintf(name, 16, "kept.%d", no);
}

static void
take_up(struct hand *h, int no)
{
	struct spw_file_seen seen = { .pid = (uint32_t)getpid() };
	char name[16], path[PATH_MAX];
	uint32_t proc, ofd;
	struct stat st;

	file_name(name, no);
	CHECK(!spw_proc_claim(&map, &proc) &&
	      !spw_lane_claim(&map, proc, &h->me));
	seen.fd = open(name, O_RDWR);
	seen.path = realpath(name, path);
	seen.parted = atomic_load(&map.seg->parted);
	CHECK(seen.fd >= 0 && seen.path && !fstat(seen.fd, &st));
	seen.id = (struct spw_file_id){ st.st_dev, st.st_ino };
	seen.size = (uint64_t)st.st_size;
	CHECK(!spw_file_open(&h->me, &seen, &h->t.file) &&
	      !spw_ofd_new(&h->me, h->t.file, SPW_OFD_READ | SPW_OFD_WRITE, 0,
			   &ofd) &&
	      !spw_proc_set_fd(&h->me, proc, seen.fd, ofd + 1));
	h->t.fd = seen.fd;
	h->t.readable = true;
	h->n = &notes[no];
	h->rng = draw(&chance) + (uint64_t)no;
}

static uint32_t
begin_op(struct note *n)
{
	uint32_t op = atomic_load(&n->op) + 1;

	atomic_store(&n->op, op);
	n->ops++;
	return op;
}

/* In units, so that a block never has too many pieces and nobody has to wait
 * for home. */
static void
write_some(struct hand *h)
{
	uint64_t off = draw(&h->rng) % (SIZE / UNIT) * UNIT, done = 0;
	uint64_t most = draw(&h->rng) % 2 ? SIZE : 3 * UNIT;
	uint64_t len = (1 + draw(&h->rng) % (most / UNIT)) * UNIT;
	static uint8_t data[SIZE];
	struct spw_source src = { .at = data };
	struct note *n = h->n;
	int byte;

	len = len < SIZE - off ? len : SIZE - off;
	src.left = len;
	byte = (int)(begin_op(n) % VALUES) + 1;
	memset(data, byte, len);
	memset(n->changed + off, 1, len);
	while (done < len) {
		int64_t r = spw_cache_write(&h->me, &h->t, &src, len - done,
					    off + done);

		CHECK(r > 0 || r == -ENOBUFS);
		if (r > 0)
			done += (uint64_t)r;
		else
			spw_gate_wait_room(&h->me, 5);
	}
	memset(n->now + off, byte, len);
	n->size = n->size > off + len ? n->size : off + len;
}

struct cutting {
	int fd;
	uint64_t size;
};

static int
cut_home(void *arg)
{
	const struct cutting *c = arg;

	return ftruncate(c->fd, (off_t)c->size) ? -errno : 0;
}

static void
cut_some(struct hand *h)
{
	uint64_t size = draw(&h->rng) % (SIZE / UNIT) * UNIT;
	struct cutting c = { h->t.fd, size };
	struct note *n = h->n;

	(void)begin_op(n);
	n->cut_since = true;
	memset(n->changed + size, 1, SIZE - size);
	CHECK(!spw_gate_resize(&h->me, h->t.file, size, cut_home, &c));
	memset(n->now + size, 0, SIZE - size);
	n->size = size;
	n->lowest = n->lowest < size ? n->lowest : size;
}

static void
look(struct hand *h)
{
	static uint8_t seen[SIZE];
	const struct note *n = h->n;
	int64_t r = spw_cache_read(&h->me, &h->t, seen, SIZE, 0);
	uint64_t at = 0;

	while (r == (int64_t)n->size && at < n->size && seen[at] == n->now[at])
		at++;
	if (r != (int64_t)n->size || at < n->size)
		printf("read %lld of %llu bytes; at %llu it is %u, not %u\n",
		       (long long)r, (unsigned long long)n->size,
		       (unsigned long long)at, seen[at], n->now[at]);
	CHECK(r == (int64_t)n->size && at == n->size);
}

/* Home has it all, and home is safe: the kernel says so. */
static void
sync_home(struct hand *h)
{
	struct note *n = h->n;

	n->asks_home = true;
	CHECK(!spw_gate_ask(&h->me, h->t.file));
	CHECK(!fsync(h->t.fd));
	memset(n->base, 0, SIZE);
	CHECK(pread(h->t.fd, n->base, SIZE, 0) == (ssize_t)n->size);
	n->base_size = n->lowest = n->size;
	n->asks_home = false;
	n->home_syncs++;
}

/* Home was cut by the kernel, and may have been fsynced since. */
static void
cut_base(struct note *n)
{
	if (n->lowest < n->base_size) {
		memset(n->base + n->lowest, 0, n->base_size - n->lowest);
		n->base_size = n->lowest;
	}
}

static void
sync_all(struct hand *h)
{
	struct note *n = h->n;

	if (spw_gate_sync(&h->me, h->t.file) < 0)
		sync_home(h);
	cut_base(n);
	/* Safe before it counts as unchanged: whatever is done of this when
	 * the end comes, the check is not too strict. */
	for (uint64_t i = 0; i < SIZE; i++)
		n->safe[i] = n->changed[i] ? n->now[i] : n->safe[i];
	n->safe_size = n->size;
	atomic_store(&n->safe_op, atomic_load(&n->op));
	n->cut_since = false;
	memset(n->changed, 0, SIZE);
	n->syncs++;
}

static void
write_for_ever(int no)
{
	struct hand h;
	uint32_t since = 0;

	take_up(&h, no);
	for (;;) {
		uint64_t r = draw(&h.rng) % 16;

		if (r == 0 || ++since >= UNSAFE_MOST) {
			sync_all(&h);
			since = 0;
		} else if (r < 3) {
			cut_some(&h);
		} else if (r < 6) {
			look(&h);
		} else {
			write_some(&h);
		}
	}
}

static void
drain_for_ever(int unused)
{
	struct spw_drainer *d;
	uint32_t asks = 0;

	(void)unused;
	while (spw_drainer_start(&map, SPW_HOST_RUN, &d) < 0)
		spw_sys_sleep_us(200);
	for (uint32_t i = 1;; i++) {
		spw_attend(d);
		(void)spw_spill(d, i % 4 ? 8 : 64);
		for (int k = 0; k < 4; k++)
			spw_evict(d, true);
		if (atomic_load(&map.seg->asks) != asks) {
			asks = atomic_load(&map.seg->asks);
			(void)spw_pass(d, true);
		}
		if (!strict && i % 8 == 0)
			(void)spw_pass(d, false);
	}
}

static pid_t
start(void (*body)(int), int arg)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	body(arg);
	_exit(0);
}

/* A process that has ended by itself found something wrong. */
static void
end_of(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	kills++;
}

/* Afterwards. */

static int
note_object(void *arg, const struct spw_tier_found *f)
{
	struct found *to = &found[nfound];

	(void)arg;
	if (f->err || !f->object)
		return 0;		/* cut short: promised by nobody */
	CHECK(nfound < OBJECTS && f->object->nblocks <= ARRAY_LEN(to->block));
	to->o = *f->object;
	memcpy(to->block, f->object->blocks,
	       f->object->nblocks * sizeof(*to->block));
	to->o.blocks = to->block;
	to->place = f->place;
	nfound++;
	return 0;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = ((const struct found *)a)->o.seq;
	uint64_t y = ((const struct found *)b)->o.seq;

	return x < y ? -1 : x > y;
}

static void
apply_cut(uint8_t *image, uint64_t *size, uint64_t to)
{
	if (to < *size) {
		memset(image + to, 0, *size - to);
		*size = to;
	}
}

static void
read_part(struct spw_tier *t, uint64_t place,
	  const struct spw_object_part *part, void *buf)
{
	struct spw_transfer x = {
		.up = true, .place = place, .at = part->at, .buf = buf,
		.len = part->len,
	};

	CHECK(!t->ops->submit(t, &x));
	CHECK(t->ops->reap(t, true) == &x && !x.err);
}

static void
apply(struct spw_tier *t, const struct found *f, uint8_t *image,
      uint64_t *size)
{
	static struct spw_packer *packer;
	static uint8_t *stored, *raw;
	struct spw_object_part part;
	uint64_t bad;

	if (!packer) {
		CHECK(spw_codec_load(NULL) > 0 && !spw_packer_new(&packer));
		stored = kit_buffer();
		raw = kit_buffer();
	}
	apply_cut(image, size, f->o.cut);
	if (f->o.length) {
		spw_object_part(&f->o, 0, f->o.length, &part);
		read_part(t, f->place, &part, stored);
		CHECK(!spw_object_decode(packer, &f->o, &part, stored, raw,
					 &bad));
		CHECK(f->o.offset + f->o.length <= SIZE);
		memcpy(image + f->o.offset, raw, f->o.length);
	}
	apply_cut(image, size, f->o.file_size);
	*size = f->o.file_size;
	objects++;
}

static bool
is_since(const struct note *n, uint8_t value)
{
	uint32_t safe_op = atomic_load(&n->safe_op), op = atomic_load(&n->op);

	for (uint32_t i = safe_op + 1; i <= op; i++)
		if (i % VALUES + 1 == value)
			return true;
	return value == 0 && n->cut_since;
}

static _Noreturn void
show(const struct note *n)
{
	printf("%s round; home had %lu bytes after %lu of %lu fsyncs\n",
	       strict ? "strict" : "mixed", (unsigned long)n->base_size,
	       (unsigned long)atomic_load(&n->home_syncs),
	       (unsigned long)atomic_load(&n->syncs));
	for (unsigned i = 0; i < nfound; i++) {
		const struct spw_object *o = &found[i].o;

		if (o->ino == n->ino)
			printf("object %lu: %lu bytes at %lu of %lu, cut %ld, "
			       "flags %x\n", (unsigned long)o->seq,
			       (unsigned long)o->length,
			       (unsigned long)o->offset,
			       (unsigned long)o->file_size, (long)o->cut,
			       o->flags);
	}
	exit(1);
}

/* The youngest mark: objects up to it are home, and count no more. */
static uint64_t
home_of(const struct note *n)
{
	uint64_t seq = 0;

	for (unsigned i = 0; i < nfound; i++)
		if (found[i].o.ino == n->ino &&
		    found[i].o.flags & SPW_OBJECT_HOME &&
		    found[i].o.seq > seq)
			seq = found[i].o.seq;
	return seq;
}

static void
check_file(struct spw_tier *t, int no)
{
	struct note *n = &notes[no];
	static uint8_t image[SIZE];
	uint64_t size = n->base_size, home = home_of(n);

	memcpy(image, n->base, SIZE);
	for (unsigned i = 0; i < nfound; i++)
		if (found[i].o.ino == n->ino && found[i].o.seq > home)
			apply(t, &found[i], image, &size);
	for (uint64_t i = 0; i < SIZE; i++) {
		if (image[i] == n->safe[i] ||
		    (n->changed[i] && is_since(n, image[i])))
			continue;
		printf("kept.%d: byte %lu is %u, promised was %u; changed "
		       "since: %u, fsync covers %u of %u operations\n", no,
		       (unsigned long)i, image[i], n->safe[i], n->changed[i],
		       atomic_load(&n->safe_op), atomic_load(&n->op));
		show(n);
	}
	if (atomic_load(&n->op) == atomic_load(&n->safe_op)
	    ? size == n->safe_size : size >= n->safe_size || n->cut_since)
		return;
	printf("kept.%d: has %lu bytes, promised were %lu\n", no,
	       (unsigned long)size, (unsigned long)n->safe_size);
	show(n);
}

/* Where home may have anything, it has what it has. So it is with who was
 * sent home and has not been told yet that all is there. */
static void
read_base(int no)
{
	struct note *n = &notes[no];
	struct stat st;
	char name[16];
	int fd;

	file_name(name, no);
	fd = open(name, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st) && st.st_size <= SIZE);
	memset(n->base, 0, SIZE);
	n->base_size = (uint64_t)st.st_size;
	CHECK(read(fd, n->base, SIZE) == (ssize_t)st.st_size);
	close(fd);
}

static void
check_all(void)
{
	char owner[SPW_JOB_MAX + 32];
	struct spw_tier *t;
	int r, tries = 0;

	snprintf(owner, sizeof(owner), "%s.%llx", map.fixed.job,
		 (unsigned long long)map.fixed.created);
	/* The dead one's last write may still be on its way. */
	while ((r = kit_open("nvme", below, owner, CAPACITY, &t)) == -EBUSY &&
	       tries++ < 1000)
		usleep(1000);
	CHECK(r == 0);
	nfound = 0;
	CHECK(!t->ops->list(t, note_object, NULL));
	qsort(found, nfound, sizeof(*found), compare);
	for (unsigned i = 0; i < nfound; i++)	/* they were moved, too */
		found[i].o.blocks = found[i].block;
	for (int i = 0; i < WRITERS; i++) {
		if (!strict || notes[i].asks_home)
			read_base(i);
		check_file(t, i);
	}
	CHECK(!t->ops->close(t, true));
}

static void
begin(const char *dir)
{
	char tiers[PATH_MAX], name[16];
	struct spw_seg_request req = {
		.dir = dir, .job = "fsync", .bytes = 1 << 20, .delay_ms = 1,
		.tiers = tiers, .below = CAPACITY,
		.workers = (uint32_t)(draw(&chance) % 3),
	};
	struct stat st;
	int fd;

	snprintf(tiers, sizeof(tiers), "nvme:%s@64M%s", below,
		 draw(&chance) % 2 ? "+lz4" : "");
	memset(notes, 0, WRITERS * sizeof(*notes));
	for (int i = 0; i < WRITERS; i++) {
		file_name(name, i);
		unlink(name);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		CHECK(fd >= 0 && !fstat(fd, &st));
		notes[i].ino = st.st_ino;
		close(fd);
	}
	CHECK(!spw_seg_create(&req, &map));
}

/* A tier has answered somebody. */
static bool
is_any_promised(void)
{
	for (int i = 0; i < WRITERS; i++)
		if (atomic_load(&notes[i].syncs) >
		    atomic_load(&notes[i].home_syncs))
			return true;
	return false;
}

static void
play(void)
{
	int64_t latest = spw_now_ms() + PATIENCE_MS;
	pid_t writer[WRITERS], drainer = start(drain_for_ever, 0);
	int offices = (int)(draw(&chance) % OFFICES);

	for (int i = 0; i < WRITERS; i++) {
		(void)draw(&chance);
		writer[i] = start(write_for_ever, i);
	}
	for (int i = 0; i < offices; i++) {
		usleep((useconds_t)(draw(&chance) % 50000));
		end_of(drainer);
		drainer = start(drain_for_ever, 0);
	}
	usleep((useconds_t)(20000 + draw(&chance) % 100000));
	while (!is_any_promised() && spw_now_ms() < latest)
		usleep(1000);
	for (int i = 0; i < WRITERS; i++)
		kill(writer[i], SIGKILL);
	end_of(drainer);
	for (int i = 0; i < WRITERS; i++)
		end_of(writer[i]);
}

int
main(int argc, char **argv)
{
	uint64_t ops = 0, syncs = 0, home_syncs = 0;
	int rounds;

	CHECK(argc >= 4);
	below = argv[2];
	rounds = atoi(argv[3]);
	chance = argc > 4 ? strtoull(argv[4], NULL, 0) : (uint64_t)getpid();
	printf("seed %lu\n", (unsigned long)chance);
	notes = mmap(NULL, WRITERS * sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(notes != MAP_FAILED);
	for (int i = 0; i < rounds; i++) {
		strict = i % 2 == 0;
		begin(argv[1]);
		fflush(stdout);
		play();
		unlink(map.path);
		check_all();
		spw_seg_detach(&map);
		for (int k = 0; k < WRITERS; k++) {
			ops += notes[k].ops;
			syncs += notes[k].syncs;
			home_syncs += notes[k].home_syncs;
		}
	}
	printf("%d rounds, %lu processes killed, %lu operations, %lu fsyncs, "
	       "%lu of them sent home, %lu objects read\n", rounds,
	       (unsigned long)kills, (unsigned long)ops,
	       (unsigned long)syncs, (unsigned long)home_syncs,
	       (unsigned long)objects);
	return !syncs || home_syncs == syncs || !objects;
}
