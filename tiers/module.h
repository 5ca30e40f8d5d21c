/* SPDX-License-Identifier: BSD-3-Clause */
/* module.h -- parts that need a library of their own, opened at run time */

/* A module is a shared object, NAME.so in the module directory, that exports
 * one symbol: spw_module.  It is compiled from the same sources as the rest
 * and calls nothing of the engine, so it can be opened by whoever holds the
 * engine.  A module that is absent, too old or in want of its library takes
 * a choice away and leaves a reason; it is never an error by itself.
 */

#ifndef SPW_TIERS_MODULE_H
#define SPW_TIERS_MODULE_H

#include <stddef.h>
#include <stdint.h>

struct spw_codec;
struct spw_pmem_calls;

/* Raised with every change to the structs that modules fill. */
#define SPW_MODULE_ABI 3

/* One line for people: what was found, or why it cannot be had. */
struct spw_finding {
	char text[480];		/* without a full stop or newline */
	const char *hint;	/* what to do about it, or NULL */
	int code;		/* E<code> of spillway-errors(7), 0: none */
};

struct spw_module {
	uint32_t abi;		/* SPW_MODULE_ABI; read before the rest */
	const char *name;	/* as the file is called, without .so */

	/* Is all there that the module needs?  dir is where the module was
	 * found.  0 with what was found (name and version of the library),
	 * or a negative errno with what is missing.
	 */
	int (*probe)(const char *dir, struct spw_finding *ret_finding);

	const struct spw_codec *codec;	/* NULL: it is no codec */
	const struct spw_pmem_calls *pmem;	/* NULL: it is not tier-pmem */
};

/* The one symbol of a module. */
extern const struct spw_module spw_module
	__attribute__((visibility("default")));

/* Where modules lie: given, if not NULL; else beside the build this code
 * runs from; else the directory of the installation, first as seen from
 * this code's own place (so that a moved installation works), then as
 * configured.  The result need not exist.  -ENAMETOOLONG if ret_dir, of cap
 * bytes, is too small.
 */
int spw_module_dir(const char *given, char *ret_dir, size_t cap);

/* Open dir/name.so, check it and probe it.  The module stays open as long
 * as the process lives.  Negative errno when it cannot be had: -ENOENT no
 * such file, -ELIBACC it or its library cannot be loaded, -ELIBBAD it is
 * not a module of this version, or what its probe says.  ret_finding is
 * filled in either case.
 */
int spw_module_open(const char *dir, const char *name,
		    const struct spw_module **ret_module,
		    struct spw_finding *ret_finding);

#endif
