/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-columns.h -- lines of text as columns, each written from its top down */

#ifndef SPW_TIERS_FILTER_COLUMNS_H
#define SPW_TIERS_FILTER_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/* As filter.h has it; 37 KiB are on the stack.  Of bytes that no text became,
 * something is made.
 */
void spw_filter_apply_columns(uint8_t *dst, const uint8_t *src, size_t n);
void spw_filter_undo_columns(uint8_t *dst, const uint8_t *src, size_t n);

#endif
