/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-format.c -- file formats by their first bytes */

#include "planner/analyze-parts.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct signature {
	uint8_t format;
	uint8_t len;
	const char *bytes;
} signatures[] = {
#define S(format, bytes) { SPW_FORMAT_##format, sizeof(bytes) - 1, bytes }
	S(HDF5, "\x89HDF\r\n\x1a\n"),
	S(NETCDF, "CDF\1"), S(NETCDF, "CDF\2"), S(NETCDF, "CDF\5"),
	S(FITS, "SIMPLE  ="),
	S(NPY, "\x93NUMPY"),
	S(TIFF, "II*\0"), S(TIFF, "MM\0*"), S(TIFF, "II+\0"),
	S(GRIB, "GRIB"),
	S(PARQUET, "PAR1"),
	S(AVRO, "Obj\1"),
	S(ROOT, "root\0"),
	S(SQLITE, "SQLite format 3\0"),
	S(ELF, "\x7f" "ELF"),
	S(PDF, "%PDF-"),
	S(GZIP, "\x1f\x8b\x08"),
	S(BZIP2, "BZh"),
	S(XZ, "\xfd" "7zXZ\0"),
	S(ZSTD, "\x28\xb5\x2f\xfd"),
	S(LZ4, "\x04\x22\x4d\x18"),
	S(ZIP, "PK\3\4"),
	S(7Z, "7z\xbc\xaf\x27\x1c"),
	S(PNG, "\x89PNG\r\n\x1a\n"),
	S(JPEG, "\xff\xd8\xff"),
	S(GIF, "GIF87a"), S(GIF, "GIF89a"),
#undef S
};

/* RIFF holds other things as well; the length stands between. */
static bool
is_webp(const uint8_t *p, size_t n)
{
	return n >= 12 && !memcmp(p, "RIFF", 4) && !memcmp(p + 8, "WEBP", 4);
}

static bool
has_signature(const uint8_t *p, size_t n, const struct signature *s)
{
	return n >= s->len && p[0] == (uint8_t)s->bytes[0] &&
	       !memcmp(p, s->bytes, s->len);
}

/* Behind a block of the user's own, as in files of MATLAB. */
static bool
is_late_hdf5(const uint8_t *p, size_t n)
{
	size_t at;

	for (at = 512; at <= 2048 && at < n; at *= 2)
		if (has_signature(p + at, n - at, &signatures[0]))
			return true;
	return false;
}

uint8_t
spw_analyze_format(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++)
		if (has_signature(p, n, &signatures[i]))
			return signatures[i].format;
	if (is_webp(p, n))
		return SPW_FORMAT_WEBP;
	return is_late_hdf5(p, n) ? SPW_FORMAT_HDF5 : SPW_FORMAT_UNKNOWN;
}

bool
spw_analyze_is_packed(uint8_t format)
{
	return format >= SPW_FORMAT_GZIP && format <= SPW_FORMAT_WEBP;
}

const char *
spw_data_format_name(unsigned int format)
{
	static const char *const names[SPW_FORMATS] = {
		"unknown", "hdf5", "netcdf", "fits", "npy", "tiff", "grib",
		"parquet", "avro", "root", "sqlite", "elf", "pdf", "gzip",
		"bzip2", "xz", "zstd", "lz4", "zip", "7z", "png", "jpeg",
		"gif", "webp",
	};

	return format < SPW_FORMATS ? names[format] : "?";
}
