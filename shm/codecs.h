/* SPDX-License-Identifier: BSD-3-Clause */
/* codecs.h -- the codecs there are: one line each, for grammar and storage */

#ifndef SPW_SHM_CODECS_H
#define SPW_SHM_CODECS_H

/*
 * X(C name, number, name, lowest level, highest level)
 *
 * The number is stored with every packed block.  It keeps its meaning for
 * good: it is never changed and never given to another codec, also not when
 * a codec is dropped or its format would change.  A new line takes the next
 * number.  Beside these there is "none", number 0, which needs no module.
 */
#define SPW_CODEC_LINES(X)		\
	X(LZ4, 1, "lz4", -64, 12)	\
	X(ZSTD, 2, "zstd", -5, 19)	\
	X(BROTLI, 3, "brotli", 0, 11)	\
	X(DEFLATE, 4, "deflate", 1, 12)	\
	X(LZMA, 5, "lzma", 0, 9)

enum spw_codec_id {
	SPW_CODEC_NONE = 0,
#define X(c, number, name, low, high) SPW_CODEC_##c = number,
	SPW_CODEC_LINES(X)
#undef X
	SPW_CODECS
};

enum spw_codec_level {			/* SPW_ZSTD_LOW, SPW_ZSTD_HIGH, ... */
#define X(c, number, name, low, high) \
	SPW_##c##_LOW = low, SPW_##c##_HIGH = high,
	SPW_CODEC_LINES(X)
#undef X
};

#endif
