/* SPDX-License-Identifier: BSD-3-Clause */
/* crc32c.h -- the checksum of everything we store */

#ifndef SPW_SHM_CRC32C_H
#define SPW_SHM_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, as in iSCSI and ext4).  Start with crc 0; pass the
 * result on to continue, so a run may be summed in any pieces:
 * crc(crc(0, a), b) == crc(0, ab).  Any alignment, n may be 0.  Allocates
 * nothing, locks nothing, needs no constructor: safe in any thread, at any
 * time, also before main and after fork.
 */
uint32_t spw_crc32c(uint32_t crc, const void *buf, size_t n);

/* One way of computing it.  All give the same result. */
struct spw_crc32c_way {
	const char *name;	/* "sse4.2+pclmul", "sse4.2", "portable" */
	uint32_t (*sum)(uint32_t crc, const void *buf, size_t n);
};

/* The ways this processor can go, fastest first; NULL past the last.
 * spw_crc32c takes number 0, and there always is one.
 */
const struct spw_crc32c_way *spw_crc32c_way(size_t i);

#endif
