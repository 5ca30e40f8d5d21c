/* SPDX-License-Identifier: BSD-3-Clause */
/* tierspec.h -- the list of tiers that a user writes, read and checked */

#ifndef SPW_SHM_TIERSPEC_H
#define SPW_SHM_TIERSPEC_H

#include "shm/codecs.h"
#include "shm/diag.h"
#include "shm/machine.h"
#include "shm/paths.h"

#include <stdbool.h>
#include <stdint.h>

/*
 *	kind[:place][@capacity][+option[=value]]...
 *
 * separated by blanks, fastest first; home is the last without being named.
 * spillway-tiers(7) is the user's view of it.
 */
#define SPW_TIERS_LEN 4096		/* bytes of the list, with the NUL */
#define SPW_TIERS_MAX 16		/* tiers in it */
#define SPW_RAM_MIN (UINT64_C(1) << 20)

enum spw_tierspec_kind {
	SPW_KIND_RAM,
	SPW_KIND_NVME,
	SPW_KIND_PMEM,
	SPW_KIND_BB,
	SPW_KIND_REDIS,
	SPW_KIND_TILEDB,
	SPW_KIND_S3,
	SPW_KIND_AZURE,
	SPW_KIND_GCS,
	SPW_KINDS
};

/* The kinds this build implements, and all, one bit each. */
#define SPW_KINDS_AVAILABLE                                            \
	(1u << SPW_KIND_RAM | 1u << SPW_KIND_NVME | 1u << SPW_KIND_PMEM | \
	 1u << SPW_KIND_BB)
#define SPW_KINDS_ALL ((1u << SPW_KINDS) - 1)

enum spw_tierspec_codec {		/* pinned by an option */
	SPW_PIN_NONE,			/* the planner chooses */
	SPW_PIN_RAW = SPW_CODEC_NONE + 1,
#define X(c, number, name, low, high) SPW_PIN_##c = (number) + 1,
	SPW_CODEC_LINES(X)
#undef X
	SPW_PINS
};

#define SPW_LEVEL_DEFAULT INT8_MIN	/* none was given */

enum spw_tierspec_key {
	SPW_KEY_IO,
	SPW_KEY_FILTER,
	SPW_KEY_ENDPOINT,
	SPW_KEY_REGION,
	SPW_KEY_TTL,
	SPW_KEYS
};

enum spw_tierspec_cap { SPW_CAP_AUTO, SPW_CAP_BYTES, SPW_CAP_PERCENT };

struct spw_tierspec {
	enum spw_tierspec_kind kind;
	enum spw_tierspec_codec codec;
	int8_t level;			/* of the codec */
	enum spw_tierspec_cap cap;
	uint8_t percent;		/* for SPW_CAP_PERCENT */
	uint64_t capacity;		/* bytes; 0 until known */
	uint16_t place;			/* in the list's text; 0: none */
	uint16_t key[SPW_KEYS];		/* likewise */
	uint16_t at, len;		/* in the list's source */
	uint16_t place_at, place_len, cap_at, cap_len;
};

struct spw_tierlist {
	unsigned n;
	struct spw_tierspec tier[SPW_TIERS_MAX];
	uint16_t used;
	char subject[320];		/* where the source came from */
	char source[SPW_TIERS_LEN];	/* as the user wrote it */
	char text[3 * SPW_TIERS_LEN];	/* places and values, expanded */
};

const char *spw_tierspec_kind_name(enum spw_tierspec_kind kind);
const char *spw_tierspec_codec_name(enum spw_tierspec_codec codec);
const char *spw_tierspec_key_name(enum spw_tierspec_key key);

/* An absolute path, or host or bucket without the slashes; "" if none. */
const char *spw_tierspec_place(const struct spw_tierlist *list,
			       const struct spw_tierspec *tier);
/* The value of +key=value, or NULL. */
const char *spw_tierspec_value(const struct spw_tierlist *list,
			       const struct spw_tierspec *tier,
			       enum spw_tierspec_key key);

/* The place is a directory of this machine. */
bool spw_tierspec_is_directory(enum spw_tierspec_kind kind);

/*
 * Read the grammar; looks at nothing but the text and envp.  `subject` names
 * the source in messages (SPILLWAY_TIERS, --tiers, a file and line).  Kinds
 * outside of `kinds` are refused as not built in.  An empty text means
 * ram@auto.  Returns 0, or -EINVAL with the reason in ret_diag; ret_list is
 * then of no use.
 */
int spw_tierspec_parse(const char *text, const char *subject, unsigned kinds,
		       char *const *envp, struct spw_tierlist *ret_list,
		       struct spw_diag *ret_diag);

/* What the tiers are compared with. */
struct spw_tierspec_where {
	const char *shm_dir;
	const struct spw_dirs *include, *exclude;
	const struct spw_machine *machine;	/* NULL: ask this one */
};

/*
 * Compare with the machine: directories exist, can be written and lie
 * outside of what is managed; capacities fit.  Percentages and `auto` become
 * bytes in tier[].capacity.  Tries to create an unnamed file in each
 * directory.  Uses some 13 KiB of stack.
 */
int spw_tierspec_check(struct spw_tierlist *list,
		       const struct spw_tierspec_where *where,
		       struct spw_diag *ret_diag);

/* Whether files can be made in a directory; negative errno. */
int spw_tierspec_try(const char *dir);

/* Its place does not answer. As a warning: it is done without. */
void spw_tierspec_blame_deaf(const struct spw_tierlist *list, unsigned i,
			     enum spw_severity severity,
			     struct spw_diag *ret_diag);

/* Calls tell for each whose place is_deaf, and takes it off the list. How
 * many. */
unsigned spw_tierspec_sift(struct spw_tierlist *list,
			   bool (*is_deaf)(const char *place),
			   void (*tell)(void *arg, const struct spw_diag *d),
			   void *arg);

/* The tiers below memory in the same grammar, expanded and with capacities in
 * bytes: what parse reads back as the same list anywhere. -ENAMETOOLONG. */
int spw_tierspec_write(const struct spw_tierlist *list, char *buf,
		       size_t cap);

/* Bytes that these may hold together. */
uint64_t spw_tierspec_below(const struct spw_tierlist *list);

#endif
