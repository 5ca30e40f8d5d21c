/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-avx2.c -- the loops of the prefilters with vectors of 32 bytes */

#include "tiers/filter-way.h"

#if defined(SPW_FILTER_VECTORS) && defined(__x86_64__)

#define V 32
#define TARGET __attribute__((target("avx2")))
#define WAY spw_filter_avx2
#define NAME "avx2"
#define REST spw_filter_vec16

#include "tiers/filter-vec.h"

#endif
