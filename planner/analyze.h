/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.h -- what kind of data a block holds, guessed from a few samples */

#ifndef SPW_PLANNER_ANALYZE_H
#define SPW_PLANNER_ANALYZE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum spw_data_kind {
	SPW_DATA_UNKNOWN,		/* in a label; never a result */
	SPW_DATA_BYTES,			/* none of the following */
	SPW_DATA_ZERO,
	SPW_DATA_REPEATED,		/* a pattern, or page after page */
	SPW_DATA_TEXT,
	SPW_DATA_PACKED,		/* compressed, encrypted or random */
	SPW_DATA_INTEGER,		/* of 2, 4 or 8 bytes */
	SPW_DATA_FLOAT,			/* of 4 or 8 bytes */
	SPW_DATA_KINDS
};

enum spw_data_shape {			/* how the numbers are distributed */
	SPW_SHAPE_UNKNOWN,		/* no floats, records, or too few */
	SPW_SHAPE_OTHER,
	SPW_SHAPE_UNIFORM,
	SPW_SHAPE_NORMAL,
	SPW_SHAPE_EXPONENTIAL,
	SPW_SHAPE_GAMMA,
	SPW_SHAPES
};

enum spw_data_format {			/* by the first bytes of the file */
	SPW_FORMAT_UNKNOWN,
	SPW_FORMAT_HDF5,
	SPW_FORMAT_NETCDF,		/* classic; newer ones are HDF5 */
	SPW_FORMAT_FITS,
	SPW_FORMAT_NPY,
	SPW_FORMAT_TIFF,
	SPW_FORMAT_GRIB,
	SPW_FORMAT_PARQUET,
	SPW_FORMAT_AVRO,
	SPW_FORMAT_ROOT,
	SPW_FORMAT_SQLITE,
	SPW_FORMAT_ELF,
	SPW_FORMAT_PDF,
	SPW_FORMAT_GZIP,
	SPW_FORMAT_BZIP2,
	SPW_FORMAT_XZ,
	SPW_FORMAT_ZSTD,
	SPW_FORMAT_LZ4,
	SPW_FORMAT_ZIP,
	SPW_FORMAT_7Z,
	SPW_FORMAT_PNG,
	SPW_FORMAT_JPEG,
	SPW_FORMAT_GIF,
	SPW_FORMAT_WEBP,
	SPW_FORMATS
};

/* A key: blocks with equal traits are expected to pack alike. */
struct spw_traits {
	uint8_t kind;			/* enum spw_data_kind */
	uint8_t width;			/* of a number; 0: there are none */
	uint8_t stride;			/* of a record, 2 to 255; 0: none */
	uint8_t shape;			/* enum spw_data_shape */
	uint8_t format;			/* enum spw_data_format */
	uint8_t zeros;			/* quarters of the block */
	uint8_t steps;			/* 0: unknown; 1: as large as the
					 * numbers; 2: smaller; 3: tiny */
	uint8_t is_big;			/* numbers are big-endian */
};
static_assert(sizeof(struct spw_traits) == 8, "used as a key");

static inline uint64_t
spw_traits_key(const struct spw_traits *t)
{
	uint64_t key;

	memcpy(&key, t, sizeof(key));
	return key;
}

/* Look at n bytes that lie at `offset` of their file.  The cost does not grow
 * with n: about two kilobytes are read.  Of less than one, only format and
 * zeros are found.  What the caller knows
 * comes in label (NULL: nothing): its kind, with width, stride and is_big,
 * and its format are taken over as they are, where they are not 0.  Any
 * thread; cannot fail.
 */
void spw_analyze(const void *data, size_t n, uint64_t offset,
		 const struct spw_traits *label,
		 struct spw_traits *ret_traits);

/* "float", "normal", "hdf5", ...; "?" out of range. */
const char *spw_data_kind_name(unsigned int kind);
const char *spw_data_shape_name(unsigned int shape);
const char *spw_data_format_name(unsigned int format);

#endif
