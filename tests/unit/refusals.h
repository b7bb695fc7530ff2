/* The table of refused orders, refusals.json: one for the function, for the scheduler and for the gateway. */
#ifndef MG_TEST_REFUSALS_H
#define MG_TEST_REFUSALS_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>

#include "json/json.h"

#define REFUSALS_BYTES_MAX 65536
#define REFUSALS_MIN       10 /* a shorter table was not read */

struct refusal {
    char definition[4096], payload[1024], code[64], reason[1024];
};

static inline void refusal_copy(struct mg_slice value, char *ret_text, size_t size)
{
    ck_assert_ptr_nonnull(value.data);
    ck_assert_uint_lt(value.len, size);
    (void)snprintf(ret_text, size, "%.*s", (int)value.len, value.data);
}

static inline void refusal_text(struct mg_slice table, const char *pointer, char *ret_text, size_t size)
{
    struct mg_buf text;
    mg_buf_init(&text, size);
    ck_assert_msg(mg_json_string(mg_json_find(table, pointer), &text), "%s", pointer);
    refusal_copy(mg_buf_slice(&text), ret_text, size);
    mg_buf_finish(&text);
}

/* The row of this number; false: there are no more. */
static inline bool refusal_read(int number, struct refusal *ret_refusal)
{
    static char bytes[REFUSALS_BYTES_MAX];
    char pointer[64], name[32];
    FILE *file = fopen(MG_SOURCE_DIR "/tests/unit/refusals.json", "re");
    ck_assert_ptr_nonnull(file);
    const struct mg_slice table = {bytes, fread(bytes, 1, sizeof(bytes), file)};
    ck_assert_uint_lt(table.len, sizeof(bytes));
    (void)fclose(file); /* only read */
    (void)snprintf(pointer, sizeof(pointer), "/cases/%d/payload", number);
    struct mg_slice payload = mg_json_find(table, pointer);
    if (payload.data == NULL) {
        ck_assert_int_ge(number, REFUSALS_MIN);
        return false;
    }
    refusal_copy(payload, ret_refusal->payload, sizeof(ret_refusal->payload));
    (void)snprintf(pointer, sizeof(pointer), "/cases/%d/code", number);
    refusal_text(table, pointer, ret_refusal->code, sizeof(ret_refusal->code));
    (void)snprintf(pointer, sizeof(pointer), "/cases/%d/reason", number);
    refusal_text(table, pointer, ret_refusal->reason, sizeof(ret_refusal->reason));
    (void)snprintf(pointer, sizeof(pointer), "/cases/%d/definition", number);
    refusal_text(table, pointer, name, sizeof(name));
    (void)snprintf(pointer, sizeof(pointer), "/definitions/%s", name);
    refusal_copy(mg_json_find(table, pointer), ret_refusal->definition, sizeof(ret_refusal->definition));
    return true;
}

#endif
