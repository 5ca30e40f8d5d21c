/* SPDX-License-Identifier: BSD-3-Clause */
/* tiledb-api.h -- the part of TileDB's C interface that dense arrays need */

/* TileDB is opened at run time and comes without headers, so what we call is
 * declared here, once.  The list below becomes the struct of pointers and
 * the table that fills it.  Arguments and numbers were compared with the
 * headers of the last release of each minor version from 2.15 to 2.30 and are
 * the same in all (2.15 does not know the status INITIALIZED); all handles
 * are opaque.  Functions return SPW_TDB_OK or one of the errors unless they
 * return nothing; a _free takes the address of the handle and clears it.
 */

#ifndef SPW_TIERS_TILEDB_API_H
#define SPW_TIERS_TILEDB_API_H

#include <stdint.h>

enum { SPW_TDB_OK = 0, SPW_TDB_ERR = -1, SPW_TDB_OOM = -2 };

enum spw_tdb_datatype {
	SPW_TDB_INT32 = 0, SPW_TDB_INT64 = 1,
	SPW_TDB_FLOAT32 = 2, SPW_TDB_FLOAT64 = 3,
	SPW_TDB_CHAR = 4,
	SPW_TDB_INT8 = 5, SPW_TDB_UINT8 = 6,
	SPW_TDB_INT16 = 7, SPW_TDB_UINT16 = 8,
	SPW_TDB_UINT32 = 9, SPW_TDB_UINT64 = 10,
	SPW_TDB_BLOB = 40,
};
enum spw_tdb_array_type { SPW_TDB_DENSE = 0 };
enum spw_tdb_layout { SPW_TDB_ROW_MAJOR = 0, SPW_TDB_COL_MAJOR = 1,
		      SPW_TDB_GLOBAL_ORDER = 2 };
enum spw_tdb_query_type { SPW_TDB_READ = 0, SPW_TDB_WRITE = 1,
			  SPW_TDB_MODIFY_EXCLUSIVE = 4 };
enum spw_tdb_status { SPW_TDB_FAILED = 0, SPW_TDB_COMPLETED = 1,
		      SPW_TDB_INPROGRESS = 2, SPW_TDB_INCOMPLETE = 3,
		      SPW_TDB_UNINITIALIZED = 4, SPW_TDB_INITIALIZED = 5 };
enum spw_tdb_filter_type { SPW_TDB_FILTER_GZIP = 1, SPW_TDB_FILTER_ZSTD = 2,
			   SPW_TDB_FILTER_LZ4 = 3,
			   SPW_TDB_FILTER_BITSHUFFLE = 8,
			   SPW_TDB_FILTER_BYTESHUFFLE = 9,
			   SPW_TDB_FILTER_MD5 = 12,
			   SPW_TDB_FILTER_SHA256 = 13 };
enum spw_tdb_filter_option { SPW_TDB_COMPRESSION_LEVEL = 0 };
enum spw_tdb_object { SPW_TDB_OBJECT_INVALID = 0, SPW_TDB_OBJECT_GROUP = 1,
		      SPW_TDB_OBJECT_ARRAY = 2 };
enum spw_tdb_fs { SPW_TDB_FS_S3 = 1, SPW_TDB_FS_AZURE = 2,
		  SPW_TDB_FS_GCS = 3 };

/* Handles. */
typedef struct spw_tdb_array spw_tdb_array_t;
typedef struct spw_tdb_attr spw_tdb_attr_t;
typedef struct spw_tdb_config spw_tdb_config_t;
typedef struct spw_tdb_ctx spw_tdb_ctx_t;
typedef struct spw_tdb_dim spw_tdb_dim_t;
typedef struct spw_tdb_domain spw_tdb_domain_t;
typedef struct spw_tdb_error spw_tdb_error_t;
typedef struct spw_tdb_filter spw_tdb_filter_t;
typedef struct spw_tdb_filters spw_tdb_filters_t;
typedef struct spw_tdb_frags spw_tdb_frags_t;
typedef struct spw_tdb_query spw_tdb_query_t;
typedef struct spw_tdb_schema spw_tdb_schema_t;
typedef struct spw_tdb_sub spw_tdb_sub_t;
typedef struct spw_tdb_vfs spw_tdb_vfs_t;

/* CALL(result, name without tiledb_, arguments) */
#define SPW_TDB_CALLS(CALL)						\
	/* version, errors */						\
	CALL(void, version, (int32_t *, int32_t *, int32_t *))		\
	CALL(int32_t, ctx_get_last_error, (spw_tdb_ctx_t *,		\
		spw_tdb_error_t **))					\
	CALL(int32_t, error_message, (spw_tdb_error_t *, const char **)) \
	CALL(void, error_free, (spw_tdb_error_t **))			\
	/* settings, context */						\
	CALL(int32_t, config_alloc, (spw_tdb_config_t **,		\
		spw_tdb_error_t **))					\
	CALL(int32_t, config_set, (spw_tdb_config_t *,			\
		const char *key, const char *value, spw_tdb_error_t **)) \
	CALL(void, config_free, (spw_tdb_config_t **))			\
	CALL(int32_t, ctx_alloc_with_error, (spw_tdb_config_t *,	\
		spw_tdb_ctx_t **, spw_tdb_error_t **))			\
	CALL(void, ctx_free, (spw_tdb_ctx_t **))			\
	CALL(int32_t, ctx_is_supported_fs, (spw_tdb_ctx_t *,		\
		enum spw_tdb_fs, int32_t *))				\
	CALL(int32_t, ctx_cancel_tasks, (spw_tdb_ctx_t *))		\
	/* dimensions: lo_hi and extent point to values of the type */	\
	CALL(int32_t, dimension_alloc, (spw_tdb_ctx_t *,		\
		const char *name, enum spw_tdb_datatype,		\
		const void *lo_hi, const void *extent,			\
		spw_tdb_dim_t **))					\
	CALL(void, dimension_free, (spw_tdb_dim_t **))			\
	CALL(int32_t, domain_alloc, (spw_tdb_ctx_t *,			\
		spw_tdb_domain_t **))					\
	CALL(int32_t, domain_add_dimension, (spw_tdb_ctx_t *,		\
		spw_tdb_domain_t *, spw_tdb_dim_t *))			\
	CALL(void, domain_free, (spw_tdb_domain_t **))			\
	/* filters */							\
	CALL(int32_t, filter_alloc, (spw_tdb_ctx_t *,			\
		enum spw_tdb_filter_type, spw_tdb_filter_t **))		\
	CALL(int32_t, filter_set_option, (spw_tdb_ctx_t *,		\
		spw_tdb_filter_t *, enum spw_tdb_filter_option,		\
		const void *value))					\
	CALL(void, filter_free, (spw_tdb_filter_t **))			\
	CALL(int32_t, filter_list_alloc, (spw_tdb_ctx_t *,		\
		spw_tdb_filters_t **))					\
	CALL(int32_t, filter_list_add_filter, (spw_tdb_ctx_t *,		\
		spw_tdb_filters_t *, spw_tdb_filter_t *))		\
	CALL(int32_t, filter_list_set_max_chunk_size, (spw_tdb_ctx_t *,	\
		spw_tdb_filters_t *, uint32_t))				\
	CALL(void, filter_list_free, (spw_tdb_filters_t **))		\
	/* attributes */						\
	CALL(int32_t, attribute_alloc, (spw_tdb_ctx_t *,		\
		const char *name, enum spw_tdb_datatype,		\
		spw_tdb_attr_t **))					\
	CALL(int32_t, attribute_set_cell_val_num, (spw_tdb_ctx_t *,	\
		spw_tdb_attr_t *, uint32_t))				\
	CALL(int32_t, attribute_set_fill_value, (spw_tdb_ctx_t *,	\
		spw_tdb_attr_t *, const void *value, uint64_t size))	\
	CALL(int32_t, attribute_set_filter_list, (spw_tdb_ctx_t *,	\
		spw_tdb_attr_t *, spw_tdb_filters_t *))			\
	CALL(void, attribute_free, (spw_tdb_attr_t **))			\
	/* schema */							\
	CALL(int32_t, array_schema_alloc, (spw_tdb_ctx_t *,		\
		enum spw_tdb_array_type, spw_tdb_schema_t **))		\
	CALL(int32_t, array_schema_set_domain, (spw_tdb_ctx_t *,	\
		spw_tdb_schema_t *, spw_tdb_domain_t *))		\
	CALL(int32_t, array_schema_add_attribute, (spw_tdb_ctx_t *,	\
		spw_tdb_schema_t *, spw_tdb_attr_t *))			\
	CALL(int32_t, array_schema_set_cell_order, (spw_tdb_ctx_t *,	\
		spw_tdb_schema_t *, enum spw_tdb_layout))		\
	CALL(int32_t, array_schema_set_tile_order, (spw_tdb_ctx_t *,	\
		spw_tdb_schema_t *, enum spw_tdb_layout))		\
	CALL(int32_t, array_schema_check, (spw_tdb_ctx_t *,		\
		spw_tdb_schema_t *))					\
	CALL(int32_t, array_schema_load, (spw_tdb_ctx_t *,		\
		const char *uri, spw_tdb_schema_t **))			\
	CALL(int32_t, array_schema_has_attribute, (spw_tdb_ctx_t *,	\
		const spw_tdb_schema_t *, const char *name, int32_t *))	\
	CALL(void, array_schema_free, (spw_tdb_schema_t **))		\
	/* array: times in ms; metadata belongs to the open array */	\
	CALL(int32_t, array_create, (spw_tdb_ctx_t *, const char *uri,	\
		const spw_tdb_schema_t *))				\
	CALL(int32_t, array_alloc, (spw_tdb_ctx_t *, const char *uri,	\
		spw_tdb_array_t **))					\
	CALL(int32_t, array_set_config, (spw_tdb_ctx_t *,		\
		spw_tdb_array_t *, spw_tdb_config_t *))			\
	CALL(int32_t, array_set_open_timestamp_start, (spw_tdb_ctx_t *,	\
		spw_tdb_array_t *, uint64_t))				\
	CALL(int32_t, array_set_open_timestamp_end, (spw_tdb_ctx_t *,	\
		spw_tdb_array_t *, uint64_t))				\
	CALL(int32_t, array_open, (spw_tdb_ctx_t *, spw_tdb_array_t *,	\
		enum spw_tdb_query_type))				\
	CALL(int32_t, array_close, (spw_tdb_ctx_t *, spw_tdb_array_t *)) \
	CALL(void, array_free, (spw_tdb_array_t **))			\
	CALL(int32_t, array_get_schema, (spw_tdb_ctx_t *,		\
		spw_tdb_array_t *, spw_tdb_schema_t **))		\
	CALL(int32_t, array_get_non_empty_domain, (spw_tdb_ctx_t *,	\
		spw_tdb_array_t *, void *lo_hi, int32_t *empty))	\
	CALL(int32_t, array_put_metadata, (spw_tdb_ctx_t *,		\
		spw_tdb_array_t *, const char *key,			\
		enum spw_tdb_datatype, uint32_t num, const void *value)) \
	CALL(int32_t, array_get_metadata, (spw_tdb_ctx_t *,		\
		spw_tdb_array_t *, const char *key,			\
		enum spw_tdb_datatype *, uint32_t *num,			\
		const void **value))					\
	CALL(int32_t, array_consolidate, (spw_tdb_ctx_t *,		\
		const char *uri, spw_tdb_config_t *))			\
	CALL(int32_t, array_vacuum, (spw_tdb_ctx_t *, const char *uri,	\
		spw_tdb_config_t *))					\
	CALL(int32_t, array_delete, (spw_tdb_ctx_t *, const char *uri))	\
	/* part of an array: all lo_hi pairs, or range by range */	\
	CALL(int32_t, subarray_alloc, (spw_tdb_ctx_t *,			\
		const spw_tdb_array_t *, spw_tdb_sub_t **))		\
	CALL(int32_t, subarray_set_subarray, (spw_tdb_ctx_t *,		\
		spw_tdb_sub_t *, const void *lo_hi))			\
	CALL(int32_t, subarray_add_range, (spw_tdb_ctx_t *,		\
		spw_tdb_sub_t *, uint32_t dim, const void *lo,		\
		const void *hi, const void *stride))			\
	CALL(void, subarray_free, (spw_tdb_sub_t **))			\
	/* query: size in bytes, given and returned */			\
	CALL(int32_t, query_alloc, (spw_tdb_ctx_t *, spw_tdb_array_t *,	\
		enum spw_tdb_query_type, spw_tdb_query_t **))		\
	CALL(int32_t, query_set_config, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, spw_tdb_config_t *))			\
	CALL(int32_t, query_set_layout, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, enum spw_tdb_layout))		\
	CALL(int32_t, query_set_subarray_t, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, const spw_tdb_sub_t *))		\
	CALL(int32_t, query_set_data_buffer, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, const char *attribute, void *,	\
		uint64_t *size))					\
	CALL(int32_t, query_submit, (spw_tdb_ctx_t *,			\
		spw_tdb_query_t *))					\
	CALL(int32_t, query_finalize, (spw_tdb_ctx_t *,			\
		spw_tdb_query_t *))					\
	CALL(int32_t, query_submit_and_finalize, (spw_tdb_ctx_t *,	\
		spw_tdb_query_t *))					\
	CALL(int32_t, query_get_status, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, enum spw_tdb_status *))		\
	CALL(int32_t, query_has_results, (spw_tdb_ctx_t *,		\
		spw_tdb_query_t *, int32_t *))				\
	CALL(void, query_free, (spw_tdb_query_t **))			\
	/* what lies at a place */					\
	CALL(int32_t, object_type, (spw_tdb_ctx_t *, const char *uri,	\
		enum spw_tdb_object *))					\
	CALL(int32_t, object_remove, (spw_tdb_ctx_t *,			\
		const char *uri))					\
	CALL(int32_t, vfs_alloc, (spw_tdb_ctx_t *, spw_tdb_config_t *,	\
		spw_tdb_vfs_t **))					\
	CALL(int32_t, vfs_is_bucket, (spw_tdb_ctx_t *, spw_tdb_vfs_t *,	\
		const char *uri, int32_t *))				\
	CALL(int32_t, vfs_create_bucket, (spw_tdb_ctx_t *,		\
		spw_tdb_vfs_t *, const char *uri))			\
	CALL(void, vfs_free, (spw_tdb_vfs_t **))			\
	/* fragments: how many writes an array is made of */		\
	CALL(int32_t, fragment_info_alloc, (spw_tdb_ctx_t *,		\
		const char *uri, spw_tdb_frags_t **))			\
	CALL(int32_t, fragment_info_load, (spw_tdb_ctx_t *,		\
		spw_tdb_frags_t *))					\
	CALL(int32_t, fragment_info_get_fragment_num, (spw_tdb_ctx_t *,	\
		spw_tdb_frags_t *, uint32_t *))				\
	CALL(int32_t, fragment_info_get_to_vacuum_num,			\
		(spw_tdb_ctx_t *, spw_tdb_frags_t *, uint32_t *))	\
	CALL(void, fragment_info_free, (spw_tdb_frags_t **))

#define SPW_TDB_MEMBER(result, name, args) result (*name) args;

struct spw_tdb_api {
	SPW_TDB_CALLS(SPW_TDB_MEMBER)
};

#undef SPW_TDB_MEMBER

#endif
