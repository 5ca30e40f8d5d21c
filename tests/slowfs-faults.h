/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-faults.h -- makes requests slow and faulty, as the knobs ask
 *
 * A request waits its turn on the one shared link (bytes/bandwidth) and then
 * for its own latency, so many requests in flight hide latency and nothing
 * hides bandwidth.  What slowfs itself needs to serve a request is part of
 * these times, not on top of them.
 */

#ifndef SPW_TESTS_SLOWFS_FAULTS_H
#define SPW_TESTS_SLOWFS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum request_kind {
	REQUEST_FIND,			/* a name, or what a node is */
	REQUEST_STATFS,
	REQUEST_CHANGE,			/* names, sizes, attributes */
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_SYNC,
};

/* Set one knob from the command line; before the first request only. */
int faults_start(const char *text);

/* Whoever is stalled is let go with EIO once this function says so. */
void faults_end_when(bool (*ended)(void));

/* Lines that set knobs: 0, or -EINVAL and nothing is changed. */
int faults_set(const char *text, size_t n);

/* Back to what the command line said. */
void faults_reset(void);

/* All knobs as text; returns the bytes, at most size. */
size_t faults_show(char *buf, size_t size);

/* Does any knob depend on the path? */
bool faults_need_path(void);

/* Wait if such requests on this path are stalled, then 0 or the negative
 * errno that they are to fail with. */
int faults_admit(enum request_kind kind, const char *path);

/* How many of n bytes may be written: a count, or a negative errno. */
int64_t faults_admit_bytes(int64_t n, const char *path);

/* Room for n bytes, all or nothing: 0 or a negative errno. */
int faults_admit_space(int64_t n, const char *path);

/* Are there extended attributes? */
bool faults_have_attributes(void);

/* Is this name not there? */
bool faults_hide(const char *path);

/* Now, for faults_take_time. */
int64_t faults_clock(void);

/* Sleep until a request that came at `since` and moves n bytes is over. */
void faults_take_time(int64_t since, size_t n);

#endif
