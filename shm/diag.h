/* SPDX-License-Identifier: BSD-3-Clause */
/* diag.h -- a message to the user: cause, caret, hint and a stable code */

#ifndef SPW_SHM_DIAG_H
#define SPW_SHM_DIAG_H

#include "shm/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Every code that Spillway may show.  A number, once released, keeps its
 * meaning for good; spillway-errors(7) explains each, and a test compares
 * the two.
 */
#define SPW_DIAG_CODES(C) \
	C(E101) /* size or capacity not understood */ \
	C(W102) /* unknown SPILLWAY_ variable */ \
	C(E103) /* number without a unit */ \
	C(E104) /* unknown command line option */ \
	C(W105) /* unknown key in a configuration file */ \
	C(E106) /* value not understood */ \
	C(E107) /* value out of range */ \
	C(E108) /* too long or too many */ \
	C(E109) /* option without its value */ \
	C(E110) /* cannot create a file in a tier's directory */ \
	C(E111) /* directory missing */ \
	C(E112) /* capacity over the free space of a directory */ \
	C(E113) /* tier directory below a managed path */ \
	C(E114) /* weights not understood, or not adding up */ \
	C(W116) /* something to know of a tier's place */ \
	C(W117) /* a tier is not used */ \
	C(W118) /* a file is not kept in tiers */ \
	C(W119) /* cannot be brought home, or up */ \
	C(E150) /* RAM tier does not fit */ \
	C(W152) /* RAM tier is small for want of shared memory */ \
	C(W153) /* no shared memory or /proc: it runs without */ \
	C(E151) /* segment cannot be made or looked for */ \
	C(W160) /* segment left over from a dead job */ \
	C(W161) /* segment cannot be read */ \
	C(W162) /* not everything is home */ \
	C(E163) /* no such job */ \
	C(E164) /* the job is alive */ \
	C(W165) /* a dead job's bytes come home before a file is opened */ \
	C(W166) /* table of claims cannot be used */ \
	C(W167) /* shares in use, or not to be opened */ \
	C(W168) /* bytes in a tier cannot go to their file */ \
	C(W169) /* damaged in a tier */ \
	C(E170) /* program is statically linked */ \
	C(E171) /* program gains rights: set-uid, capabilities */ \
	C(E172) /* program uses another C library */ \
	C(W173) /* program runs without libspillway */ \
	C(E174) /* program is built for another processor */ \
	C(W175) /* program makes its own system calls */ \
	C(E176) /* libspillway cannot be preloaded from where it is */ \
	C(E177) /* program not found or not executable */ \
	C(W178) /* receipt cannot be written */ \
	C(W179) /* the planner's seed or a codec cannot be used */ \
	C(E180) /* tier not understood */ \
	C(E181) /* unknown tier kind */ \
	C(E182) /* tier kind not built in */ \
	C(E183) /* relative path */ \
	C(E184) /* tier given twice */ \
	C(E185) /* secret in the text */ \
	C(E186) /* variable unset */ \
	C(E187) /* bad percent escape */ \
	C(E188) /* unknown tier option */ \
	C(E189) /* bad value of a tier option */ \
	C(E190) /* configuration file cannot be read */ \
	C(E191) /* syntax error in a configuration file */ \
	C(E192) /* configuration file not trusted */ \
	C(E193) /* key given twice in a configuration file */

enum spw_code {
	SPW_NO_CODE,
#define SPW_DIAG_ENUM(name) SPW_##name,
	SPW_DIAG_CODES(SPW_DIAG_ENUM)
#undef SPW_DIAG_ENUM
	SPW_CODES
};

enum spw_severity { SPW_SILENT, SPW_WARNING, SPW_ERROR };

/*
 * One message.  Filled by the functions below, which escape and shorten
 * what comes from outside; shown by spw_diag_print or spw_diag_oneline.
 */
struct spw_diag {
	enum spw_severity severity;	/* SPW_SILENT: nothing to say */
	enum spw_code code;
	char subject[320];
	char cause[640];
	char text[384];			/* the offending text, or empty */
	uint16_t caret, width;		/* columns in it */
	char hint[384];
};

#define SPW_DIAG_MAX 2560		/* bytes of a message in full */

/* Several: warnings, and at most one error, which comes last. */
struct spw_diags {
	unsigned n, dropped;		/* dropped: warnings beyond the room */
	struct spw_diag at[8];
};

/* Begin anew: clears the rest. */
void spw_diag_begin(struct spw_diag *d, enum spw_severity severity,
		    enum spw_code code);

/* Formats as in spw_text_fmt.  Subject and cause append when repeated. */
void spw_diag_subject(struct spw_diag *d, const char *fmt, ...);
void spw_diag_cause(struct spw_diag *d, const char *fmt, ...);
void spw_diag_hint(struct spw_diag *d, const char *fmt, ...);

/*
 * Show the n bytes at s with a caret under the `len` bytes from `at`.  A
 * long text is cut down to the surroundings of the caret, secrets are
 * masked, blanks of any kind become a space.
 */
void spw_diag_text(struct spw_diag *d, const char *s, size_t n, size_t at,
		   size_t len);

const char *spw_diag_code_name(enum spw_code code);

/* The C locale's text for an errno, without strerror. */
const char *spw_diag_errno(int err);

/* The full form, with a line end; returns its length.  cap: SPW_DIAG_MAX. */
size_t spw_diag_format(const struct spw_diag *d, bool color, char *ret_buf,
		       size_t cap);

/*
 * The short form for a program that did not ask for us: one line, without
 * text and hint.  `consequence` says what follows from it, or is NULL.
 */
size_t spw_diag_oneline(const struct spw_diag *d, const char *consequence,
			char *ret_buf, size_t cap);

/* Write one message, or all, to fd in one write each. */
void spw_diag_print(const struct spw_diag *d, bool color, int fd);
void spw_diags_print(const struct spw_diags *all, bool color, int fd);

/* Room for one more; the last one is reused when all are taken. */
struct spw_diag *spw_diags_add(struct spw_diags *all);

#endif
