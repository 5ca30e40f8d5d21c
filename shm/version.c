/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c -- which release this object was built from */

#include "config.h"

#include "shm/version.h"

const char *
spw_version(void)
{
	return PACKAGE_VERSION;
}
