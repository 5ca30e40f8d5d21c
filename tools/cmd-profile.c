/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-profile.c -- spillway profile: measure codecs and tiers for the planner */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/util.h"
#include "shm/version.h"
#include "tiers/filter.h"
#include "tools/args.h"
#include "tools/commands.h"
#include "tools/profile.h"
#include "tools/profile-show.h"

static const char usage[] =
	"usage: spillway profile [--seconds N] [--json] [OPTION]... [FILE]...\n"
	"\n"
	"Measure how fast every codec packs and unpacks data made for it and\n"
	"pieces of every FILE, and how fast every tier is; keep it in the seed,\n"
	"which tells the planner what to expect.\n"
	"\n"
	"  spillway profile\n"
	"  spillway profile --tiers 'ram@4G nvme:/scratch' run/out.h5\n"
	"  spillway profile --seconds 10 --seed /tmp/seed.json --json\n"
	"\n"
	"  --seconds N           take about so long, 1 to 3600 (30)\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

enum { SECONDS = 30, SECONDS_MOST = 3600 };
#define PATIENCE 1.8		/* times that, on a busy machine */

static volatile sig_atomic_t stopped;

/* The first one lets us tidy up, the second one ends us. */
static void
stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void
watch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = stop, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

bool
spw_profile_is_stopped(void)
{
	return stopped;
}

bool
spw_profile_go_on(struct spw_profile_time *t, const char *doing)
{
	double now = spw_show_clock(), share = (now - t->began) / t->seconds;

	spw_progress_share(&t->progress, SPW_MIN(share, 1), doing);
	return !stopped && now < t->until;
}

struct request {
	bool json;
	const char *seconds;
	struct spw_args args;
	char seed[SPW_CONFIG_PATH];	/* "": none */
	struct spw_tierlist tiers;
	bool deaf;			/* one of them was left out */
	struct spw_profile_time time;
};

static void
say(const struct request *req, enum spw_severity severity, enum spw_code code,
    const char *what, const char *cause, const char *hint)
{
	struct spw_diag d;

	spw_diag_begin(&d, severity, code);
	spw_diag_subject(&d, "%e", what);
	spw_diag_cause(&d, "%s", cause);
	if (hint)
		spw_diag_hint(&d, "%s", hint);
	spw_diag_print(&d, req->args.color, STDERR_FILENO);
}

static int
refuse(const struct request *req, enum spw_code code, const char *subject,
       const char *cause, const char *hint)
{
	say(req, SPW_ERROR, code, subject, cause, hint);
	return SPW_EXIT_USAGE;
}

static int
read_seconds(struct request *req)
{
	uint64_t n = SECONDS;

	if (req->seconds && (spw_size_number(req->seconds,
					     strlen(req->seconds), &n) < 0 ||
			     n < 1 || n > SECONDS_MOST))
		return refuse(req, SPW_E107, "--seconds",
			      "is out of range, or no number",
			      "write 1 to 3600");
	req->time.seconds = (double)n;
	return -1;
}

/* Who checks a tier that stalls waits with it. */
static void
leave_deaf(struct request *req)
{
	struct spw_tierlist *list = &req->tiers;
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++) {
		if (spw_profile_answers(&req->args.cfg, list, i)) {
			list->tier[n++] = list->tier[i];
			continue;
		}
		req->deaf = true;
		say(req, SPW_WARNING, SPW_NO_CODE,
		    spw_tierspec_place(list, &list->tier[i]),
		    spw_profile_error(-ETIMEDOUT), NULL);
	}
	list->n = n;
}

/* Tiers are checked as for a run, so that none is filled that has no room. */
static int
read_tiers(struct request *req, char **envp)
{
	struct spw_diag diag = { 0 };
	int r = spw_config_tiers(&req->args.cfg, envp, &req->tiers, &diag);

	if (!r) {
		leave_deaf(req);
		r = spw_config_check(&req->args.cfg, &req->tiers, &diag);
	}
	if (r < 0 || diag.severity == SPW_WARNING)
		spw_diag_print(&diag, req->args.color, STDERR_FILENO);
	if (!spw_config_seed(&req->args.cfg, envp, req->seed))
		req->seed[0] = '\0';
	return r < 0 ? SPW_EXIT_USAGE : -1;
}

/* Files that cannot be read are named; the others are measured, and first: the
 * time may not do for all.
 */
static int
collect(const struct request *req, struct spw_profile_set *set)
{
	int r, status = SPW_EXIT_OK;

	for (int i = 0; i < req->args.n_rest; i++) {
		r = spw_profile_read(set, req->args.rest[i]);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			say(req, SPW_ERROR, SPW_NO_CODE, req->args.rest[i],
			    r == -ENODATA ? "is smaller than 4 KiB" :
			    r == -EINVAL ? "is no regular file" :
			    spw_diag_errno(r), NULL);
			status = SPW_EXIT_PARTLY;
		}
	}
	return spw_profile_generate(set) < 0 ? -ENOMEM : status;
}

/* The libraries in use, and ours. */
static void
put_versions(struct spw_seed_profile *p)
{
	const struct spw_codec_slot *slot;

	p->version[p->n_versions++] = (struct spw_seed_version){
		"spillway", spw_version(),
	};
	for (size_t i = 1; (slot = spw_codec_slot(i)) && p->n_versions < 16;
	     i++)
		if (slot->codec)
			p->version[p->n_versions++] =
				(struct spw_seed_version){ slot->name,
							   slot->finding.text };
}

static int
save(const struct request *req, const struct spw_profile_set *set,
     const struct spw_profile_costs *costs,
     const struct spw_profile_tiers *tiers)
{
	static struct spw_seed_profile profile;
	struct spw_predictor *predictor;
	struct spw_seed_note note = { .text = "" };
	int r = spw_profile_learn(set, costs, &predictor);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < tiers->n; i++)
		if (!tiers->at[i].err)
			profile.tier[profile.n_tiers++] = tiers->at[i].is;
	put_versions(&profile);
	/* what is wrong with the old one is said before it is made anew */
	r = spw_seed_load(predictor, req->seed, &note);
	if (note.text[0])
		fprintf(stderr, "spillway: %s\n", note.text);
	if (r != -EPROTONOSUPPORT && r != -EOPNOTSUPP) {
		r = spw_seed_save_profile(predictor, req->seed, &profile,
					  &note);
		if (r < 0)
			fprintf(stderr, "spillway: %s\n", note.text);
	}
	spw_predict_free(predictor);
	return r;
}

static void
begin_part(struct spw_profile_time *t, double share)
{
	t->until = spw_show_clock() +
		   share * (t->began + t->seconds - spw_show_clock());
}

/* Tiers first: codecs take what is left. */
static int
measure(struct request *req, struct spw_profile_shown *s)
{
	const char *home = spw_dirs_get(&req->args.cfg.include, 0);
	int r;

	req->time.began = spw_show_clock();
	req->time.at_last = req->time.began + PATIENCE * req->time.seconds;
	spw_progress_begin(&req->time.progress, "profile",
			   req->args.cfg.quiet);
	begin_part(&req->time, 0.4);
	spw_profile_tiers(&req->time, &req->tiers, home, &s->tiers);
	begin_part(&req->time, 1);
	r = spw_profile_codecs(&req->time, &s->set, &s->costs);
	spw_progress_end(&req->time.progress);
	return r;
}

static int
profile(struct request *req, struct spw_profile_shown *s)
{
	int status = collect(req, &s->set), r;

	if (status < 0)
		return status;
	r = measure(req, s);
	if (r < 0)
		return r;
	if (stopped) {
		fputs("spillway: interrupted; nothing is kept\n", stderr);
		return SPW_EXIT_PARTLY;
	}
	for (unsigned i = 0; i < s->tiers.n; i++)
		if (s->tiers.at[i].err) {
			say(req, SPW_WARNING, SPW_NO_CODE,
			    s->tiers.at[i].is.name,
			    spw_profile_error(s->tiers.at[i].err), NULL);
			status = SPW_EXIT_PARTLY;
		}
	if (req->seed[0] && save(req, &s->set, &s->costs, &s->tiers) < 0)
		status = SPW_EXIT_PARTLY;
	if (req->deaf)
		status = SPW_EXIT_PARTLY;
	s->seed = req->seed;
	s->list = &req->tiers;
	if (req->json)
		spw_profile_print_json(s);
	else
		spw_profile_print(s);
	return fflush(stdout) ? SPW_EXIT_FINDINGS : status;
}

/* A module that was never built is no news; one that does not load is. */
static void
tell_missing(const struct request *req)
{
	const struct spw_codec_slot *slot;
	char what[64];

	for (size_t i = 1; (slot = spw_codec_slot(i)); i++) {
		if (slot->codec || slot->error == -ENOENT)
			continue;
		snprintf(what, sizeof(what), "codec %s", slot->name);
		say(req, SPW_WARNING, SPW_W179, what, slot->finding.text,
		    NULL);
	}
}

int
spw_cmd_profile(int argc, char **argv, char **envp)
{
	static struct request req;
	static struct spw_profile_shown shown;
	const struct spw_switch own[] = {
		{ "--seconds", NULL, &req.seconds },
		{ "--json", &req.json, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "profile", .usage = usage, .own = own,
		.settings = SPW_SETTING(TIERS) | SPW_SETTING(SEED) |
			    SPW_SETTING(INCLUDE) | SPW_SETTING(EXCLUDE) |
			    SPW_SETTING(SHM_DIR) | SPW_SETTING(QUIET) |
			    SPW_SETTING(COLOR) | SPW_SETTING(CONFIG),
		.usage_status = SPW_EXIT_USAGE,
	};
	int status = spw_args_read(&command, argv, envp, &req.args);

	(void)argc;
	if (status < 0)
		status = read_seconds(&req);
	if (status < 0)
		status = read_tiers(&req, envp);
	if (status >= 0)
		return status;
	watch_signals();
	(void)spw_codec_load(NULL);
	tell_missing(&req);
	status = profile(&req, &shown);
	spw_profile_forget(&shown.set);
	free(shown.costs.at);
	if (status < 0) {
		fputs("spillway: not enough memory\n", stderr);
		status = SPW_EXIT_PARTLY;
	}
	return status;
}
