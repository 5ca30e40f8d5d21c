/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.h -- what this processor can do */
#ifndef SPW_TIERS_CPU_H
#define SPW_TIERS_CPU_H

#include <stdbool.h>

static inline bool
spw_has_avx2(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

#endif
