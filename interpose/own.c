/* SPDX-License-Identifier: BSD-3-Clause */
/* own.c -- files that libc and the loader open for themselves */

/*
 * They read by calls that never come to us, and would find what was home some
 * time ago. Where the call names the file it is brought home first: objects
 * to load, tables of mounts and of logins. Others are looked for along paths
 * and in settings of all kinds: objects that an object needs, catalogues of
 * messages, time zones, locales. These are known by how they begin, and are
 * home when they are closed.
 */
#include "interpose/own.h"

#include <elf.h>
#include <errno.h>
#include <stdio_ext.h>

#include "interpose/leave.h"
#include "interpose/real.h"
#include "shm/blocks.h"
#include "shm/cache.h"
#include "shm/ranges.h"
#include "shm/text.h"

struct head {				/* of a file */
	uint32_t magic;
	uint8_t ident[EI_NIDENT - sizeof(uint32_t)];
	uint16_t type;			/* of ELF */
};

/* Nobody else has the file open: its first block does not change. */
static bool
in_memory(struct spw_me *me, uint32_t file, struct head *ret)
{
	struct spw_key key = { file, me->map->files[file].gen, 0 };
	uint32_t idx = spw_block_find(me, &key);
	struct spw_block_state s;

	if (idx == SPW_NONE)
		return false;
	s = spw_block_look(&me->map->blocks[idx]);
	if (!spw_block_is_sound(me->map, &s) || s.slot == SPW_NONE ||
	    !spw_ranges_cover(&s.present, s.npresent, 0, sizeof(*ret)))
		return false;
	memcpy(ret, spw_slot(me->map, s.slot), sizeof(*ret));
	return true;
}

static bool
is_loaded(const struct head *h)
{
	return memcmp(&h->magic, ELFMAG, SELFMAG) == 0 &&
	       (h->type == ET_DYN || h->type == ET_EXEC);
}

/* Time zones; messages of gettext and of catopen, in either order of bytes;
 * and libc's own tables, by the dates they begin with. */
static bool
is_table(const struct head *h)
{
	switch (h->magic >> 8) {
	case 0x200510: case 0x200709: case 0x200907:	/* locales */
	case 0x200103:					/* converters */
		return true;
	}
	return memcmp(&h->magic, "TZif", 4) == 0 ||
	       h->magic == 0x950412de || h->magic == 0xde120495 ||
	       h->magic == 0x960408de || h->magic == 0xde080496;
}

/* Below or at home, and read without leaving a trace, through a description of
 * its own: this one may be for writing only. The locks that go with it when it
 * is closed go with the last one anyway. -EPERM: not ours to read so. */
static int64_t
look_up(struct spw_me *me, uint32_t file, int fd, struct head *ret)
{
	struct spw_target t = { .file = file, .readable = true };
	struct spw_counters *count = &me->lane->count;
	uint64_t reads = count->reads, bytes = count->bytes_read;
	char self[40];
	struct spw_text name;
	int64_t n;

	spw_text_init(&name, self, sizeof(self));
	spw_text_fmt(&name, "/proc/thread-self/fd/%u", (unsigned)fd);
	t.fd = spw_sys_open(self, O_RDONLY | O_NOATIME | O_CLOEXEC, 0);
	if (t.fd < 0)
		return t.fd;
	n = spw_cache_read(me, &t, ret, sizeof(*ret), 0);
	count->reads = reads;		/* it is not the program's */
	count->bytes_read = bytes;
	spw_sys_close(t.fd);
	return n;
}

bool
spw_own_is(struct spw_me *me, uint32_t file, int fd)
{
	struct head h;
	int64_t n = in_memory(me, file, &h) ? (int64_t)sizeof(h)
					    : look_up(me, file, fd, &h);

	if (n < 0)
		return true;		/* nobody knows */
	return n == sizeof(h) && (is_loaded(&h) || is_table(&h));
}

static void
bring_home(const char *path)
{
	struct spw_me *me;
	uint32_t file = spw_take_path(AT_FDCWD, path, 0, &me);

	if (file == SPW_NONE)
		return;
	(void)spw_gate_settle(me, file);	/* it is what home has, then */
	spw_file_close(me, file);
}

SPW_WRAP SPW_JUMPS void *
dlopen(const char *name, int flags)
{
	if (name && strchr(name, '/'))
		bring_home(name);
	SPW_JUMP_TO REAL(dlopen)(name, flags);
}

/* As libc's, with a stream of ours; of a longer mode it reads no more. */
SPW_WRAP FILE *
setmntent(const char *path, const char *mode)
{
	char cloexec[64];
	struct spw_text t;
	FILE *fp;

	spw_text_init(&t, cloexec, sizeof(cloexec));
	spw_text_fmt(&t, "%sce", mode);
	fp = fopen(path, cloexec);
	if (fp)
		(void)__fsetlocking(fp, FSETLOCKING_BYCALLER);
	return fp;
}
SPW_ALIAS(__setmntent, setmntent);

SPW_WRAP int
endmntent(FILE *fp)
{
	if (fp)
		(void)fclose(fp);
	return 1;
}
SPW_ALIAS(__endmntent, endmntent);

/* libc writes there: the kernel's as long as others have it open or, if libc
 * keeps it, until this process ends. */
static void
leave(const char *path, bool keeps)
{
	int err = errno;
	struct spw_me *me;
	uint32_t file = spw_take_path(AT_FDCWD, path, 0, &me);

	if (file != SPW_NONE) {
		if (spw_leave_file(me, file, SPW_BYPASS_STDIO) == 0 && keeps)
			spw_leave_pin(me, file);
		spw_file_close(me, file);
	}
	errno = err;
}

SPW_WRAP void
updwtmp(const char *path, const struct utmp *record)
{
	leave(path, false);
	REAL(updwtmp)(path, record);
}

SPW_WRAP void
updwtmpx(const char *path, const struct utmpx *record)
{
	leave(path, false);
	REAL(updwtmpx)(path, record);
}

SPW_WRAP int
utmpname(const char *path)
{
	leave(path, true);
	return REAL(utmpname)(path);
}

SPW_WRAP int
utmpxname(const char *path)
{
	leave(path, true);
	return REAL(utmpxname)(path);
}
