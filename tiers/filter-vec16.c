/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-vec16.c -- the loops of the prefilters with vectors of 16 bytes */

#include "tiers/filter-way.h"

#ifdef SPW_FILTER_VECTORS

#define V 16
#define TARGET
#define WAY spw_filter_vec16
#ifdef __x86_64__
#define NAME "sse2"		/* every processor of this kind has it */
#else
#define NAME "16-byte vectors"
#endif
#define REST spw_filter_portable

#include "tiers/filter-vec.h"

#endif
