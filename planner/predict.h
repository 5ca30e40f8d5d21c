/* SPDX-License-Identifier: BSD-3-Clause */
/* predict.h -- what each choice will cost on a stream, learned as it goes */

/* Three figures for every stream and choice: seconds a byte to pack and to
 * unpack, and the fraction that is stored.  They come, the better known
 * counting more, from
 *
 *	the stream's own blocks;
 *	how far its other choices, and samples of it, are from its class;
 *	its class (streams of the same traits), from the profile, from
 *	earlier runs and from other streams of this run;
 *	all streams, for times; what others store says nothing.
 *
 * Figures are kept as logarithms.  A time that is far from expected is cut
 * to what could be, so that a block during which the machine was busy with
 * other things does little; three such blocks in a row on the same side are
 * believed.  Memory is fixed: streams not seen for long are forgotten, their
 * class is not.
 *
 * A predictor belongs to one thread.
 */

#ifndef SPW_PLANNER_PREDICT_H
#define SPW_PLANNER_PREDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "planner/choice.h"

struct spw_predictor;

/* The pool of choices, at most SPW_CHOICES_MAX; the first is raw.  NULL: no
 * memory, or too many.
 */
struct spw_predictor *spw_predict_new(const struct spw_choice *choices,
				      unsigned n);
void spw_predict_free(struct spw_predictor *p);		/* takes NULL */

/* The pool as given, and one's place in it, or -ENOENT. */
const struct spw_choice *spw_predict_choices(const struct spw_predictor *p,
					     unsigned *ret_n);
int spw_predict_find(const struct spw_predictor *p,
		     const struct spw_choice *choice);

/* The choices that streams of these traits can take, a bit each; until this is
 * told, all.  Whatever a seed says, no costs name others.
 */
typedef uint64_t spw_predict_fit(const void *arg, uint64_t traits);
void spw_predict_suit(struct spw_predictor *p, spw_predict_fit *fit,
		      const void *arg);

/* This choice cannot be had here: no costs name it from now on. */
void spw_predict_remove(struct spw_predictor *p, unsigned choice);

/* What is expected of a stream.  A choice of which nothing is known cannot
 * be used until it was tried.  Figures that moved by less than some percent
 * leave it as it is.  It holds until the stream is forgotten, so until the
 * next call with another stream.
 */
const struct spw_costs *spw_predict_costs(struct spw_predictor *p,
					  const struct spw_stream *stream);

/* What happened to a block, or to a sample of a few KiB. */
struct spw_observed {
	uint64_t bytes, stored;
	double pack, unpack;		/* seconds; 0: not measured */
	bool is_sample;
};
void spw_predict_learn(struct spw_predictor *p,
		       const struct spw_stream *stream, unsigned choice,
		       const struct spw_observed *seen);

/* What to start from, until a block or a sample was seen. */
void spw_predict_guess(struct spw_predictor *p,
		       const struct spw_stream *stream, unsigned choice,
		       const struct spw_observed *guess);

/* Data of a stream that was not seen yet packs as `from` does, be it of another
 * class: what is known of that is a start.
 */
void spw_predict_inherit(struct spw_predictor *p,
			 const struct spw_stream *stream,
			 const struct spw_stream *from);

/* Blocks that the stream's own figures stand for; a sample counts for a part
 * of one.
 */
double spw_predict_evidence(struct spw_predictor *p,
			    const struct spw_stream *stream, unsigned choice);

/* How far what the stream stores is from what its class does, as a natural
 * logarithm; 0: it is as usual, or nothing was seen.
 */
double spw_predict_drift(struct spw_predictor *p,
			 const struct spw_stream *stream);

/* What is known of a class, for the seed.  A weight counts streams, roughly;
 * speeds of 0 are not known.
 */
struct spw_known {
	uint64_t traits;
	struct spw_choice choice;
	double weight;
	double pack, unpack;		/* bytes a second */
	double fraction;
};

/* Told from outside.  -ENOENT: the choice is not in the pool; -EINVAL: these
 * are no figures; -ENOSPC: too many classes.
 */
int spw_predict_tell(struct spw_predictor *p, const struct spw_known *known);

/* What this predictor has learned since the last spw_predict_given, class by
 * class.  A result other than 0 ends it and is returned.
 */
typedef int spw_predict_cb(const struct spw_known *known, void *arg);
int spw_predict_learned(const struct spw_predictor *p, spw_predict_cb *cb,
			void *arg);
void spw_predict_given(struct spw_predictor *p);

#endif
