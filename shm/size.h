/* SPDX-License-Identifier: BSD-3-Clause */
/* size.h -- read numbers, sizes, durations and booleans, one way for all */

#ifndef SPW_SHM_SIZE_H
#define SPW_SHM_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_DURATION_NONE UINT64_MAX	/* spelled "none": wait for ever */

/*
 * Each reads the n bytes at s, all of them, and returns 0 or
 *   -EINVAL  not understood
 *   -ERANGE  understood, but too large for 64 bits
 *   -EDOM    a number without a unit (sizes and durations; a bare 0 is fine)
 * The result is untouched on failure.
 */

/* Decimal digits only. */
int spw_size_number(const char *s, size_t n, uint64_t *ret_value);

/*
 * Bytes by the GNU rule: K M G T P E and Ki or KiB .. are powers of 1024,
 * KB .. are powers of 1000, B is one byte; the letter may be lower case,
 * decimals are allowed (1.5G) and rounded down to a byte.
 */
int spw_size_bytes(const char *s, size_t n, uint64_t *ret_bytes);

/* Nanoseconds: ns us ms s m (or min) h d, decimals allowed, or "none". */
int spw_size_duration(const char *s, size_t n, uint64_t *ret_ns);

/* A whole number from 1 to 100 followed by a percent sign. */
int spw_size_percent(const char *s, size_t n, unsigned *ret_percent);

/* yes no, true false, on off, 1 0, in any case. */
int spw_size_boolean(const char *s, size_t n, bool *ret_value);

/* ASCII only, whatever the locale. */
bool spw_size_same_word(const char *s, size_t n, const char *word);

#endif
