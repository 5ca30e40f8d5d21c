/* SPDX-License-Identifier: BSD-3-Clause */
/* codec.h -- what packs bytes: the shape of a codec, and which there are */

#ifndef SPW_TIERS_CODEC_H
#define SPW_TIERS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/codecs.h"
#include "tiers/module.h"

/* The largest piece, packed or not, that goes through a codec at once.  Ours
 * are at most a few MiB; the limit keeps libraries that count in int safe.
 */
#define SPW_CODEC_MAX ((size_t)1 << 30)

/* A codec at a level that is worth choosing. */
struct spw_codec_choice {
	uint8_t id;
	int8_t level;
	uint16_t speed;			/* of packing, MB/s, on most data and
					 * machines within a factor of four */
	bool columns;			/* the level for text in columns, of
					 * which others make no less */
};

struct spw_codec {
	uint8_t id;
	const char *name;		/* as in +name=level of a tier */

	/* Every level from min to max works; a higher one takes longer to
	 * pack smaller.  default_level is for a drainer that has to keep up.
	 * min and max are those of the line in shm/codecs.h.
	 */
	int min_level, max_level, default_level;

	/* What the planner chooses from, with a speed of 0 behind the last. */
	const struct spw_codec_choice *choices;

	/* encode never answers -E2BIG when cap is at least this. */
	size_t (*bound)(size_t n);

	/* Scratch memory for encode and decode, of any level.  One per
	 * thread, made once and used again (spw_codec_ctx does both); NULL:
	 * no memory.
	 */
	void *(*ctx_new)(void);
	void (*ctx_free)(void *ctx);	/* takes NULL */

	/* Packs n bytes into at most cap.  Bytes used, or -E2BIG if that is
	 * not enough (call with cap < n and store raw then), or -ENOMEM.  The
	 * output can be unpacked without knowing the level.
	 */
	int64_t (*encode)(void *ctx, int level, void *dst, size_t cap,
			  const void *src, size_t n);

	/* Unpacks n bytes, which must yield exactly len.  0, or -EBADMSG
	 * for anything else (too short, too long, damaged, followed by more),
	 * or -ENOMEM.  Never reads outside src or writes outside dst,
	 * whatever the bytes are; a failure may leave anything in dst.
	 * Damage is not always seen, the checksum of the block is for that.
	 */
	int (*decode)(void *ctx, void *dst, size_t len, const void *src,
		      size_t n);
};

/* Call codecs through these: they check what is the same for all.  A level
 * out of range or a piece above SPW_CODEC_MAX is -EINVAL; a stored length
 * above it is -EBADMSG.
 */
int64_t spw_codec_encode(const struct spw_codec *codec, void *ctx, int level,
			 void *dst, size_t cap, const void *src, size_t n);
int spw_codec_decode(const struct spw_codec *codec, void *ctx, void *dst,
		     size_t len, const void *src, size_t n);

/* The calling thread's own context for a codec: made when first asked for,
 * the same from then on, freed when the thread ends.  NULL: no memory, ask
 * again later.
 */
void *spw_codec_ctx(const struct spw_codec *codec);

/* Free the calling thread's contexts now, for a thread that goes idle. */
void spw_codec_ctx_drop(void);

/* A codec we know of, and whether it can be used here. */
struct spw_codec_slot {
	uint8_t id;
	const char *name;
	const struct spw_codec *codec;		/* NULL: not to be had */
	struct spw_finding finding;		/* library in use, or why not */
	int error;				/* -ENOENT: it was not built */
};

/* Open what there is in the module directory (NULL: look for it, see
 * spw_module_dir).  Call it once, before other threads ask for codecs; a
 * second call looks again for those still missing.  Returns how many codecs
 * can be used; "none" always can, also before this call.
 */
int spw_codec_load(const char *module_dir);

/* All we know of, present or not, by id; NULL past the last. */
const struct spw_codec_slot *spw_codec_slot(size_t i);

/* NULL: not known, or not to be had here (its slot says why). */
const struct spw_codec *spw_codec_by_id(uint8_t id);
const struct spw_codec *spw_codec_by_name(const char *name);

/* The choices of all codecs that can be used; NULL past the last.  Number 0
 * packs nothing.
 */
const struct spw_codec_choice *spw_codec_pool(size_t i);

extern const struct spw_codec spw_codec_none;

#endif
