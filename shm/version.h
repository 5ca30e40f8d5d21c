/* SPDX-License-Identifier: BSD-3-Clause */
/* version.h -- which release this object was built from */

#ifndef SPW_SHM_VERSION_H
#define SPW_SHM_VERSION_H

/* For example "0.1.0"; static storage. */
const char *spw_version(void);

#endif
