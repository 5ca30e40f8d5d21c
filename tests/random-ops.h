/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops.h -- random operations on files, with a model of what they hold */
#ifndef SPW_TESTS_RANDOM_OPS_H
#define SPW_TESTS_RANDOM_OPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The model of a file is its size and its bytes, in memory that all processes
 * of the run share. Bytes past the size are zero. A sparse file is modelled
 * where things happen only: its islands, RO_ISLANDS pieces far apart, lie one
 * after the other in the model. "at" is a place in the model, "off" an offset
 * in the file; without islands they are the same.
 *
 * A description (an open file description) has its position in shared memory
 * too, since dup and fork share it. A slot is a descriptor of this process.
 *
 * An operation is a kind and four random numbers. Everything it does follows
 * from these and from the state, so a log of them can be replayed.
 */
enum {
	RO_FILES = 2, RO_SLOTS = 10, RO_DESCS = 4160, RO_PROCS = 64,
	RO_ISLANDS = 4, RO_TAIL = 48, RO_KINDS = 64, RO_PATH = 64,
	RO_LEVEL = 20,			/* descriptions of a process at most */
};

struct ro_op {
	uint32_t kind;
	uint64_t r[4];
};

struct ro_desc {
	uint64_t pos;
	bool reads, writes, appends;
};

struct ro_file {
	char path[RO_PATH], other[RO_PATH];	/* its name and a spare one */
	uint8_t *bytes;
	uint64_t size;
	uint32_t gen;			/* bumped when it is made anew */
	bool nameless;			/* unlinked, open only */
};

struct ro_slot {
	int fd;				/* -1: free */
	uint32_t file, desc;
};

struct ro_shared {
	struct ro_file file[RO_FILES];
	struct ro_desc desc[RO_DESCS];
	uint64_t count[RO_KINDS];
	_Atomic uint32_t failed;
	pthread_mutex_t lock;
};

struct ro_run {				/* this process's view */
	struct ro_shared *s;
	const char *self;		/* path of this program */
	uint64_t seed, ops;
	uint64_t room;			/* bytes of a model */
	uint64_t max_io, align;
	uint32_t procs;
	bool locked, sparse, sized;	/* sized: the size is fixed */
	uint64_t groups;		/* bit per enum ro_group */
	uint64_t lo, hi;		/* the part of the model that is ours */
	struct ro_slot slot[RO_SLOTS];
	uint32_t gen[RO_FILES];		/* that the slots belong to */
	uint32_t desc_lo, desc_hi, depth;
	bool desc_used[RO_DESCS];
	void *held;			/* a mapping that stays */
	uint64_t held_at, held_len;
	uint64_t rng;
	uint8_t *pool, *buf;		/* random bytes; room to read into */
	struct ro_op tail[RO_TAIL];
	uint64_t done;
	int log_fd;
};

enum ro_group {
	RO_RW, RO_VEC, RO_APPEND, RO_SEEK, RO_HOLES, RO_TRUNC, RO_ALLOC,
	RO_MMAP, RO_OPEN, RO_SYNC, RO_STAT, RO_COPY, RO_SENDFILE, RO_STDIO,
	RO_FORK, RO_EXEC, RO_BARE, RO_NAMES, RO_NEW, RO_GROUPS
};

struct ro_kind {
	const char *name;
	enum ro_group group;
	uint32_t weight;
	void (*run)(struct ro_run *run, const struct ro_op *op);
	bool resizes;			/* not where the size is fixed */
};

extern const struct ro_kind ro_kinds[];	/* ends with a NULL name */
extern const char *const ro_group_names[RO_GROUPS];
extern struct ro_run ro_run;

/* random-ops-model.c */
uint64_t ro_random(uint64_t *state);
uint64_t ro_off(uint64_t at);		/* offset of a place */
bool ro_at(uint64_t off, uint64_t *ret_at);
uint64_t ro_rest(uint64_t at);		/* to the end of its island or part */
uint64_t ro_place(uint64_t r);		/* a random place */
uint64_t ro_length(uint64_t r, uint64_t at);
uint64_t ro_readable(const struct ro_file *f, uint64_t at, uint64_t len);
void ro_put(struct ro_file *f, uint64_t at, const void *buf, uint64_t len);
void ro_zero(struct ro_file *f, uint64_t at, uint64_t len);
void ro_set_size(struct ro_file *f, uint64_t size);
void ro_same(const struct ro_file *f, uint64_t at, const void *buf,
	     uint64_t len);
uint64_t ro_digest(const void *buf, uint64_t len, uint64_t start);
void ro_write_image(const struct ro_file *f, const char *path);
void ro_tail(void);
_Noreturn void ro_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Fails with errno's text unless fine. */
#define RO_CHECK(fine, what) \
	do { \
		if (!(fine)) \
			ro_fail("%s: %s", what, strerror(errno)); \
	} while (0)

/* random-ops-slots.c */
struct ro_slot *ro_open(uint32_t file, int flags);
void ro_close(struct ro_slot *slot);
void ro_close_all(int file);		/* -1: of all files */
struct ro_desc *ro_desc(const struct ro_slot *slot);
struct ro_slot *ro_free_slot(void);
void ro_forget_gone(void);		/* slots of files made anew since */
/* A slot for the file that can do this; opened if there is none. NULL: it
 * has no name to be opened by. */
struct ro_slot *ro_reader(uint32_t file, uint64_t r);
struct ro_slot *ro_writer(uint32_t file, uint64_t r);
struct ro_slot *ro_appender(uint32_t file, uint64_t r);
uint32_t ro_file(uint64_t r);
void ro_verify(uint32_t file);		/* all of our part */

/* random-ops.c */
void ro_some(uint64_t seed, uint32_t n);
void ro_describe(int fd, const struct ro_op *op);

/* random-ops-{data,size,life}.c */
#define RO_OP(name) \
	void ro_op_##name(struct ro_run *run, const struct ro_op *op)
RO_OP(read); RO_OP(write); RO_OP(pread); RO_OP(pwrite); RO_OP(tiny);
RO_OP(readv); RO_OP(writev); RO_OP(preadv); RO_OP(pwritev);
RO_OP(preadv2); RO_OP(pwritev2); RO_OP(append); RO_OP(appendv); RO_OP(seek);
RO_OP(mmap_read); RO_OP(mmap_write); RO_OP(mmap_held); RO_OP(stdio_plus);
RO_OP(stdio_append); RO_OP(copy); RO_OP(sendfile); RO_OP(verify);
RO_OP(ftruncate); RO_OP(truncate); RO_OP(open_trunc); RO_OP(fallocate);
RO_OP(punch); RO_OP(zero_range); RO_OP(seek_data); RO_OP(seek_hole);
RO_OP(fstat); RO_OP(stat); RO_OP(statx); RO_OP(fsync); RO_OP(fdatasync);
RO_OP(reopen); RO_OP(dup); RO_OP(close); RO_OP(setfl); RO_OP(rename);
RO_OP(link); RO_OP(unlink); RO_OP(replace); RO_OP(fork); RO_OP(exec_path);
RO_OP(exec_fd); RO_OP(spawn); RO_OP(bare);

/* What the image that exec starts does: reads FILE (a path, or "fd:N") and
 * compares its size, position and digest. Returns the exit status. */
int ro_peek(int argc, char **argv);
int ro_compare(const char *a, const char *b);

#endif
