# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tiers/: places that hold bytes, and the codecs for them

# Linked into the engine and the command.
tiers_sources = \
	tiers/bb.c \
	tiers/codec-none.c \
	tiers/codec.c \
	tiers/codec.h \
	tiers/crew.c \
	tiers/crew.h \
	tiers/features.c \
	tiers/features.h \
	tiers/io-threads.c \
	tiers/io-way.h \
	tiers/io.c \
	tiers/io.h \
	tiers/module.c \
	tiers/module.h \
	tiers/nvme-clean.c \
	tiers/nvme-list.c \
	tiers/nvme-log.c \
	tiers/nvme-sync.c \
	tiers/nvme.c \
	tiers/nvme.h \
	tiers/object-layout.h \
	tiers/object.c \
	tiers/object.h \
	tiers/packer.c \
	tiers/share.c \
	tiers/share.h \
	tiers/tier.c \
	tiers/tier.h

# Libraries of the engine itself; what only a module needs stays with it.
back_libs = $(LIBURING_LIBS) $(CJSON_LIBS) -lm
back_cflags = $(LIBURING_CFLAGS) $(CJSON_CFLAGS)

if HAVE_LIBURING
tiers_sources += tiers/io-uring.c
endif

# Modules, each with the library it is for.

if HAVE_LZ4
spillway_modules += codec-lz4.la
codec_lz4_la_SOURCES = tiers/codec-lz4.c
codec_lz4_la_CPPFLAGS = $(AM_CPPFLAGS) $(LZ4_CFLAGS)
codec_lz4_la_LDFLAGS = $(module_ldflags)
codec_lz4_la_LIBADD = $(LZ4_LIBS)
endif

if HAVE_ZSTD
spillway_modules += codec-zstd.la
codec_zstd_la_SOURCES = tiers/codec-zstd.c
codec_zstd_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
codec_zstd_la_LDFLAGS = $(module_ldflags)
codec_zstd_la_LIBADD = $(ZSTD_LIBS)
endif

if HAVE_BROTLI
spillway_modules += codec-brotli.la
codec_brotli_la_SOURCES = tiers/codec-brotli.c
codec_brotli_la_CPPFLAGS = $(AM_CPPFLAGS) $(BROTLI_CFLAGS)
codec_brotli_la_LDFLAGS = $(module_ldflags)
codec_brotli_la_LIBADD = $(BROTLI_LIBS)
endif

if TILEDB_MODULE
spillway_modules += tiledb.la
tiledb_la_SOURCES = \
	tiers/tiledb-api.h \
	tiers/tiledb-lib.c \
	tiers/tiledb-lib.h \
	tiers/tiledb.c
tiledb_la_LDFLAGS = $(module_ldflags)
endif

man_pages += \
	tiers/spillway-codecs.7
