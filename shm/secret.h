/* SPDX-License-Identifier: BSD-3-Clause */
/* secret.h -- find what looks like a password, so that it is never shown */

#ifndef SPW_SHM_SECRET_H
#define SPW_SHM_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The next stretch of s at or behind `from` that looks like a secret: the
 * part before the @ of an address (user:password@host), or the value of a
 * key that sounds like one (password= secret= token= key= ...).  Rather too
 * much than too little: what it finds is refused, and masked in messages.
 * Never empty, so that a loop over all of them ends.
 */
bool spw_secret_find(const char *s, size_t n, size_t from, size_t *ret_at,
		     size_t *ret_len);

#endif
