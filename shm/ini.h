/* SPDX-License-Identifier: BSD-3-Clause */
/* ini.h -- read "key = value" lines, one at a time, in fixed memory */

#ifndef SPW_SHM_INI_H
#define SPW_SHM_INI_H

#include <stdbool.h>
#include <stddef.h>

/*
 *	# a comment, also ; at the start of a line
 *	key = value			# a comment behind a blank
 *	key = "a value with # or blanks around"
 *	key = a value \
 *	      that goes on		-> "a value that goes on"
 *
 * An optional [spillway] line is skipped; there are no other sections.
 */
#define SPW_INI_LINE 4608		/* a list of tiers, key and blanks */
#define SPW_INI_FILE 65536		/* bytes that are read at most */

struct spw_ini {
	int fd;				/* or -1: only what is in memory */
	const char *mem;		/* not yet read, with fd -1 */
	size_t mem_left;
	size_t total;			/* bytes taken so far */
	size_t at, have;		/* in buf */
	unsigned next_line;
	char buf[1024];

	/* The entry that spw_ini_next found, in `text`. */
	char *key, *value;		/* NUL-terminated */
	unsigned line;			/* where it begins */
	size_t len;
	char text[SPW_INI_LINE];

	/* After -EINVAL: what is wrong with the line in `text`. */
	const char *cause, *hint;
	size_t fault_at, fault_len;
};

void spw_ini_init_fd(struct spw_ini *ini, int fd);
void spw_ini_init_mem(struct spw_ini *ini, const char *mem, size_t n);

/*
 * 1: key and value are set; 0: the end; -EINVAL: a syntax error, described
 * in the struct; another negative errno: reading failed (-EFBIG: the file
 * is larger than SPW_INI_FILE).
 */
int spw_ini_next(struct spw_ini *ini);

#endif
