/* SPDX-License-Identifier: BSD-3-Clause */
/* lost.c -- telling what cannot be read from the tiers of a segment */
#include "tools/lost.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "planner/losses.h"
#include "shm/diag.h"

static_assert(SPW_SEG_LOSSES <= 32, "a bit for each");

static const char *
reason(const struct spw_lost *lost)
{
	return lost->err == EBADMSG ? "damaged" : spw_diag_errno(lost->err);
}

uint32_t
spw_lost_tell(const struct spw_map *map, bool color,
	      uint32_t *told)
{
	struct spw_lost lost;
	struct spw_diag d;
	uint32_t n = 0;

	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++) {
		if (!spw_loss_look(map, i, &lost))
			continue;
		n++;
		if (*told >> i & 1)
			continue;
		*told |= 1u << i;
		spw_diag_begin(&d, SPW_WARNING, SPW_W169);
		spw_diag_subject(&d, "%e", lost.path);
		spw_diag_cause(&d, "bytes %l to %l, %e: %s", lost.from,
			       lost.to, lost.where, reason(&lost));
		spw_diag_print(&d, color, STDERR_FILENO);
	}
	return n;
}

void
spw_lost_put(struct spw_json *j, const struct spw_map *map)
{
	struct spw_lost lost;

	spw_json_open(j, "lost", '[');
	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++) {
		if (!spw_loss_look(map, i, &lost))
			continue;
		spw_json_open(j, NULL, '{');
		spw_json_string(j, "path", lost.path);
		spw_json_number(j, "from", lost.from);
		spw_json_number(j, "to", lost.to);
		spw_json_number(j, "bytes", lost.bytes);
		spw_json_string(j, "where", lost.where);
		spw_json_string(j, "error", reason(&lost));
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
}
