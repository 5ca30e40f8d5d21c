/* SPDX-License-Identifier: BSD-3-Clause */
/* features.c -- lists optional parts */

#include "tiers/features.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "shm/crc32c.h"
#include "tiers/codec.h"
#include "tiers/module.h"
#include "tiers/pmem-calls.h"

static int
each_codec(const char *dir, spw_feature_cb *cb, void *arg)
{
	const struct spw_codec_slot *slot;
	size_t i;
	int r;

	(void)spw_codec_load(dir);
	for (i = 0; (slot = spw_codec_slot(i)); i++) {
		r = cb(&(struct spw_feature){
			.kind = "codec",
			.name = slot->name,
			.present = slot->codec,
			.detail = slot->finding.text,
			.hint = slot->finding.hint,
		}, arg);
		if (r)
			return r;
	}
	return 0;
}

static int
tiledb(const char *dir, spw_feature_cb *cb, void *arg)
{
	const struct spw_module *module;
	struct spw_finding finding;
	bool present = !spw_module_open(dir, "tiledb", &module, &finding);

	return cb(&(struct spw_feature){
		.kind = "library",
		.name = "tiledb",
		.present = present,
		.detail = finding.text,
		.hint = finding.hint,
	}, arg);
}

static int
pmem(const char *dir, spw_feature_cb *cb, void *arg)
{
	const struct spw_pmem_calls *calls;
	struct spw_finding finding;
	bool present = !spw_pmem_load(dir, &calls, &finding);

	return cb(&(struct spw_feature){
		.kind = "tier",
		.name = "pmem",
		.present = present,
		.detail = finding.text,
		.hint = finding.hint,
	}, arg);
}

static int
checksum(spw_feature_cb *cb, void *arg)
{
	return cb(&(struct spw_feature){
		.kind = "checksum",
		.name = "crc32c",
		.present = true,
		.detail = spw_crc32c_way(0)->name,
	}, arg);
}

int
spw_features_each(const char *module_dir, spw_feature_cb *cb, void *arg)
{
	char dir[PATH_MAX];
	int r;

	r = spw_module_dir(module_dir, dir, sizeof(dir));
	if (r < 0)
		return r;
	r = checksum(cb, arg);
	if (!r)
		r = each_codec(dir, cb, arg);
	if (!r)
		r = pmem(dir, cb, arg);
	if (!r)
		r = tiledb(dir, cb, arg);
	return r;
}

static int
print(const struct spw_feature *f, void *arg)
{
	int *fd = arg;

	if (dprintf(*fd, "%-9s %-7s %-3s  %s\n", f->kind, f->name,
		    f->present ? "yes" : "no", f->detail) < 0)
		return -errno;
	if (f->hint &&
	    dprintf(*fd, "%-22s hint: %s\n", "", f->hint) < 0)
		return -errno;
	return 0;
}

int
spw_features_print(int fd, const char *module_dir)
{
	return spw_features_each(module_dir, print, &fd);
}
