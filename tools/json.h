/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h -- write JSON: one value a line, always valid UTF-8 */
#ifndef SPW_TOOLS_JSON_H
#define SPW_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Values are written in order, commas and indents come by themselves. Inside
 * an object every value has a key; inside an array, and for the outermost
 * value, key is NULL.
 */
struct spw_json {
	FILE *out;
	unsigned depth;
	bool filled;			/* something is in this level */
};

void spw_json_begin(struct spw_json *j, FILE *out);
void spw_json_end(struct spw_json *j);		/* the last line end */
bool spw_json_was_begun(void);			/* on standard output */

void spw_json_open(struct spw_json *j, const char *key, char bracket);
void spw_json_close(struct spw_json *j, char bracket);

/* Bytes that are no UTF-8 appear as \u00NN, controls escaped. */
void spw_json_string(struct spw_json *j, const char *key, const char *s);
void spw_json_number(struct spw_json *j, const char *key, uint64_t n);
void spw_json_integer(struct spw_json *j, const char *key, int64_t n);
void spw_json_real(struct spw_json *j, const char *key, double x);
void spw_json_bool(struct spw_json *j, const char *key, bool b);
void spw_json_null(struct spw_json *j, const char *key);

#endif
