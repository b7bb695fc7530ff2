/*
 * Parameters in PostgreSQL's binary format: without escaping, and without printing and parsing of numbers.
 * Arrays grow by elements behind a header that is filled in when the array is sealed.
 *
 * Array (src/backend/utils/adt/arrayfuncs.c, array_recv): dimensions, has-null flag, element type; then per
 * dimension length and lower bound; then each element as length (-1: NULL) and bytes. All integers are 32
 * bits, big-endian.
 */
#include "io/pg/pg.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define ARRAY_HEADER_SIZE 20

/* Type ids of pg_type, which are stable in all releases (pg_type.dat). */
static uint32_t type_id(enum mg_pg_type type)
{
    switch (type) {
    case MG_PG_TEXT:
        return 25;
    case MG_PG_INT:
        return 20;
    case MG_PG_BOOL:
        return 16;
    case MG_PG_BYTES:
        return 17;
    }
    return 0;
}

void mg_pg_params_init(struct mg_pg_params *params)
{
    params->count = 0;
    params->failed = params->is_out_of_memory = false;
}

void mg_pg_params_finish(struct mg_pg_params *params)
{
    for (int i = 0; i < params->count; i++) {
        mg_buf_finish(&params->items[i].bytes);
    }
    params->count = 0;
}

bool mg_pg_params_copy(const struct mg_pg_params *params, struct mg_pg_params *ret_params)
{
    *ret_params = *params;
    for (int i = 0; i < params->count; i++) {
        const struct mg_buf *bytes = &params->items[i].bytes;
        mg_buf_init(&ret_params->items[i].bytes, MG_PG_PARAM_BYTES_MAX);
        mg_buf_append(&ret_params->items[i].bytes, bytes->data, bytes->len);
        if (ret_params->items[i].bytes.failed) {
            ret_params->count = i + 1;
            mg_pg_params_finish(ret_params);
            return false;
        }
    }
    return true;
}

static struct mg_pg_param *add(struct mg_pg_params *params, enum mg_pg_type type)
{
    assert(params->count < MG_PG_PARAMS_MAX);
    struct mg_pg_param *param = &params->items[params->count++];
    *param = (struct mg_pg_param){.type = type};
    mg_buf_init(&param->bytes, MG_PG_PARAM_BYTES_MAX);
    return param;
}

static void append_u32(struct mg_buf *buf, uint32_t number)
{
    uint32_t wire = htobe32(number);
    mg_buf_append(buf, &wire, sizeof(wire));
}

static void append_i64(struct mg_buf *buf, int64_t number)
{
    uint64_t wire = htobe64((uint64_t)number);
    mg_buf_append(buf, &wire, sizeof(wire));
}

void mg_pg_add_text(struct mg_pg_params *params, struct mg_slice text)
{
    struct mg_pg_param *param = add(params, MG_PG_TEXT);
    param->is_null = text.data == NULL;
    if (!param->is_null) {
        mg_buf_append(&param->bytes, text.data, text.len);
    }
}

void mg_pg_add_int(struct mg_pg_params *params, int64_t number)
{
    append_i64(&add(params, MG_PG_INT)->bytes, number);
}

int mg_pg_add_array(struct mg_pg_params *params, enum mg_pg_type type)
{
    static const char space[ARRAY_HEADER_SIZE];
    struct mg_pg_param *param = add(params, type);
    param->is_array = true;
    mg_buf_append(&param->bytes, space, sizeof(space));
    return params->count - 1;
}

static struct mg_pg_param *element(struct mg_pg_params *params, int index, bool is_null)
{
    assert(index >= 0 && index < params->count && params->items[index].is_array);
    struct mg_pg_param *param = &params->items[index];
    param->element_count++;
    if (is_null) {
        param->has_null_element = true;
        append_u32(&param->bytes, UINT32_MAX);
    }
    return param;
}

void mg_pg_push_text(struct mg_pg_params *params, int index, struct mg_slice text)
{
    struct mg_pg_param *param = element(params, index, text.data == NULL);
    assert(param->type == MG_PG_TEXT || param->type == MG_PG_BYTES);
    if (text.data == NULL) {
        return;
    }
    if (text.len > MG_PG_PARAM_BYTES_MAX) {
        params->failed = true;
        return;
    }
    append_u32(&param->bytes, (uint32_t)text.len);
    mg_buf_append(&param->bytes, text.data, text.len);
}

void mg_pg_push_int(struct mg_pg_params *params, int index, int64_t number)
{
    struct mg_pg_param *param = element(params, index, false);
    assert(param->type == MG_PG_INT);
    const uint64_t wire = htobe64((uint64_t)number);
    const uint32_t length = htobe32(sizeof(wire));
    char bytes[sizeof(length) + sizeof(wire)]; /* at once: most elements are of this type */
    memcpy(bytes, &length, sizeof(length));
    memcpy(bytes + sizeof(length), &wire, sizeof(wire));
    mg_buf_append(&param->bytes, bytes, sizeof(bytes));
}

void mg_pg_push_time(struct mg_pg_params *params, int index, int64_t time_ms)
{
    if (time_ms != 0) {
        mg_pg_push_int(params, index, time_ms);
        return;
    }
    (void)element(params, index, true); /* NULL: no bytes follow the length */
}

void mg_pg_push_bool(struct mg_pg_params *params, int index, bool is_true)
{
    struct mg_pg_param *param = element(params, index, false);
    assert(param->type == MG_PG_BOOL);
    mg_buf_append(&param->bytes, is_true ? "\0\0\0\1\1" : "\0\0\0\1\0", 5);
}

void mg_pg_push_null(struct mg_pg_params *params, int index)
{
    (void)element(params, index, true);
}

size_t mg_pg_params_size(const struct mg_pg_params *params)
{
    size_t size = 0;
    for (int i = 0; i < params->count; i++) {
        size += params->items[i].bytes.len;
    }
    return size;
}

void mg_pg_params_seal(struct mg_pg_params *params)
{
    for (int i = 0; i < params->count; i++) {
        struct mg_pg_param *param = &params->items[i];
        params->failed = params->failed || param->bytes.failed;
        params->is_out_of_memory = params->is_out_of_memory || param->bytes.is_out_of_memory;
        if (!param->is_array || params->failed) {
            continue;
        }
        uint32_t header[5] = {htobe32(1), htobe32(param->has_null_element), htobe32(type_id(param->type)),
                              htobe32((uint32_t)param->element_count), htobe32(1)};
        static_assert(sizeof(header) == ARRAY_HEADER_SIZE, "array header");
        memcpy(param->bytes.data, header, sizeof(header));
    }
}
