/* SPDX-License-Identifier: BSD-3-Clause */
/* seed-json.c -- the text of a seed, by cJSON */

#include "planner/seed.h"
#include "shm/text.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION "spillway-seed"

static int
refuse(int error, const char *reason, const char **ret_reason)
{
	*ret_reason = reason;
	return error;
}

/* A whole number from lo to hi. */
static bool
get_whole(const cJSON *from, const char *name, double lo, double hi,
	  double *ret)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);

	if (!cJSON_IsNumber(item) || !(item->valuedouble >= lo) ||
	    !(item->valuedouble <= hi) ||
	    item->valuedouble != floor(item->valuedouble))
		return false;
	*ret = item->valuedouble;
	return true;
}

/* A number from lo, above 0, to hi; one that is not there is 0. */
static bool
get_figure(const cJSON *from, const char *name, double lo, double hi,
	   double *ret)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);

	*ret = 0;
	if (!item)
		return true;
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= lo) ||
	    !(item->valuedouble <= hi))
		return false;
	*ret = item->valuedouble;
	return true;
}

/* Sixteen digits: more than a number of JSON holds. */
static bool
get_traits(const cJSON *from, uint64_t *ret)
{
	const char *text = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(from, "traits"));

	if (!text || strlen(text) != 16 ||
	    strspn(text, "0123456789abcdef") != 16)
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

static bool
get_known(const cJSON *from, struct spw_known *ret)
{
	double codec, level, filter, width;

	if (!get_traits(from, &ret->traits) ||
	    !get_whole(from, "codec", 0, UINT8_MAX, &codec) ||
	    !get_whole(from, "level", INT16_MIN, INT16_MAX, &level) ||
	    !get_whole(from, "filter", 0, UINT8_MAX, &filter) ||
	    !get_whole(from, "width", 0, UINT16_MAX, &width) ||
	    !get_figure(from, "weight", 1e-6, 1e6, &ret->weight) ||
	    !get_figure(from, "fraction", 1e-6, 2, &ret->fraction) ||
	    !get_figure(from, "compress", 1, 1e15, &ret->pack) ||
	    !get_figure(from, "decompress", 1, 1e15, &ret->unpack))
		return false;
	ret->choice = (struct spw_choice){
		.codec = (uint8_t)codec, .level = (int16_t)level,
		.filter = (uint8_t)filter, .width = (uint16_t)width,
	};
	return ret->weight > 0 && ret->fraction > 0;
}

/* It will be shown in a line. */
static void
copy_name(const char *from, char *to)
{
	size_t left = strlen(from), n;

	for (; left; from += n, to += n, left -= n) {
		n = spw_text_char(from, left);
		if (n) {
			memcpy(to, from, n);
		} else {
			*to = '?';
			n = 1;
		}
	}
	*to = '\0';
}

static void
get_machine(const cJSON *root, struct spw_seed *ret)
{
	const cJSON *machine =
		cJSON_GetObjectItemCaseSensitive(root, "machine");
	const char *cpu = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(machine, "cpu"));
	double cores;

	if (cpu && strlen(cpu) < sizeof(ret->cpu))
		copy_name(cpu, ret->cpu);
	if (get_whole(machine, "cores", 1, 1e6, &cores))
		ret->cores = (unsigned)cores;
}

static int
get_seed(const cJSON *root, struct spw_seed *ret, const char **ret_reason)
{
	const cJSON *costs = cJSON_GetObjectItemCaseSensitive(root, "costs");
	const cJSON *item;
	double version;
	int r;

	if (!get_whole(root, VERSION, 1, 1e9, &version))
		return refuse(-EBADMSG, "is no seed", ret_reason);
	if (version != SPW_SEED_VERSION)
		return refuse(-EPROTONOSUPPORT, "is of a later version",
			      ret_reason);
	if (!cJSON_IsArray(costs))
		return refuse(-EBADMSG, "has no costs", ret_reason);
	get_machine(root, ret);
	cJSON_ArrayForEach(item, costs) {
		struct spw_known known;

		if (!get_known(item, &known))
			continue;
		r = spw_seed_add(ret, &known);
		if (r < 0)
			return refuse(r, "does not fit in memory", ret_reason);
	}
	return 0;
}

/* Each value takes time and memory, and ours has nine in an entry, and a few
 * besides.  What has more is not looked at.
 */
static bool
is_long(const char *text)
{
	size_t values = 0;

	for (; *text; text++)
		values += *text == ',' || *text == '[' || *text == '{';
	return values > 12 * SPW_SEED_KNOWN;
}

int
spw_seed_parse(const char *text, size_t n, struct spw_seed *ret,
	       const char **ret_reason)
{
	struct spw_seed seed = { .n = 0 };
	cJSON *root;
	int r;

	*ret = seed;
	if (is_long(text))
		return refuse(-EBADMSG, "has too many values", ret_reason);
	root = cJSON_ParseWithOpts(text, NULL, 1);
	if (!root || strlen(text) != n) {
		cJSON_Delete(root);
		return refuse(-EBADMSG, "is no JSON", ret_reason);
	}
	r = get_seed(root, &seed, ret_reason);
	cJSON_Delete(root);
	if (r < 0) {
		spw_seed_clear(&seed);
		return r;
	}
	spw_seed_settle(&seed);
	*ret = seed;
	return 0;
}

/* All that have the name, in one go: there may be very many. */
static void
drop(cJSON *object, const char *name)
{
	cJSON *item = object->child, *next;

	for (; item; item = next) {
		next = item->next;
		if (!strcmp(item->string, name))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
	}
}

/* In place of all that have the name: a text may give it twice, and the first
 * is the one that is read.
 */
static bool
put(cJSON *object, const char *name, cJSON *item)
{
	drop(object, name);
	if (item && cJSON_AddItemToObject(object, name, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static bool
put_number(cJSON *object, const char *name, double x)
{
	return put(object, name, cJSON_CreateNumber(x));
}

/* Four digits are more than is known. */
static double
rounded(double x)
{
	double unit = pow(10, floor(log10(x)) - 3);

	return unit >= 1 ? round(x / unit) * unit
			 : round(x / unit) / round(1 / unit);
}

static cJSON *
known_item(const struct spw_known *k)
{
	cJSON *item = cJSON_CreateObject();
	char traits[17];

	(void)snprintf(traits, sizeof(traits), "%016" PRIx64, k->traits);
	if (item && put(item, "traits", cJSON_CreateString(traits)) &&
	    put_number(item, "codec", k->choice.codec) &&
	    put_number(item, "level", k->choice.level) &&
	    put_number(item, "filter", k->choice.filter) &&
	    put_number(item, "width", k->choice.width) &&
	    put_number(item, "weight", rounded(k->weight)) &&
	    (!k->pack || put_number(item, "compress", rounded(k->pack))) &&
	    (!k->unpack ||
	     put_number(item, "decompress", rounded(k->unpack))) &&
	    put_number(item, "fraction", rounded(k->fraction)))
		return item;
	cJSON_Delete(item);
	return NULL;
}

static cJSON *
costs_item(const struct spw_seed *seed)
{
	cJSON *costs = cJSON_CreateArray();

	for (size_t i = 0; costs && i < seed->n; i++) {
		cJSON *item = known_item(&seed->at[i]);

		if (!item || !cJSON_AddItemToArray(costs, item)) {
			cJSON_Delete(item);
			cJSON_Delete(costs);
			return NULL;
		}
	}
	return costs;
}

static cJSON *
machine_item(const struct spw_seed *seed)
{
	cJSON *machine = cJSON_CreateObject();

	if (machine && put(machine, "cpu", cJSON_CreateString(seed->cpu)) &&
	    put_number(machine, "cores", seed->cores))
		return machine;
	cJSON_Delete(machine);
	return NULL;
}

static cJSON *
time_item(void)
{
	time_t now = time(NULL);
	char text[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return cJSON_CreateString(text);
}

/* Under one another, with a line end at the last; NULL: no memory. */
static char *
print_tree(const cJSON *root)
{
	char *made = cJSON_Print(root), *text = NULL;
	size_t n;

	if (made && (text = malloc((n = strlen(made)) + 2))) {
		memcpy(text, made, n);
		strcpy(text + n, "\n");
	}
	cJSON_free(made);
	return text;
}

static cJSON *
point_item(const struct spw_seed_tier *t, unsigned i)
{
	cJSON *item = cJSON_CreateObject();

	if (item && put_number(item, "size", t->point[i].size) &&
	    put_number(item, "depth", t->point[i].depth) &&
	    put_number(item, "write", rounded(t->point[i].write)) &&
	    put_number(item, "read", rounded(t->point[i].read)))
		return item;
	cJSON_Delete(item);
	return NULL;
}

static bool
put_points(cJSON *object, const struct spw_seed_tier *t)
{
	cJSON *points = cJSON_CreateArray();

	for (unsigned i = 0; points && i < t->n; i++) {
		cJSON *item = point_item(t, i);

		if (!item || !cJSON_AddItemToArray(points, item)) {
			cJSON_Delete(item);
			cJSON_Delete(points);
			return false;
		}
	}
	return put(object, "points", points);
}

static cJSON *
tier_item(const struct spw_seed_tier *t)
{
	cJSON *item = cJSON_CreateObject();

	if (item && put_number(item, "write", rounded(t->write)) &&
	    put_number(item, "read", rounded(t->read)) &&
	    put_number(item, "latency", t->latency) && put_points(item, t))
		return item;
	cJSON_Delete(item);
	return NULL;
}

/* The object of this name in root, as it is or new and empty; NULL: no
 * memory.
 */
static cJSON *
member(cJSON *root, const char *name)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);

	if (!cJSON_IsObject(item))
		item = put(root, name, cJSON_CreateObject())
		       ? cJSON_GetObjectItemCaseSensitive(root, name) : NULL;
	return item;
}

/* Tiers that were not measured this time stay. */
static bool
put_profile(cJSON *root, const struct spw_seed_profile *p)
{
	cJSON *tiers = member(root, "tiers");
	cJSON *versions = member(root, "versions");
	bool ok = tiers && versions && put(root, "profiled", time_item());

	for (unsigned i = 0; ok && i < p->n_tiers; i++)
		ok = put(tiers, p->tier[i].name, tier_item(&p->tier[i]));
	for (unsigned i = 0; ok && i < p->n_versions; i++)
		ok = put(versions, p->version[i].name,
			 cJSON_CreateString(p->version[i].text));
	return ok;
}

int
spw_seed_print(const char *old, const struct spw_seed *seed,
	       const struct spw_seed_profile *profile, char **ret_text)
{
	cJSON *root = old ? cJSON_Parse(old) : NULL;
	char *text = NULL;

	if (!cJSON_IsObject(root)) {
		cJSON_Delete(root);
		root = cJSON_CreateObject();
	}
	if (root && put_number(root, VERSION, SPW_SEED_VERSION) &&
	    put(root, "machine", machine_item(seed)) &&
	    put(root, "updated", time_item()) &&
	    (!profile || put_profile(root, profile)) &&
	    put(root, "costs", costs_item(seed)))
		text = print_tree(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

static bool
get_tier(const cJSON *item, struct spw_seed_tier *ret)
{
	return get_figure(item, "write", 1, 1e15, &ret->write) &&
	       get_figure(item, "read", 1, 1e15, &ret->read) &&
	       get_figure(item, "latency", 0, 3600, &ret->latency) &&
	       ret->write > 0 && ret->read > 0;
}

static void
find_tier(const cJSON *tiers, struct spw_seed_tier *tier)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(tiers, tier->name);
	struct spw_seed_tier found = { .n = 0 };

	if (!item || !get_tier(item, &found))
		return;
	tier->write = found.write;
	tier->read = found.read;
	tier->latency = found.latency;
}

void
spw_seed_find_tiers(const char *text, struct spw_seed_tier *tiers, unsigned n)
{
	cJSON *root = is_long(text) ? NULL : cJSON_Parse(text);
	struct spw_seed seed = { .n = 0 };
	double version;

	get_machine(root, &seed);
	if (get_whole(root, VERSION, SPW_SEED_VERSION, SPW_SEED_VERSION,
		      &version) && spw_seed_is_ours(&seed))
		for (unsigned i = 0; i < n; i++)
			find_tier(cJSON_GetObjectItemCaseSensitive(root,
								   "tiers"),
				  &tiers[i]);
	cJSON_Delete(root);
}
