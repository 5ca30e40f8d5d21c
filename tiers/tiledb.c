/* SPDX-License-Identifier: BSD-3-Clause */
/* tiledb.c -- module tiledb: is there a TileDB library to use */

#include "tiers/tiledb-lib.h"

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	struct spw_tiledb lib;

	return spw_tiledb_open(dir, &lib, ret_finding);
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "tiledb",
	.probe = probe,
};
