/* SPDX-License-Identifier: BSD-3-Clause */
/* module-old.c -- a module from before the first version, to be refused */

#include "tiers/module.h"

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI - 1,
	.name = "codec-lz4",
};
