/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h -- prefilters: bytes put in an order that packs better */

/* A filter changes the order of bytes, or replaces values by differences,
 * and never their number.  It sees a block as elements of `width` bytes:
 *
 *   shuffle       first all first bytes, then all second bytes, ...
 *   bitshuffle    first the lowest bits of all first bytes, 8 to a byte, the
 *                 first element's bit lowest; then the next bits, ...
 *   delta         the difference to the element before, of little-endian
 *                 integers, folded so that 0 -1 1 -2 2 become 0 1 2 3 4
 *   xor-delta     the xor with the element before
 *
 * and combinations that do one and then the other; those that are called big
 * take integers of the other, big-endian, order, and leave what a delta of
 * little-endian ones would.  The element before the first is 0.  What is left at the end, less than an element (with bitshuffle
 * less than 8 elements), stays as it is.  One is for text, and sees lines:
 *
 *   columns       of each 32768 bytes first the first bytes of the first
 *                 fields of all lines, then their second bytes as long as the
 *                 fields have any, ...; then the second fields likewise, ...
 *
 * A field is over with the first of , . : ; tab and newline in it, or with a
 * space unless there are only spaces before; a line is over with its newline.
 * What follows the last newline stays as it is, and so do 32768 bytes with
 * more than 3700 lines.
 */

#ifndef SPW_TIERS_FILTER_H
#define SPW_TIERS_FILTER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored with every packed block.  A number keeps its meaning for good. */
enum spw_filter_id {
	SPW_FILTER_NONE = 0,
	SPW_FILTER_SHUFFLE = 1,
	SPW_FILTER_BITSHUFFLE = 2,
	SPW_FILTER_DELTA = 3,
	SPW_FILTER_XOR = 4,
	SPW_FILTER_DELTA_SHUFFLE = 5,
	SPW_FILTER_XOR_SHUFFLE = 6,
	SPW_FILTER_DELTA_BITSHUFFLE = 7,
	SPW_FILTER_COLUMNS = 8,
	SPW_FILTER_BIG_DELTA_SHUFFLE = 9,
	SPW_FILTER_BIG_DELTA_BITSHUFFLE = 10,
	SPW_FILTERS
};

/* Widths: 0 for none; 2 to 255 for shuffle, 1 to 255 for bitshuffle, so that
 * whole records are fine; 1, 2, 4 and 8 for delta and xor-delta; 2, 4 and 8
 * for those followed by shuffle and for big ones; 1 for columns.
 */
struct spw_filter_spec {
	uint8_t id;
	uint8_t width;
};
static_assert(sizeof(struct spw_filter_spec) == 2, "stored in objects");

bool spw_filter_is_known(const struct spw_filter_spec *f);

/* "shuffle", "delta+bitshuffle", ...; NULL: no such number. */
const char *spw_filter_name(uint8_t id);

/* n bytes from src to dst, which must not overlap.  0, or -EINVAL for a
 * filter that is not known.  Any thread, any alignment, any n; uses 50 KiB
 * of stack and no other memory.  undo(apply(x)) == x, and what apply yields
 * is the same on every machine.
 */
int spw_filter_apply(const struct spw_filter_spec *f, void *dst,
		     const void *src, size_t n);
int spw_filter_undo(const struct spw_filter_spec *f, void *dst,
		    const void *src, size_t n);

#endif
