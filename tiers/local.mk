# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tiers/: places that hold bytes, and the codecs for them

# Linked into the engine and the command.
tiers_sources = \
	tiers/apart-parts.h \
	tiers/apart-thread.c \
	tiers/apart.c \
	tiers/apart.h \
	tiers/bb.c \
	tiers/bell.c \
	tiers/codec-ctx.c \
	tiers/codec-none.c \
	tiers/codec.c \
	tiers/codec.h \
	tiers/cpu.h \
	tiers/crew.c \
	tiers/crew.h \
	tiers/extents.c \
	tiers/extents.h \
	tiers/features.c \
	tiers/features.h \
	tiers/filter-avx2.c \
	tiers/filter-columns.c \
	tiers/filter-columns.h \
	tiers/filter-portable.c \
	tiers/filter-vec.h \
	tiers/filter-vec16.c \
	tiers/filter-way.h \
	tiers/filter.c \
	tiers/filter.h \
	tiers/io-threads.c \
	tiers/io-way.h \
	tiers/io.c \
	tiers/io.h \
	tiers/module.c \
	tiers/module.h \
	tiers/needs.c \
	tiers/needs.h \
	tiers/nvme-clean.c \
	tiers/nvme-drops.c \
	tiers/nvme-gather.c \
	tiers/nvme-list.c \
	tiers/nvme-log.c \
	tiers/nvme-room.c \
	tiers/nvme-sync.c \
	tiers/nvme-way.c \
	tiers/nvme.c \
	tiers/nvme.h \
	tiers/object-layout.h \
	tiers/object.c \
	tiers/object.h \
	tiers/packer.c \
	tiers/pmem-calls.h \
	tiers/pmem-clean.c \
	tiers/pmem-layout.h \
	tiers/pmem-list.c \
	tiers/pmem-load.c \
	tiers/pmem-log.c \
	tiers/pmem-log.h \
	tiers/pmem.c \
	tiers/pmem.h \
	tiers/roll.c \
	tiers/roll.h \
	tiers/share.c \
	tiers/share.h \
	tiers/thread.c \
	tiers/thread.h \
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

if HAVE_DEFLATE
spillway_modules += codec-deflate.la
codec_deflate_la_SOURCES = tiers/codec-deflate.c
codec_deflate_la_CPPFLAGS = $(AM_CPPFLAGS) $(DEFLATE_CFLAGS)
codec_deflate_la_LDFLAGS = $(module_ldflags)
codec_deflate_la_LIBADD = $(DEFLATE_LIBS)
endif

if HAVE_LZMA
spillway_modules += codec-lzma.la
codec_lzma_la_SOURCES = tiers/codec-lzma.c
codec_lzma_la_CPPFLAGS = $(AM_CPPFLAGS) $(LZMA_CFLAGS)
codec_lzma_la_LDFLAGS = $(module_ldflags)
codec_lzma_la_LIBADD = $(LZMA_LIBS)
endif

if HAVE_LIBPMEM
spillway_modules += tier-pmem.la
tier_pmem_la_SOURCES = tiers/pmem-lib.c
tier_pmem_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBPMEM_CFLAGS)
tier_pmem_la_LDFLAGS = $(module_ldflags)
tier_pmem_la_LIBADD = $(LIBPMEM_LIBS)
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
	tiers/spillway-codecs.7 \
	tiers/spillway-objects.7
