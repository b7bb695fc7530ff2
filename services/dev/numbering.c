/* See numbering.h. */
#include "numbering.h"

#include <inttypes.h>
#include <stdio.h>

#include "json/json.h"
#include "workflow/workflow.h"

/* Above the limit of a definition, for the digits of a longer number. */
#define TEXT_MAX ((size_t)2 * 1024 * 1024)

int64_t mg_numbering_next(int64_t written, int64_t newest, bool is_same)
{
    if (written > newest) {
        return written; /* a version that its author has raised counts as it is */
    }
    if (is_same) {
        return 0;
    }
    return newest < MG_WORKFLOW_VERSION_MAX ? newest + 1 : -1;
}

enum mg_class mg_numbering_write(struct mg_slice text, int64_t version, struct mg_buf *ret_text,
                                 struct mg_err *err)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRId64, version);
    return mg_json_set(text, "/version", mg_slice_of(number), ret_text, err);
}

bool mg_numbering_is_same(struct mg_slice a, struct mg_slice b)
{
    struct mg_buf one, other;
    struct mg_err err;
    mg_buf_init(&one, TEXT_MAX);
    mg_buf_init(&other, TEXT_MAX);
    bool is_same = mg_numbering_write(a, 1, &one, &err) == MG_OK &&
                   mg_numbering_write(b, 1, &other, &err) == MG_OK && !one.failed && !other.failed &&
                   mg_slice_equal(mg_buf_slice(&one), mg_buf_slice(&other));
    mg_buf_finish(&one);
    mg_buf_finish(&other);
    return is_same;
}
