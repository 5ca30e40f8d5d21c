/* SPDX-License-Identifier: BSD-3-Clause */
/* native.c -- the functions of spillway.h that pack bytes in memory */

/* Each thread has an advisor, a packer and scratch memory of its own, made
 * when it first calls and freed when it ends.  What all share is the settings
 * as they were at the first call, the weights, and what threads that ended
 * have learned.  When the process ends, that and what the others learned is
 * added to the seed.  A forked child works with what its parent has learned,
 * but that is the parent's to save.
 *
 * The advisor wants to know where packed bytes go.  We do not, so it is told
 * of one tier without limits that is as fast as a process's share of a common
 * file system.
 */

#include "planner/advisor.h"
#include "planner/buffer.h"
#include "planner/trial.h"
#include "shm/conf.h"
#include "shm/spillway.h"
#include "tiers/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SPEED 50e6		/* bytes a second */

enum { LAST_MS = 500 };			/* that saving may keep the end up */

struct spw_native {
	struct spw_native *next;
	pthread_mutex_t busy;		/* in a call, or being collected from */
	struct spw_advisor *advisor;
	struct spw_packer *packer;
	uint8_t *scratch;
	unsigned weighed;		/* weights_version it knows */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_exit;		/* for its destructor alone */
static bool has_key;
static char seed[SPW_CONFIG_PATH];	/* "": none */
static bool has_said;			/* the advisor's notes; under lock */
static struct spw_weights weights;	/* under lock */
static _Atomic unsigned weights_version;
static struct spw_native *natives;	/* of all threads; under lock */
static struct spw_seed learned;		/* by those that ended; under lock */
static struct spw_seed saved;		/* at the end */
static __thread struct spw_native *own;

static void
leave(struct spw_native *n)
{
	struct spw_native **at = &natives;

	pthread_mutex_lock(&lock);
	while (*at && *at != n)
		at = &(*at)->next;
	if (*at) {
		*at = n->next;
		/* For want of memory it is lost. */
		(void)spw_advisor_collect(n->advisor, &learned);
	}
	pthread_mutex_unlock(&lock);
}

static void
release(void *native)
{
	struct spw_native *n = native;

	leave(n);
	pthread_mutex_destroy(&n->busy);
	spw_advisor_free(n->advisor);
	spw_packer_free(n->packer);
	free(n->scratch);
	free(n);
	own = NULL;
}

/* Settings that cannot be read are said once and left at what is built in. */
static void
read_settings(void)
{
	struct spw_config *cfg = malloc(sizeof(*cfg));
	struct spw_diags *diags = malloc(sizeof(*diags));
	const char *text = "balanced";
	char why[SPW_DIAG_MAX];
	size_t n;

	if (cfg && diags && !spw_config_load(&(struct spw_config_source){
		    .envp = environ }, cfg, diags)) {
		text = cfg->weights;
		if (!spw_config_seed(cfg, environ, seed))
			seed[0] = '\0';
	} else if (diags && diags->n) {
		n = spw_diag_oneline(&diags->at[diags->n - 1],
				     "the settings are not used", why,
				     sizeof(why));
		(void)!write(STDERR_FILENO, why, n);
	}
	(void)spw_weights_parse(text, &weights, why, sizeof(why));
	free(cfg);
	free(diags);
}

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* The other threads are gone, and what was learned is the parent's. */
static void
begin_child(void)
{
	natives = own;
	if (own) {
		own->next = NULL;
		(void)spw_advisor_collect(own->advisor, &learned);
	}
	spw_seed_clear(&learned);
	pthread_mutex_unlock(&lock);
}

static void
start(void)
{
	has_key = !pthread_key_create(&at_exit, release) &&
		  !pthread_atfork(before_fork, after_fork, begin_child);
	read_settings();
}

static void
say(const struct spw_advisor *a)
{
	const char *note;

	for (unsigned i = 0; !has_said && (note = spw_advisor_note(a, i)); i++)
		(void)dprintf(STDERR_FILENO, "spillway: %s\n", note);
	has_said = true;
}

static int
build(struct spw_native *n)
{
	struct spw_advisor_setup setup = {
		.seed = seed[0] ? seed : NULL, .weights = weights,
	};
	int r = spw_advisor_new(&setup, &n->advisor);

	if (r < 0)
		return r;
	say(n->advisor);
	n->weighed = weights_version;
	n->scratch = aligned_alloc(64, spw_round_up(
		spw_object_bound(0, SPW_BUFFER_PIECE), 64));
	r = spw_packer_new(&n->packer);
	if (r < 0 || !n->scratch)
		return -ENOMEM;
	return spw_advisor_add(n->advisor, &(struct spw_monitored){
		.capacity = UINT64_MAX, .write_bw = SPEED, .read_bw = SPEED,
		.choices = SPW_CHOICES_ALL,
	});
}

/* This thread's; NULL: no memory. */
static struct spw_native *
mine(void)
{
	struct spw_native *n;
	int r;

	if (own)
		return own;
	if (pthread_once(&once, start) || !has_key ||
	    !(n = calloc(1, sizeof(*n))))
		return NULL;
	pthread_mutex_init(&n->busy, NULL);
	pthread_mutex_lock(&lock);
	r = build(n);
	if (r >= 0) {
		n->next = natives;
		natives = n;
	}
	pthread_mutex_unlock(&lock);
	if (r < 0 || pthread_setspecific(at_exit, n)) {
		release(n);
		return NULL;
	}
	own = n;
	return n;
}

static void
save(struct spw_job *job)
{
	struct spw_seed_note note;

	(void)job;			/* there is nobody to tell */
	(void)spw_seed_merge(&saved, seed, &note);
}

/* By another thread: a file system that stalls must not hold up the end. */
static void
save_soon(void)
{
	static struct spw_job job = { .run = save };
	struct spw_crew *crew;

	if (spw_crew_new(1, &crew) < 0)
		return;
	if (spw_crew_give(crew, &job) < 0 || spw_crew_reap(crew, LAST_MS))
		spw_crew_free(crew);
}

/* Threads may still be at work, and one of them, stopped by a signal whose
 * handler exits, may be this one: nobody is waited for.
 */
__attribute__((destructor))
static void
finish(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	for (struct spw_native *n = natives; n; n = n->next)
		if (!pthread_mutex_trylock(&n->busy)) {
			(void)spw_advisor_collect(n->advisor, &learned);
			pthread_mutex_unlock(&n->busy);
		}
	saved = learned;
	learned = (struct spw_seed){ .n = 0 };
	pthread_mutex_unlock(&lock);
	if (saved.n && seed[0])
		save_soon();
}

static void
weigh(struct spw_native *n)
{
	struct spw_weights w;
	unsigned version = weights_version;

	if (n->weighed == version)
		return;
	pthread_mutex_lock(&lock);
	w = weights;
	version = weights_version;
	pthread_mutex_unlock(&lock);
	spw_advisor_weigh(n->advisor, &w);
	n->weighed = version;
}

static ssize_t
answer(int64_t r)
{
	if (r >= 0)
		return (ssize_t)r;
	errno = (int)-r;
	return -1;
}

size_t
spillway_compress_bound(size_t n)
{
	return spw_buffer_bound(n);
}

/* What is known of all pieces. */
struct known {
	uint64_t stream;
	struct spw_traits label;
};

/* Packs a piece as advised into scratch and learns from it. */
static int64_t
pack_advised(struct spw_native *n, struct spw_buffer_at *at,
	     const struct spw_advice *advice, const uint8_t *src, size_t len)
{
	double start = spw_trial_clock();
	int64_t r = spw_buffer_pack(n->packer, at, &advice->piece[0].pack,
				    n->scratch, src, len);

	if (r > 0)
		spw_advisor_learn(n->advisor, advice, 0,
				  &(struct spw_observed){
			.bytes = len,
			.stored = (uint64_t)r - spw_buffer_head(len),
			.pack = spw_trial_clock() - start,
		});
	return r;
}

/* What cannot be packed as advised, for want of memory, is stored raw. */
static int64_t
pack_piece(struct spw_native *n, struct spw_buffer_at *at,
	   const struct known *known, const uint8_t *src, size_t len)
{
	static const struct spw_object_pack raw = { .codec = SPW_CODEC_NONE };
	struct spw_advice advice;
	int64_t r = -EINVAL;

	if (len && !spw_advisor_ask(n->advisor, known->stream, src, len,
				    at->offset, &known->label,
				    SPW_ADVISOR_TIERS, &advice))
		r = pack_advised(n, at, &advice, src, len);
	return r > 0 ? r : spw_buffer_pack(n->packer, at, &raw, n->scratch,
					   src, len);
}

static int64_t
compress(struct spw_native *n, uint8_t *dst, size_t cap, const uint8_t *src,
	 size_t len, const struct known *known)
{
	struct spw_buffer_at at = { .total = len };
	size_t used = 0;
	int64_t r;

	weigh(n);
	do {
		size_t piece = SPW_MIN(len - at.offset, SPW_BUFFER_PIECE);

		r = pack_piece(n, &at, known, src + at.offset, piece);
		if (r < 0)
			return r;
		if ((size_t)r > cap - used)
			return -ENOSPC;
		memcpy(dst + used, n->scratch, (size_t)r);
		used += (size_t)r;
	} while (at.offset < len);
	return (int64_t)used;
}

/* Records longer than the analyzer knows are none.  False: no such data. */
static bool
read_data(const struct spillway_data *data, struct known *ret)
{
	static const uint8_t kinds[] = {
		[SPILLWAY_DATA_UNKNOWN] = SPW_DATA_UNKNOWN,
		[SPILLWAY_DATA_BYTES] = SPW_DATA_BYTES,
		[SPILLWAY_DATA_TEXT] = SPW_DATA_TEXT,
		[SPILLWAY_DATA_PACKED] = SPW_DATA_PACKED,
		[SPILLWAY_DATA_INTEGER] = SPW_DATA_INTEGER,
		[SPILLWAY_DATA_FLOAT] = SPW_DATA_FLOAT,
	};
	uint32_t width, record;

	if (data->size != sizeof(*data) || data->kind >= sizeof(kinds) ||
	    data->big_endian > 1 || data->reserved)
		return false;
	width = data->width;
	record = data->record;
	if (width > 8 || (width & (width - 1)) || (record && record < width) ||
	    (data->kind >= SPILLWAY_DATA_INTEGER ? !width : width))
		return false;
	ret->stream = data->stream;
	ret->label = (struct spw_traits){
		.kind = kinds[data->kind], .width = (uint8_t)width,
		.stride = record > UINT8_MAX || record < 2 || record == width
			  ? 0 : (uint8_t)record,
		.is_big = width > 1 && data->big_endian,
	};
	return true;
}

ssize_t
spillway_compress_as(void *dst, size_t cap, const void *src, size_t n,
		     const struct spillway_data *data)
{
	struct known known = { .stream = 0 };
	struct spw_native *native;
	int64_t r;

	if (n > SPW_BUFFER_MAX || (data && !read_data(data, &known)))
		return answer(-EINVAL);
	native = mine();
	if (!native)
		return answer(-ENOMEM);
	pthread_mutex_lock(&native->busy);
	r = compress(native, dst, cap, src, n, &known);
	pthread_mutex_unlock(&native->busy);
	return answer(r);
}

ssize_t
spillway_compress(void *dst, size_t cap, const void *src, size_t n)
{
	return spillway_compress_as(dst, cap, src, n, NULL);
}

/* Goes over the pieces; unpacks them too if there is a packer. */
static int64_t
walk(struct spw_packer *packer, void *scratch, uint8_t *dst, size_t cap,
     const uint8_t *src, size_t n)
{
	struct spw_buffer_at at = { .total = 0 };
	struct spw_object_part part;
	struct spw_object o;
	uint64_t bad;
	int r;

	do {
		uint64_t before = at.offset;

		r = spw_buffer_look(&at, src, n, scratch, &o);
		if (!r && packer && at.total > cap)
			r = -ENOSPC;
		if (!r && packer) {
			spw_object_part(&o, 0, o.length, &part);
			r = spw_object_decode(packer, &o, &part,
					      src + o.payload_at,
					      dst + before, &bad);
		}
		if (r < 0)
			return r;
		src += o.stored;
		n -= o.stored;
	} while (at.offset < at.total);
	return n ? -EBADMSG : (int64_t)at.total;
}

ssize_t
spillway_decompress(void *dst, size_t cap, const void *src, size_t n)
{
	struct spw_native *native = mine();

	return answer(native ? walk(native->packer, native->scratch, dst, cap,
				    src, n) : -ENOMEM);
}

ssize_t
spillway_decompressed_size(const void *src, size_t n)
{
	struct spw_native *native = mine();

	return answer(native ? walk(NULL, native->scratch, NULL, 0, src, n)
			     : -ENOMEM);
}

int
spillway_weigh(const char *text)
{
	struct spw_weights w;
	char why[160];

	if (pthread_once(&once, start))
		return (int)answer(-ENOMEM);
	if (!text || spw_weights_parse(text, &w, why, sizeof(why)) < 0)
		return (int)answer(-EINVAL);
	pthread_mutex_lock(&lock);
	weights = w;
	atomic_fetch_add(&weights_version, 1);
	pthread_mutex_unlock(&lock);
	return 0;
}
