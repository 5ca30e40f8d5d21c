/* SPDX-License-Identifier: BSD-3-Clause */
/* profile-show.c -- tables, JSON, and the line of tiers that is suggested */
#include "tools/profile-show.h"

#include <math.h>
#include <string.h>

#include "tiers/filter.h"
#include "tools/json.h"

/* One codec at one level, over all data, with the filter that stores least. */
struct row {
	double pack, unpack, stored;	/* ln seconds a byte, twice; fraction */
	unsigned n, n_unpack;
};

static double
fraction(const struct spw_profile_cost *c)
{
	return (double)c->best.stored / (double)c->best.bytes;
}

static bool
is_same_codec(const struct spw_ways *w, unsigned a, unsigned b)
{
	return w->at[a].codec == w->at[b].codec &&
	       w->at[a].level == w->at[b].level;
}

/* The cost with the least stored of one codec on one kind; NULL: none. */
static const struct spw_profile_cost *
least_stored(const struct spw_profile_costs *c, unsigned data, unsigned way)
{
	const struct spw_profile_cost *best = NULL;

	for (unsigned i = 0; i < c->n; i++)
		if (c->at[i].data == data && c->at[i].best.bytes &&
		    (!way || is_same_codec(&c->ways, c->at[i].way, way)) &&
		    (!best || c->at[i].best.stored < best->best.stored))
			best = &c->at[i];
	return best;
}

static struct row
sum_up(const struct spw_profile_shown *s, unsigned way)
{
	struct row row = { .n = 0 };

	for (unsigned d = 0; d < s->set.n; d++) {
		const struct spw_profile_cost *c =
			least_stored(&s->costs, d, way);
		double bytes;

		if (!c)
			continue;
		bytes = (double)c->best.bytes;
		row.pack += log(c->best.pack / bytes);
		row.stored += fraction(c);
		row.n++;
		if (c->best.unpack > 0) {
			row.unpack += log(c->best.unpack / bytes);
			row.n_unpack++;
		}
	}
	return row;
}

static void
put_codecs(const struct spw_profile_shown *s)
{
	printf("%-14s %10s %10s %8s\n", "codec", "pack MB/s", "unpack", "stored");
	for (unsigned w = 1; w < s->costs.ways.n; w++) {
		const struct spw_choice *way = &s->costs.ways.at[w];
		const struct spw_codec *codec = spw_codec_by_id(way->codec);
		struct row row;
		char name[32];

		if (way->filter || !codec)
			continue;
		row = sum_up(s, w);
		if (!row.n)
			continue;
		snprintf(name, sizeof(name), "%s %d", codec->name, way->level);
		printf("%-14s %10.0f ", name, 1e-6 / exp(row.pack / row.n));
		if (row.n_unpack)
			printf("%10.0f ", 1e-6 / exp(row.unpack /
						     row.n_unpack));
		else
			printf("%10s ", "-");
		printf("%6.0f %%\n", 100 * row.stored / row.n);
	}
	puts("(mean over the data below, each with the prefilter that stores "
	     "least)\n");
}

static const char *
filter_text(const struct spw_profile_costs *c, unsigned way)
{
	uint8_t filter = c->ways.at[way].filter;

	return filter ? spw_filter_name(filter) : "none";
}

static void
put_data(const struct spw_profile_shown *s)
{
	printf("%-24s %-9s %8s  %s\n", "data", "kind", "stored",
	       "with, and prefilter");
	for (unsigned d = 0; d < s->set.n; d++) {
		const struct spw_profile_cost *c =
			least_stored(&s->costs, d, 0);
		const struct spw_choice *way;

		if (!c)
			continue;
		way = &s->costs.ways.at[c->way];
		spw_show_name(stdout, s->set.at[d].name);
		printf("%*s %-9s %6.0f %%  ",
		       (int)(24 - strnlen(s->set.at[d].name, 24)), "",
		       spw_data_kind_name(s->set.at[d].traits.kind),
		       100 * fraction(c));
		if (c->best.stored < c->best.bytes)
			printf("%s %d, %s\n", spw_codec_by_id(way->codec)->name,
			       way->level, filter_text(&s->costs, c->way));
		else
			puts("-");
	}
	putchar('\n');
}

static void
put_tiers(const struct spw_profile_shown *s)
{
	char size[SPW_SHOW_MAX];

	printf("%-28s %9s %6s %10s %10s %12s\n", "tier", "size", "depth",
	       "write MB/s", "read MB/s", "latency us");
	for (unsigned i = 0; i < s->tiers.n; i++) {
		const struct spw_profile_tier *t = &s->tiers.at[i];

		for (unsigned k = 0; k < t->is.n && !t->err; k++) {
			spw_show_name(stdout, k ? "" : t->is.name);
			printf("%*s %9s %6u %10.0f %10.0f ", (int)(28 -
			       strnlen(k ? "" : t->is.name, 28)), "",
			       spw_show_size(t->is.point[k].size, size),
			       t->is.point[k].depth,
			       1e-6 * t->is.point[k].write,
			       1e-6 * t->is.point[k].read);
			if (k)
				putchar('\n');
			else
				printf("%12.0f\n", 1e6 * t->is.latency);
		}
	}
	putchar('\n');
}

/* Worth having: memory, and what takes bytes faster than home does. */
static bool
is_worth(const struct spw_profile_shown *s, const struct spw_profile_tier *t)
{
	const struct spw_profile_tier *home = &s->tiers.at[s->tiers.n - 1];

	return t->spec && !t->err && (t->spec->kind == SPW_KIND_RAM ||
				      home->spec || home->err ||
				      t->is.write > home->is.write);
}

/* As it was written, but for what a shell would not take between quotes, or a
 * terminal show: only a place has such bytes, and there %27 says the same.
 */
static void
put_spec(struct spw_text *t, const char *s, size_t n)
{
	char code[4];
	size_t len;

	for (; n; s += len, n -= len) {
		len = spw_text_char(s, n);
		if (len && *s != '\'') {
			spw_text_putn(t, s, len);
			continue;
		}
		(void)snprintf(code, sizeof(code), "%%%02X", (uint8_t)*s);
		spw_text_put(t, code);
		len = 1;
	}
}

/* Memory is the first, whatever it was measured to be on a busy machine. */
static bool
is_faster(const struct spw_profile_tier *a, const struct spw_profile_tier *b)
{
	bool memory = a->spec->kind == SPW_KIND_RAM;

	return memory != (b->spec->kind == SPW_KIND_RAM) ? memory :
	       a->is.write > b->is.write;
}

/* The tiers worth having, fastest first. */
static void
suggest(const struct spw_profile_shown *s, char *ret, size_t cap)
{
	bool used[SPW_SEED_TIERS] = { false };
	struct spw_text t;

	spw_text_init(&t, ret, cap);
	for (;;) {
		int best = -1;

		for (unsigned i = 0; i < s->tiers.n; i++)
			if (!used[i] && is_worth(s, &s->tiers.at[i]) &&
			    (best < 0 || is_faster(&s->tiers.at[i],
						   &s->tiers.at[best])))
				best = (int)i;
		if (best < 0)
			break;
		used[best] = true;
		if (t.len)
			spw_text_putc(&t, ' ');
		put_spec(&t, s->list->source + s->tiers.at[best].spec->at,
			 s->tiers.at[best].spec->len);
	}
	if (!t.len)
		spw_text_put(&t, "ram@auto");
}

void
spw_profile_print(const struct spw_profile_shown *s)
{
	char line[SPW_TIERS_LEN];

	put_codecs(s);
	put_data(s);
	put_tiers(s);
	if (s->seed[0]) {
		fputs("seed: ", stdout);
		spw_show_name(stdout, s->seed);
		putchar('\n');
	}
	suggest(s, line, sizeof(line));
	printf("SPILLWAY_TIERS='%s'\n", line);
}

static void
put_machine(struct spw_json *j)
{
	char cpu[SPW_SEED_CPU];
	unsigned cores;

	spw_seed_machine(cpu, &cores);
	spw_json_open(j, "machine", '{');
	spw_json_string(j, "cpu", cpu);
	spw_json_number(j, "cores", cores);
	spw_json_close(j, '}');
}

static void
put_cost(struct spw_json *j, const struct spw_profile_shown *s,
	 const struct spw_profile_cost *c)
{
	const struct spw_choice *way = &s->costs.ways.at[c->way];
	struct spw_object_pack pack =
		spw_ways_pack(way, &s->set.at[c->data].traits);
	double bytes = (double)c->best.bytes;

	spw_json_open(j, NULL, '{');
	spw_json_string(j, "data", s->set.at[c->data].name);
	spw_json_string(j, "kind",
			spw_data_kind_name(s->set.at[c->data].traits.kind));
	spw_json_string(j, "codec", spw_codec_by_id(way->codec)->name);
	spw_json_integer(j, "level", way->level);
	spw_json_string(j, "filter", filter_text(&s->costs, c->way));
	spw_json_number(j, "width", pack.width);
	spw_json_real(j, "compress", bytes / c->best.pack);
	if (c->best.unpack > 0)
		spw_json_real(j, "decompress", bytes / c->best.unpack);
	spw_json_real(j, "fraction", fraction(c));
	spw_json_close(j, '}');
}

static void
put_tier(struct spw_json *j, const struct spw_profile_tier *t)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "tier", t->is.name);
	if (t->err) {
		spw_json_string(j, "error", spw_profile_error(t->err));
		spw_json_close(j, '}');
		return;
	}
	spw_json_real(j, "write", t->is.write);
	spw_json_real(j, "read", t->is.read);
	spw_json_real(j, "latency_us", 1e6 * t->is.latency);
	spw_json_open(j, "points", '[');
	for (unsigned i = 0; i < t->is.n; i++) {
		spw_json_open(j, NULL, '{');
		spw_json_number(j, "size", t->is.point[i].size);
		spw_json_number(j, "depth", t->is.point[i].depth);
		spw_json_real(j, "write", t->is.point[i].write);
		spw_json_real(j, "read", t->is.point[i].read);
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
	spw_json_close(j, '}');
}

void
spw_profile_print_json(const struct spw_profile_shown *s)
{
	char line[SPW_TIERS_LEN];
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	put_machine(&j);
	spw_json_open(&j, "codecs", '[');
	for (unsigned i = 0; i < s->costs.n; i++)
		if (s->costs.at[i].best.bytes)
			put_cost(&j, s, &s->costs.at[i]);
	spw_json_close(&j, ']');
	spw_json_open(&j, "tiers", '[');
	for (unsigned i = 0; i < s->tiers.n; i++)
		put_tier(&j, &s->tiers.at[i]);
	spw_json_close(&j, ']');
	spw_json_string(&j, "seed", s->seed);
	suggest(s, line, sizeof(line));
	spw_json_string(&j, "SPILLWAY_TIERS", line);
	spw_json_close(&j, '}');
	spw_json_end(&j);
}
