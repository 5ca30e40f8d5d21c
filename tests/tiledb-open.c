/* SPDX-License-Identifier: BSD-3-Clause */
/* tiledb-open.c -- a dense array lives through our own TileDB declarations */

/* Usage: tiledb-open [directory to look in last].  Creates an array in a
 * directory of its own, writes it twice, reads it back, merges its fragments,
 * reads again and deletes it.
 */

#include <errno.h>
#include <string.h>

#include "tests/guarded.h"
#include "tiers/tiledb-lib.h"

#define SIDE 16u			/* cells along a side */
#define TILE 4u
#define BLANK (-1.0)			/* what unwritten cells hold */

/* OpenSSL inside the library keeps a little; read by the leak sanitizer. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void)
{
	return "leak:libtiledb";
}

/* Nor are its threads and locks watched; read by the thread sanitizer. */
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void)
{
	return "called_from_lib:libtiledb\n"
	       "thread:libtiledb\n"
	       "mutex:std::condition_variable::wait";
}

static struct spw_tiledb lib;
static const struct spw_tdb_api *api = &lib.api;
static spw_tdb_ctx_t *ctx;
static char uri[PATH_MAX];

static void
say_last_error(void)
{
	spw_tdb_error_t *error = NULL;
	const char *text = "no message";

	if (!ctx || api->ctx_get_last_error(ctx, &error) || !error)
		return;
	(void)api->error_message(error, &text);
	fprintf(stderr, "TileDB says: %s\n", text);
	api->error_free(&error);
}

#define OK(call)							\
	do {								\
		if ((call) != SPW_TDB_OK) {				\
			say_last_error();				\
			CHECK(!"" #call);				\
		}							\
	} while (0)

/* A thread for each task is enough.  The two writes together span more cells
 * than they hold, which merging has to be told to accept; and its buffers
 * would be a good part of 10 GiB.
 */
static void
open_context(void)
{
	static const char *const settings[][2] = {
		{ "sm.compute_concurrency_level", "1" },
		{ "sm.io_concurrency_level", "1" },
		{ "sm.consolidation.amplification", "2.0" },
		{ "sm.mem.total_budget", "67108864" },
	};
	spw_tdb_config_t *config = NULL;
	spw_tdb_error_t *error = NULL;
	size_t i;

	OK(api->config_alloc(&config, &error));
	for (i = 0; i < ARRAY_LEN(settings); i++)
		OK(api->config_set(config, settings[i][0], settings[i][1],
				   &error));
	OK(api->ctx_alloc_with_error(config, &ctx, &error));
	api->config_free(&config);
	CHECK(ctx && !config);
}

static void
add_dimension(spw_tdb_domain_t *domain, const char *name)
{
	const uint64_t lo_hi[2] = { 0, SIDE - 1 }, extent = TILE;
	spw_tdb_dim_t *dim = NULL;

	OK(api->dimension_alloc(ctx, name, SPW_TDB_UINT64, lo_hi, &extent,
				&dim));
	OK(api->domain_add_dimension(ctx, domain, dim));
	api->dimension_free(&dim);
}

static spw_tdb_attr_t *
make_attribute(void)
{
	const int32_t level = 3;
	const double blank = BLANK;
	spw_tdb_filter_t *filter = NULL;
	spw_tdb_filters_t *filters = NULL;
	spw_tdb_attr_t *attr = NULL;

	OK(api->filter_alloc(ctx, SPW_TDB_FILTER_ZSTD, &filter));
	OK(api->filter_set_option(ctx, filter, SPW_TDB_COMPRESSION_LEVEL,
				  &level));
	OK(api->filter_list_alloc(ctx, &filters));
	OK(api->filter_list_add_filter(ctx, filters, filter));
	OK(api->filter_list_set_max_chunk_size(ctx, filters, 65536));
	OK(api->attribute_alloc(ctx, "v", SPW_TDB_FLOAT64, &attr));
	OK(api->attribute_set_cell_val_num(ctx, attr, 1));
	OK(api->attribute_set_fill_value(ctx, attr, &blank, sizeof(blank)));
	OK(api->attribute_set_filter_list(ctx, attr, filters));
	api->filter_list_free(&filters);
	api->filter_free(&filter);
	return attr;
}

static void
create_array(void)
{
	spw_tdb_domain_t *domain = NULL;
	spw_tdb_schema_t *schema = NULL;
	spw_tdb_attr_t *attr = make_attribute();
	enum spw_tdb_object type;

	OK(api->domain_alloc(ctx, &domain));
	add_dimension(domain, "row");
	add_dimension(domain, "column");
	OK(api->array_schema_alloc(ctx, SPW_TDB_DENSE, &schema));
	OK(api->array_schema_set_domain(ctx, schema, domain));
	OK(api->array_schema_add_attribute(ctx, schema, attr));
	OK(api->array_schema_set_cell_order(ctx, schema, SPW_TDB_ROW_MAJOR));
	OK(api->array_schema_set_tile_order(ctx, schema, SPW_TDB_ROW_MAJOR));
	OK(api->array_schema_check(ctx, schema));
	OK(api->object_type(ctx, uri, &type));
	CHECK(type == SPW_TDB_OBJECT_INVALID);
	OK(api->array_create(ctx, uri, schema));
	OK(api->object_type(ctx, uri, &type));
	CHECK(type == SPW_TDB_OBJECT_ARRAY);
	api->array_schema_free(&schema);
	api->attribute_free(&attr);
	api->domain_free(&domain);
}

static spw_tdb_query_t *
make_query(spw_tdb_array_t *array, enum spw_tdb_query_type type,
	   const uint64_t box[4], double *cells, uint64_t *size)
{
	spw_tdb_query_t *query = NULL;
	spw_tdb_sub_t *sub = NULL;

	OK(api->subarray_alloc(ctx, array, &sub));
	OK(api->subarray_set_subarray(ctx, sub, box));
	OK(api->query_alloc(ctx, array, type, &query));
	OK(api->query_set_layout(ctx, query, SPW_TDB_ROW_MAJOR));
	OK(api->query_set_subarray_t(ctx, query, sub));
	OK(api->query_set_data_buffer(ctx, query, "v", cells, size));
	api->subarray_free(&sub);
	return query;
}

static void
run_query(spw_tdb_query_t *query)
{
	enum spw_tdb_status status;

	OK(api->query_submit(ctx, query));
	OK(api->query_get_status(ctx, query, &status));
	CHECK(status == SPW_TDB_COMPLETED);
	OK(api->query_finalize(ctx, query));
	api->query_free(&query);
}

/* Rows and columns of the box, first and last. */
static void
write_box(uint64_t time_ms, const uint64_t box[4], double value)
{
	double cells[SIDE * SIDE];
	uint64_t n = (box[1] - box[0] + 1) * (box[3] - box[2] + 1), i;
	uint64_t size = n * sizeof(double);
	spw_tdb_array_t *array = NULL;

	for (i = 0; i < n; i++)
		cells[i] = value + (double)i;
	OK(api->array_alloc(ctx, uri, &array));
	OK(api->array_set_open_timestamp_end(ctx, array, time_ms));
	OK(api->array_open(ctx, array, SPW_TDB_WRITE));
	OK(api->array_put_metadata(ctx, array, "written", SPW_TDB_UINT64, 1,
				   &time_ms));
	run_query(make_query(array, SPW_TDB_WRITE, box, cells, &size));
	OK(api->array_close(ctx, array));
	api->array_free(&array);
}

static void
check_metadata(spw_tdb_array_t *array, uint64_t expected)
{
	enum spw_tdb_datatype type;
	const void *value = NULL;
	uint32_t num = 0;

	OK(api->array_get_metadata(ctx, array, "written", &type, &num,
				   &value));
	CHECK(type == SPW_TDB_UINT64 && num == 1 && value);
	CHECK(!memcmp(value, &expected, sizeof(expected)));
}

static const uint64_t whole[4] = { 0, SIDE - 1, 0, SIDE - 1 };
static const uint64_t first[4] = { 0, 7, 0, 15 };	/* 8 x 16 from 0 */
static const uint64_t second[4] = { 4, 11, 4, 7 };	/* 8 x 4 from 1000 */

static double
expected_at(uint64_t row, uint64_t column)
{
	if (row >= 4 && row <= 11 && column >= 4 && column <= 7)
		return 1000 + (double)((row - 4) * 4 + column - 4);
	if (row <= 7)
		return (double)(row * SIDE + column);
	return BLANK;
}

static void
check_cells(void)
{
	double cells[SIDE * SIDE];
	uint64_t size = sizeof(cells), i, lo_hi[4];
	spw_tdb_array_t *array = NULL;
	int32_t empty = 1;

	OK(api->array_alloc(ctx, uri, &array));
	OK(api->array_open(ctx, array, SPW_TDB_READ));
	run_query(make_query(array, SPW_TDB_READ, whole, cells, &size));
	CHECK(size == sizeof(cells));
	for (i = 0; i < SIDE * SIDE; i++)
		CHECK(cells[i] == expected_at(i / SIDE, i % SIDE));
	check_metadata(array, 2000);
	OK(api->array_get_non_empty_domain(ctx, array, lo_hi, &empty));
	CHECK(!empty && lo_hi[0] == 0 && lo_hi[1] == 11 && lo_hi[2] == 0 &&
	      lo_hi[3] == 15);
	OK(api->array_close(ctx, array));
	api->array_free(&array);
}

static uint32_t
fragments(void)
{
	spw_tdb_frags_t *info = NULL;
	uint32_t n = 0;

	OK(api->fragment_info_alloc(ctx, uri, &info));
	OK(api->fragment_info_load(ctx, info));
	OK(api->fragment_info_get_fragment_num(ctx, info, &n));
	api->fragment_info_free(&info);
	return n;
}

static void
test_array(void)
{
	enum spw_tdb_object type;

	create_array();
	write_box(1000, first, 0);
	write_box(2000, second, 1000);
	CHECK(fragments() == 2);
	check_cells();
	OK(api->array_consolidate(ctx, uri, NULL));
	OK(api->array_vacuum(ctx, uri, NULL));
	CHECK(fragments() == 1);
	check_cells();
	OK(api->array_delete(ctx, uri));
	OK(api->object_type(ctx, uri, &type));
	CHECK(type == SPW_TDB_OBJECT_INVALID);
}

int
main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	struct spw_finding finding;
	char dir[PATH_MAX - 32];
	int r;

	r = spw_tiledb_open(argc > 1 ? argv[1] : NULL, &lib, &finding);
	if (r == -ENOENT && !getenv("SPILLWAY_TILEDB_LIB")) {
		printf("SKIP: tiledb-open: %s; %s\n", finding.text,
		       finding.hint);
		return 77;
	}
	printf("%s\n", finding.text);
	CHECK(r == 0);
	snprintf(dir, sizeof(dir), "%s/tiledb-open.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir));
	snprintf(uri, sizeof(uri), "%s/array", dir);
	open_context();
	test_array();
	api->ctx_free(&ctx);
	(void)rmdir(uri);		/* an empty directory may be left */
	CHECK(!rmdir(dir));
	return 0;
}
