/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.h -- what matters to the user: time to pack, space, time to read */

#ifndef SPW_SHM_WEIGHTS_H
#define SPW_SHM_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#define SPW_WEIGHTS_WHY 128		/* room for a line why not */
#define SPW_WEIGHTS_LEN 64		/* bytes of a text, with its end */

/* Three shares of one whole.  What each of them weighs is in
 * planner/choose.h.
 */
struct spw_weights {
	double compress;
	double ratio;
	double decompress;
};

/* The presets, by name; NULL past the last. */
const char *spw_weights_name(size_t i);

/* A preset's name, or three numbers "COMPRESS,RATIO,DECOMPRESS" that add up
 * to 1.  -EINVAL for anything else, with one line for people in why, which
 * has room for cap bytes; *ret is untouched then.
 */
int spw_weights_parse(const char *text, struct spw_weights *ret, char *why,
		      size_t cap);

/* The same check for numbers that came another way; they are made to add up
 * to exactly 1, as 0.333 three times does not.
 */
int spw_weights_check(struct spw_weights *w, char *why, size_t cap);

/* The three in one word, to a millionth, so that one store changes them; any
 * word that is none of these is balanced.
 */
uint64_t spw_weights_pack(const struct spw_weights *w);
void spw_weights_unpack(uint64_t word, struct spw_weights *ret);

#endif
