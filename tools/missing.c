/* SPDX-License-Identifier: BSD-3-Clause */
/* missing.c -- bytes that a segment has in tiers, and no tier has */
#include "tools/missing.h"

#include <string.h>
#include <unistd.h>

#include "shm/names.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tools/parts.h"

enum { AGAIN_US = 300000 };

struct teller {
	struct spw_json *j;
	bool color;
	uint64_t n;
	char path[SPW_FILE_PATH];
};

static void
tell(struct teller *t, uint64_t from, uint64_t to)
{
	struct spw_diag d;

	t->n++;
	spw_diag_begin(&d, SPW_WARNING, SPW_W169);
	spw_diag_subject(&d, "%e", t->path);
	spw_diag_cause(&d, "bytes %l to %l: went down to the tiers, and none "
		       "has them", from, to);
	spw_diag_print(&d, t->color, STDERR_FILENO);
	if (!t->j)
		return;
	spw_json_open(t->j, NULL, '{');
	spw_json_string(t->j, "path", t->path);
	spw_json_number(t->j, "from", from);
	spw_json_number(t->j, "to", to);
	spw_json_close(t->j, '}');
}

static bool
is_missing(const struct spw_parts *p, size_t i)
{
	return p->part[i].where == SPW_PART_TIER &&
	       p->part[i].object == SPW_NONE && !p->blind;
}

/* What is missing in both pictures. */
static void
compare(struct teller *t, const struct spw_parts *a, const struct spw_parts *b)
{
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		const struct spw_part *x = &a->part[i], *y = &b->part[k];
		uint64_t from = SPW_MAX(x->from, y->from);
		uint64_t to = SPW_MIN(x->to, y->to);

		if (from < to && is_missing(a, i) && is_missing(b, k))
			tell(t, from, to);
		if (x->to <= y->to)
			i++;
		else
			k++;
	}
}

static bool
is_any_missing(const struct spw_parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_missing(p, i))
			return true;
	return false;
}

static void
look_at(struct spw_segment *s, uint32_t file, struct teller *t)
{
	const struct spw_file *f = &s->map.files[file];
	const struct spw_file_id id = { f->dev, f->ino };
	struct spw_parts first, again;

	if (!spw_name_copy(f, 0, t->path))
		strcpy(t->path, "?");
	if (spw_parts_find(&s->map, &id, &first) < 0)
		return;
	if (is_any_missing(&first)) {
		if (s->state != SPW_SEGMENT_DEAD)
			spw_sys_sleep_us(AGAIN_US);
		if (spw_parts_find(&s->map, &id, &again) == 0) {
			compare(t, &first, &again);
			spw_parts_free(&again);
		}
	}
	spw_parts_free(&first);
}

uint64_t
spw_missing_tell(struct spw_segment *s, bool color, struct spw_json *j)
{
	struct spw_map *map = &s->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);
	struct teller t = { .j = j, .color = color };

	if (j)
		spw_json_open(j, "missing", '[');
	for (uint32_t i = 0; i < ready; i++)
		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		    SPW_IN_USE && atomic_load(&map->files[i].nchunks))
			look_at(s, i, &t);
	if (j)
		spw_json_close(j, ']');
	return t.n;
}
