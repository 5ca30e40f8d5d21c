/* SPDX-License-Identifier: BSD-3-Clause */
/* keeping.c -- what a job leaves in the tiers, and what it does not */
#include "tools/keeping.h"

#include <string.h>
#include <unistd.h>

#include "shm/diag.h"
#include "shm/files.h"
#include "shm/util.h"

enum { SHOWN = 3 };			/* files, unless -v */

static const char *const reasons[SPW_KEEP_COUNT] = {
	[SPW_KEEP_PARTLY] = "some of it is home already",
	[SPW_KEEP_NO_TIER] = "there is no tier that survives a reboot",
	[SPW_KEEP_NO_ATTR] = "its file system takes no attribute that would "
			     "tell where it is",
	[SPW_KEEP_FOREIGN] = "it belongs to somebody else",
	[SPW_KEEP_NO_ROOM] = "the tiers have no room, or do not answer",
	[SPW_KEEP_NEEDED] = "somebody needs it there",
};

static bool
is_in_use(const struct spw_map *map, uint32_t file)
{
	return atomic_load(&map->owners[SPW_POOL_FILES][file]) & SPW_IN_USE &&
	       !(atomic_load(&map->files[file].flags) & SPW_FILE_UNLINKED);
}

void
spw_keeping_count(const struct spw_map *map, struct spw_keeping *ret)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	*ret = (struct spw_keeping){ 0 };
	for (uint32_t i = 0; i < ready; i++)
		if (is_in_use(map, i) && atomic_load(&map->files[i].keep) ==
		    SPW_KEEP_STUB) {
			ret->files++;
			ret->bytes += atomic_load(&map->files[i].size);
		}
}

static void
report(const struct spw_file *f, uint32_t why, bool color)
{
	char path[SPW_FILE_PATH];
	struct spw_diag d;

	memcpy(path, f->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	spw_diag_begin(&d, SPW_WARNING, SPW_W118);
	spw_diag_subject(&d, "%e", path);
	spw_diag_cause(&d, "is not kept, it goes home: %s", reasons[why]);
	spw_diag_print(&d, color, STDERR_FILENO);
}

void
spw_keeping_report(const struct spw_map *map, bool color, unsigned verbose)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);
	unsigned told = 0;
	struct spw_diag d;

	for (uint32_t i = 0; i < ready; i++) {
		uint32_t why = atomic_load(&map->files[i].keep);

		if (!is_in_use(map, i) || why >= SPW_KEEP_COUNT ||
		    !reasons[why])
			continue;
		if (verbose || told < SHOWN)
			report(&map->files[i], why, color);
		told++;
	}
	if (verbose || told <= SHOWN)
		return;
	spw_diag_begin(&d, SPW_WARNING, SPW_W118);
	spw_diag_subject(&d, "%u more files", told - SHOWN);
	spw_diag_cause(&d, "are not kept; -v names them");
	spw_diag_print(&d, color, STDERR_FILENO);
}
