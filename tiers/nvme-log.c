/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-log.c -- the files of the log: their heads, objects and descriptors */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

enum {
	OPEN_MAX = 64,			/* descriptors we keep */
	FENCE_MS = 30000,		/* most that a dead one's write takes */
	FENCE_US = 1000,		/* between looks at it */
	NUMBERS = 1 << 20,		/* of files */
};

void
spw_log_name(uint32_t no, char ret_name[SPW_LOG_NAME])
{
	(void)snprintf(ret_name, SPW_LOG_NAME, "nvme-%08x.log", no);
}

void
spw_log_name_at(uint64_t place, char ret_name[SPW_LOG_NAME])
{
	spw_log_name((uint32_t)(place >> 32), ret_name);
}

static void
name_fresh(uint32_t no, char ret_name[SPW_LOG_NAME])
{
	(void)snprintf(ret_name, SPW_LOG_NAME, "nvme-%08x.log.new", no);
}

static bool
is_number(const char *name, uint32_t *ret_no)
{
	return sscanf(name, "nvme-%8x.log", ret_no) == 1 && *ret_no < NUMBERS;
}

bool
spw_log_number(const char *name, uint32_t *ret_no)
{
	char again[SPW_LOG_NAME];

	if (!is_number(name, ret_no))
		return false;
	spw_log_name(*ret_no, again);
	return !strcmp(name, again);
}

bool
spw_log_is_fresh(const char *name)
{
	char again[SPW_LOG_NAME];
	uint32_t no;

	if (!is_number(name, &no))
		return false;
	name_fresh(no, again);
	return !strcmp(name, again);
}

void
spw_log_disguise(const struct spw_log *log, void *buf, uint64_t at,
		 uint64_t len)
{
	const uint8_t *life = (const uint8_t *)&log->life;
	uint8_t *p = buf;
	uint64_t i;

	for (i = at; i < sizeof(log->life) && i - at < len; i++)
		p[i - at] ^= life[i];
}

static uint32_t
sum_head(const struct spw_log_head *head)
{
	const size_t from = offsetof(struct spw_log_head, version);

	return spw_crc32c(0, (const char *)head + from, sizeof(*head) - from);
}

static bool
is_head(const struct spw_log_head *head)
{
	return !memcmp(head->magic, SPW_LOG_MAGIC, sizeof(head->magic)) &&
	       head->crc == sum_head(head) &&
	       head->version >= 1 && head->version <= SPW_LOG_VERSION &&
	       head->size >= SPW_LOG_HEAD && head->size <= SPW_LOG_SIZE &&
	       head->size % SPW_LOG_BLOCK == 0 &&
	       head->mark >= SPW_LOG_HEAD && head->mark <= head->size &&
	       head->mark % SPW_LOG_BLOCK == 0;
}

/* Goes to where the older one lies, so the newer one must be on disk: the
 * file was synced since. */
void
spw_log_fill_head(struct spw_log *log, struct spw_log_head *ret_head)
{
	log->turn++;
	log->head_loose = true;
	log->marked = log->mark;
	memset(ret_head, 0, sizeof(*ret_head));
	memcpy(ret_head->magic, SPW_LOG_MAGIC, sizeof(ret_head->magic));
	ret_head->version = log->version;
	ret_head->turn = log->turn;
	ret_head->life = log->life;
	ret_head->lives = log->lives;
	ret_head->size = log->size;
	ret_head->mark = log->mark;
	memcpy(ret_head->dead, log->dead, sizeof(log->dead));
	ret_head->crc = sum_head(ret_head);
}

void
spw_log_begin_life(struct spw_log *log)
{
	uint64_t life = 0;

	if (getrandom(&life, sizeof(life), 0) != sizeof(life))
		life = (uint64_t)spw_file_time();
	log->life = life == log->life ? life + 1 : life;
	log->lives++;
	log->version = SPW_LOG_VERSION;
	log->dense = SPW_MAX(log->dense, log->end);
	log->n = log->synced = 0;
	log->live = log->bytes = 0;
	log->end = log->mark = SPW_LOG_HEAD;
	log->torn = false;
	memset(log->dead, 0, sizeof(log->dead));
}

bool
spw_log_is_free(const struct spw_log *log)
{
	return log->end == SPW_LOG_HEAD && !log->busy && !log->err &&
	       !log->damaged && !log->dropped;
}

void
spw_log_list(struct spw_nvme *t, struct spw_log *log)
{
	if (log->listed)
		return;
	log->listed = true;
	log->next = t->to_sync;
	t->to_sync = log;
}

static void
unlist(struct spw_nvme *t, struct spw_log *log)
{
	struct spw_log **p = &t->to_sync;

	while (*p && *p != log)
		p = &(*p)->next;
	if (*p)
		*p = log->next;
	log->listed = false;
}

/* Objects. They are added in the order of their places. */

int
spw_log_add(struct spw_log *log, uint64_t offset, uint64_t len,
	    enum spw_log_state state)
{
	uint32_t room = log->room ? 2 * log->room : 16;
	void *p;

	if (log->n == log->room) {
		p = realloc(log->objects, room * sizeof(*log->objects));
		if (!p)
			return -ENOMEM;
		log->objects = p;
		log->room = room;
	}
	log->objects[log->n++] = (struct spw_log_object) {
		.at = (uint32_t)offset,
		.len = (uint32_t)len,
		.state = (uint8_t)state,
	};
	if (state == SPW_LOG_LIVE) {
		log->live += spw_log_extent(log, len);
		log->bytes += len;
	}
	return 0;
}

struct spw_log_object *
spw_log_find(struct spw_log *log, uint64_t offset)
{
	uint32_t from = 0, to = log->n, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (log->objects[middle].at < offset)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == log->n || log->objects[from].at != offset ||
	    log->objects[from].state == SPW_LOG_GONE)
		return NULL;
	return &log->objects[from];
}

void
spw_log_bury(struct spw_log *log, uint64_t from, uint64_t to)
{
	uint64_t b;

	for (b = from / SPW_LOG_BLOCK; b < to / SPW_LOG_BLOCK; b++)
		log->dead[b / 64] |= UINT64_C(1) << b % 64;
	log->dropped = true;
}

/* No head is owed for that: the next one has it, and a mark behind it comes
 * with a head. */
void
spw_log_close_block(struct spw_log *log, uint64_t end)
{
	uint64_t b = end / SPW_LOG_BLOCK;

	if (end % SPW_LOG_BLOCK)
		log->dead[b / 64] |= UINT64_C(1) << b % 64;
}

void
spw_log_end_round(struct spw_log *log)
{
	spw_log_close_block(log, log->end);
	log->end = spw_round_up(log->end, SPW_LOG_BLOCK);
}

/* Descriptors. */

static int
open_log(struct spw_nvme *t, uint32_t no, int flags)
{
	char name[SPW_LOG_NAME];

	if (flags & O_CREAT) {
		name_fresh(no, name);
		return spw_sys_openat(t->share.dir, name, flags | O_NOFOLLOW |
				      O_CLOEXEC, 0600);
	}
	spw_log_name(no, name);
	return spw_share_open_file(&t->share, name, flags);
}

static void
close_log(struct spw_nvme *t, struct spw_log *log)
{
	if (log->fd < 0)
		return;
	spw_sys_close(log->fd);
	log->fd = -1;
	t->open--;
}

/* The one not used for longest. What it was given is synced before: an error
 * found later would be nobody's. */
static void
close_one(struct spw_nvme *t)
{
	struct spw_log *oldest = NULL;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i] && t->logs[i]->fd >= 0 && !t->logs[i]->busy &&
		    (!oldest || t->logs[i]->used < oldest->used))
			oldest = t->logs[i];
	if (!oldest)
		return;
	if (oldest->written || oldest->head_loose)
		(void)spw_log_flush(t, oldest);
	close_log(t, oldest);
}

/* The fence. A process may be dead, and what it gave to io_uring is still on
 * its way to the disk. Such a write keeps the file open, and with it the lock
 * on it; not the lock of the share, which is another file. */
static void
fence_off(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	(void)spw_sys_fcntl(fd, F_OFD_SETLK, (long)&whole);
}

static int
pass_fence(int fd)
{
	int64_t since = spw_now_ms();

	for (;;) {
		struct flock whole = { .l_type = F_WRLCK,
				       .l_whence = SEEK_SET };

		if (spw_sys_fcntl(fd, F_OFD_GETLK, (long)&whole) < 0 ||
		    whole.l_type == F_UNLCK)
			return 0;
		if (spw_now_ms() - since > FENCE_MS)
			return -EBUSY;
		spw_sys_sleep_us(FENCE_US);
	}
}

/* Where O_DIRECT is refused, files are used without it from then on. */
static int
open_data(struct spw_nvme *t, uint32_t no, int flags)
{
	int fd = open_log(t, no, flags | (t->direct ? O_DIRECT : 0));

	if (fd == -EINVAL && t->direct) {
		t->direct = false;
		fd = open_log(t, no, flags & ~O_EXCL);
	}
	if (fd >= 0 && !t->share.look_only)
		fence_off(fd);
	return fd;
}

int
spw_log_fd(struct spw_nvme *t, struct spw_log *log)
{
	int fd;

	log->used = ++t->clock;
	if (log->fd >= 0)
		return log->fd;
	if (t->open >= OPEN_MAX)
		close_one(t);
	fd = open_data(t, log->no, t->share.look_only ? O_RDONLY : O_RDWR);
	if (fd < 0)
		return fd;
	log->fd = fd;
	t->open++;
	return fd;
}

/* Files. */

static int
keep(struct spw_nvme *t, struct spw_log *log)
{
	uint32_t n = t->nlogs, i;
	void *p;

	if (log->no >= n) {
		n = SPW_MAX(log->no + 1, 2 * n);
		p = realloc(t->logs, n * sizeof(*t->logs));
		if (!p)
			return -ENOMEM;
		t->logs = p;
		for (i = t->nlogs; i < n; i++)
			t->logs[i] = NULL;
		t->nlogs = n;
	}
	t->logs[log->no] = log;
	t->total += log->size + SPW_SHARE_FILE;
	return 0;
}

void
spw_log_free(struct spw_nvme *t, struct spw_log *log)
{
	if (!log)
		return;
	if (log->no < t->nlogs && t->logs[log->no] == log) {
		t->logs[log->no] = NULL;
		t->total -= log->size + SPW_SHARE_FILE;
	}
	if (t->current == log)
		t->current = NULL;
	if (log->listed)
		unlist(t, log);
	close_log(t, log);
	free(log->objects);
	free(log);
}

void
spw_log_strike(struct spw_nvme *t, const struct spw_log *log)
{
	(void)spw_roll_strike(t->roll, spw_nvme_place(log, 0));
}

int
spw_log_remove(struct spw_nvme *t, struct spw_log *log)
{
	char name[SPW_LOG_NAME];
	int r;

	spw_log_strike(t, log);
	spw_roll_sync(t->roll);
	spw_log_name(log->no, name);
	r = spw_share_unlink(&t->share, name);
	if (r < 0 && r != -ENOENT)
		return r;
	spw_log_free(t, log);
	return 0;
}

/* Room is taken now, not when an object is on its way. */
static int
take_room(int fd, uint64_t size)
{
	int r = spw_sys_fallocate(fd, 0, 0, size);

	return r == -EOPNOTSUPP ? spw_sys_ftruncate(fd, size) : r;
}

static int
write_first_head(struct spw_nvme *t, struct spw_log *log)
{
	size_t room;
	struct spw_log_head *head = spw_ring_buffer(t->ring, &room);
	struct spw_io io = {
		.kind = SPW_IO_WRITE,
		.fd = log->fd,
		.buf = head,
		.len = sizeof(*head),
		.then_sync = true,
	};

	if (!head)
		return -ENOMEM;
	spw_log_begin_life(log);
	spw_log_fill_head(log, head);
	io.off = log->turn % 2 * SPW_LOG_BLOCK;
	spw_nvme_do(t, &io, 1);
	spw_ring_give(t->ring, head);
	log->head_loose = io.err != 0;
	return io.err;
}

/* It has its name when its head is on disk. So one without a head was damaged
 * since, however blank it is. */
static int
build(struct spw_nvme *t, struct spw_log *log, const char *fresh)
{
	char name[SPW_LOG_NAME];
	int r;

	(void)spw_share_unlink(&t->share, fresh);	/* of one who died */
	r = open_data(t, log->no, O_RDWR | O_CREAT | O_EXCL);
	if (r < 0)
		return r;
	log->fd = r;
	t->open++;
	SPW_FAILPOINT("nvme-created");
	r = take_room(log->fd, log->size);
	SPW_FAILPOINT("nvme-sized");
	if (r == 0 && t->direct && !t->measured)
		spw_nvme_measure(t, log);
	if (r == 0)
		r = write_first_head(t, log);
	SPW_FAILPOINT("nvme-headed");
	spw_log_name(log->no, name);
	if (r == 0)
		r = spw_share_publish(&t->share, fresh, name);
	SPW_FAILPOINT("nvme-named");
	return r;
}

int
spw_log_create(struct spw_nvme *t, uint64_t size, struct spw_log **ret_log)
{
	struct spw_log *log = calloc(1, sizeof(*log));
	char fresh[SPW_LOG_NAME];
	int r;

	if (!log)
		return -ENOMEM;
	log->fd = -1;
	log->size = size;
	while ((log->no < t->nlogs && t->logs[log->no]) ||
	       spw_roll_has(t->roll, spw_nvme_place(log, 0)))
		log->no++;		/* what is missing is not made anew */
	if (t->open >= OPEN_MAX)
		close_one(t);
	name_fresh(log->no, fresh);
	r = log->no < NUMBERS ? build(t, log, fresh) : -ENOSPC;
	if (r < 0) {
		(void)spw_share_unlink(&t->share, fresh);
		spw_log_free(t, log);
		return r;
	}
	r = keep(t, log);
	if (r < 0) {
		(void)spw_log_remove(t, log);
		return r;
	}
	spw_roll_expect(t->roll, spw_nvme_place(log, 0));
	t->names = true;
	*ret_log = log;
	return 0;
}

/* Reading what is there. */

static void
use_head(struct spw_log *log, const struct spw_log_head *head)
{
	log->turn = head->turn;
	log->life = head->life;
	log->lives = head->lives;
	log->version = head->version;
	log->size = head->size;
	log->mark = log->marked = head->mark;
	memcpy(log->dead, head->dead, sizeof(log->dead));
}

static int
load_head(int fd, struct spw_log *log)
{
	struct spw_log_head heads[2];
	const struct spw_log_head *best = NULL;
	uint64_t size = log->size;
	int i;

	memset(heads, 0, sizeof(heads));
	for (i = 0; i < 2; i++) {
		int r = spw_share_read(fd, &heads[i], sizeof(heads[i]),
				       (uint64_t)i * SPW_LOG_BLOCK);

		if (r < 0 && r != -ENODATA && r != -EIO)
			return r;
		log->fault = r == -EIO ? r : log->fault;
		if (is_head(&heads[i]) &&
		    (!best || heads[i].turn > best->turn))
			best = &heads[i];
	}
	if (!best) {
		log->damaged = true;
		log->headless = true;
		log->mark = SPW_LOG_HEAD;
		return 0;
	}
	use_head(log, best);
	log->head_loose = true;		/* for all we know */
	log->damaged = size != log->size;
	return 0;
}

int
spw_log_load_strange(struct spw_nvme *t, uint32_t no)
{
	struct spw_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->no = no;
	log->fd = -1;
	log->damaged = log->headless = true;
	log->mark = SPW_LOG_HEAD;
	r = keep(t, log);
	if (r < 0)
		spw_log_free(t, log);
	return r;
}

int
spw_log_load(struct spw_nvme *t, uint32_t no)
{
	struct spw_log *log;
	struct stat st;
	int fd = open_log(t, no, O_RDONLY), r;

	if (fd < 0)
		return fd;
	log = calloc(1, sizeof(*log));
	r = log ? spw_sys_fstat(fd, &st) : -ENOMEM;
	if (r == 0 && !t->share.look_only)
		r = pass_fence(fd);
	if (r == 0) {
		log->no = no;
		log->fd = -1;
		log->size = SPW_MIN((uint64_t)st.st_size,
				    (uint64_t)SPW_LOG_SIZE);
		r = load_head(fd, log);
	}
	spw_sys_close(fd);
	if (r >= 0)
		r = keep(t, log);
	if (r < 0)
		spw_log_free(t, log);
	return r;
}
