/* SPDX-License-Identifier: BSD-3-Clause */
/* stubmark.h -- by what a stub is known to who makes it and who meets it */
#ifndef SPW_SHM_STUBMARK_H
#define SPW_SHM_STUBMARK_H

#define SPW_STUB_ATTR	"user.spillway.kept"

/* What is to be read in it begins so. */
#define SPW_STUB_NOTICE	"spillway: this is not the data of the file: "

#endif
