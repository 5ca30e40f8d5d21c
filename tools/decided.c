/* SPDX-License-Identifier: BSD-3-Clause */
/* decided.c -- decisions of the drainer, for people and as JSON */
#include "tools/decided.h"

#include <string.h>
#include <time.h>

#include "planner/analyze.h"
#include "tools/parts.h"
#include "tools/show.h"

const char *
spw_decided_why(unsigned why, char buf[SPW_DECIDED_WHY])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < 16 && n < SPW_DECIDED_WHY; i++)
		if (why & SPW_WHY_ALL & 1u << i)
			n += (size_t)snprintf(buf + n, SPW_DECIDED_WHY - n,
					      "%s%s", n ? ", " : "",
					      spw_why_name(i));
	return n ? buf : "in order";
}

static const char *
tier_of(const struct spw_decision *d, const struct spw_tierlist *tiers,
	char buf[SPW_PARTS_TIER])
{
	return d->tier == SPW_DECISION_HOME ? "home"
	       : spw_parts_tier(tiers, d->tier, buf);
}

static bool
is_planned(const struct spw_decision *d)
{
	return d->why & SPW_WHY_CHOSEN;
}

/* Seconds from a segment, which may hold anything. */
static uint64_t
microseconds(double seconds)
{
	return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e6 + 0.5)
					    : 0;
}

static double
milliseconds(double seconds)
{
	return (double)microseconds(seconds) / 1e3;
}

static void
put_time(int64_t when)
{
	time_t s = (time_t)(when / 1000000000);
	struct tm tm;
	char text[16] = "?";

	if (localtime_r(&s, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%03d", text, (int)(when / 1000000 % 1000));
}

static void
print_one(const struct spw_decision *d, const struct spw_tierlist *tiers)
{
	char a[SPW_SHOW_MAX], b[SPW_SHOW_MAX], tier[SPW_PARTS_TIER];
	char pack[SPW_PARTS_PACK], why[SPW_DECIDED_WHY];

	put_time(d->when);
	printf("  %12llu  %9s  %-20s  %-18s  ",
	       (unsigned long long)d->offset, spw_show_size(d->length, a),
	       tier_of(d, tiers, tier),
	       spw_parts_pack(d->codec, d->level, d->filter, d->width, pack));
	if (is_planned(d))
		printf("%9s %7.1f %7.1f  ",
		       spw_show_size(d->expect_stored, b),
		       milliseconds(d->expect_pack),
		       milliseconds(d->expect_write));
	else
		printf("%9s %7s %7s  ", "-", "-", "-");
	printf("%9s %7.1f %7.1f  %s  ", spw_show_size(d->stored, a),
	       milliseconds(d->pack), milliseconds(d->write),
	       spw_decided_why(d->why, why));
	spw_show_name(stdout, d->path);
	putchar('\n');
}

uint64_t
spw_decided_print(const struct spw_map *map, const struct spw_tierlist *tiers,
		  uint64_t from)
{
	uint64_t first = spw_decision_first(map), n = spw_decision_count(map);
	struct spw_decision d;

	for (uint64_t i = from > first ? from : first; i < n; i++)
		if (spw_decision_get(map, i, &d))
			print_one(&d, tiers);
	return n;
}

static void
put_traits(struct spw_json *j, uint64_t key)
{
	struct spw_traits t;

	if (!key)
		return;
	memcpy(&t, &key, sizeof(t));
	spw_json_open(j, "traits", '{');
	spw_json_string(j, "kind", spw_data_kind_name(t.kind));
	spw_json_number(j, "width", t.width);
	spw_json_number(j, "stride", t.stride);
	spw_json_string(j, "shape", spw_data_shape_name(t.shape));
	spw_json_string(j, "format", spw_data_format_name(t.format));
	spw_json_close(j, '}');
}

void
spw_decided_put_costs(struct spw_json *j, const struct spw_decision *d)
{
	char why[SPW_DECIDED_WHY];

	spw_json_string(j, "why", spw_decided_why(d->why, why));
	put_traits(j, d->traits);
	if (is_planned(d)) {
		spw_json_open(j, "expected", '{');
		spw_json_number(j, "stored", d->expect_stored);
		spw_json_number(j, "pack_us", microseconds(d->expect_pack));
		spw_json_number(j, "write_us", microseconds(d->expect_write));
		spw_json_close(j, '}');
	}
	spw_json_open(j, "actual", '{');
	spw_json_number(j, "stored", d->stored);
	spw_json_number(j, "pack_us", microseconds(d->pack));
	spw_json_number(j, "write_us", microseconds(d->write));
	spw_json_close(j, '}');
	if (d->err)
		spw_json_string(j, "error", strerror(-d->err));
}

static void
put_one(struct spw_json *j, const struct spw_decision *d,
	const struct spw_tierlist *tiers, uint64_t number)
{
	char tier[SPW_PARTS_TIER], pack[SPW_PARTS_PACK];

	spw_json_open(j, NULL, '{');
	spw_json_number(j, "number", number);
	spw_json_real(j, "time", (double)d->when / 1e9);
	spw_json_string(j, "path", d->path);
	spw_json_number(j, "device", d->dev);
	spw_json_number(j, "inode", d->ino);
	spw_json_number(j, "offset", d->offset);
	spw_json_number(j, "length", d->length);
	spw_json_string(j, "tier", tier_of(d, tiers, tier));
	spw_json_string(j, "packed", spw_parts_pack(d->codec, d->level,
						    d->filter, d->width,
						    pack));
	if (d->object)
		spw_json_number(j, "object", d->object);
	spw_decided_put_costs(j, d);
	spw_json_close(j, '}');
}

void
spw_decided_put(struct spw_json *j, const struct spw_map *map,
		const struct spw_tierlist *tiers)
{
	uint64_t n = spw_decision_count(map);
	struct spw_decision d;

	spw_json_open(j, "decisions", '[');
	for (uint64_t i = spw_decision_first(map); i < n; i++)
		if (spw_decision_get(map, i, &d))
			put_one(j, &d, tiers, i);
	spw_json_close(j, ']');
}
