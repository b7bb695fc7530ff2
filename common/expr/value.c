/* Values: from JSON, as JSON, as text, and as a person would write them in a reason. */
#include <string.h>

#include "expr/tree.h"

#define SHOWN_TEXT_MAX 40 /* bytes of a value in a reason: several fit in one line */

const char *mg_expr_type_name(enum mg_expr_type type)
{
    static const char *const NAMES[] = {"unknown", "null",       "a boolean", "a number", "a text",
                                        "a time",  "a duration", "a list",    "an object"};
    return NAMES[type];
}

struct mg_slice mg_expr_text(const struct mg_expr *expr)
{
    return expr->text;
}

enum mg_expr_type mg_expr_type_of(const struct mg_expr *expr)
{
    return (enum mg_expr_type)expr->nodes[expr->root].type;
}

bool mg_expr_is_constant(const struct mg_expr *expr)
{
    return expr->is_constant;
}

struct mg_expr_value mg_expr_value_of(struct mg_slice json)
{
    struct mg_expr_value value = {.type = MG_EXPR_NULL, .list_node = MG_EXPR_NONE};
    switch (mg_json_type_of(json)) {
    case MG_JSON_NULL:
        break;
    case MG_JSON_BOOL:
        value.type = MG_EXPR_BOOLEAN;
        value.boolean = json.data[0] == 't';
        break;
    case MG_JSON_NUMBER:
        value.type = MG_EXPR_NUMBER;
        value.text = json;
        value.is_wide = !mg_decimal_read(json, &value.number);
        break;
    case MG_JSON_STRING:
        value.type = MG_EXPR_TEXT;
        value.text = (struct mg_slice){json.data + 1, json.len - 2};
        value.is_escaped = memchr(json.data, '\\', json.len) != NULL;
        break;
    case MG_JSON_ARRAY:
        value.type = MG_EXPR_LIST;
        value.text = json;
        break;
    case MG_JSON_OBJECT:
        value.type = MG_EXPR_OBJECT;
        value.text = json;
        break;
    }
    return value;
}

/* The text of a scalar that has one by arithmetic or by form; absent for others. */
static struct mg_slice made_text(const struct mg_expr_value *value, char made[MG_DECIMAL_TEXT_SIZE])
{
    struct mg_slice text = {made, 0};
    if (value->type == MG_EXPR_BOOLEAN) {
        return mg_slice_of(value->boolean ? "true" : "false");
    }
    if (value->type == MG_EXPR_NUMBER) {
        if (value->text.data != NULL) {
            return value->text;
        }
        text.len = mg_decimal_write(value->number, made);
        return text;
    }
    if (value->type == MG_EXPR_TIME) {
        text.len = mg_expr_time_write(value->number.coefficient, made);
        return text;
    }
    if (value->type == MG_EXPR_DURATION) {
        text.len = mg_expr_duration_write(value->number.coefficient, made);
        return text;
    }
    return (struct mg_slice){0};
}

static struct mg_slice text_or_empty(struct mg_slice text)
{
    return text.len > 0 ? text : mg_slice_of("");
}

void mg_expr_write_json(const struct mg_expr_value *value, struct mg_buf *ret_json)
{
    char made[MG_DECIMAL_TEXT_SIZE];
    switch (value->type) {
    case MG_EXPR_BOOLEAN:
    case MG_EXPR_NUMBER:
        mg_buf_append_slice(ret_json, made_text(value, made));
        break;
    case MG_EXPR_TIME:
    case MG_EXPR_DURATION:
        mg_buf_append_json(ret_json, made_text(value, made));
        break;
    case MG_EXPR_TEXT:
        if (value->is_escaped) { /* JSON already */
            mg_buf_append_text(ret_json, "\"");
            mg_buf_append_slice(ret_json, value->text);
            mg_buf_append_text(ret_json, "\"");
        } else {
            mg_buf_append_json(ret_json, text_or_empty(value->text));
        }
        break;
    case MG_EXPR_LIST:
    case MG_EXPR_OBJECT:
        mg_buf_append_slice(ret_json, value->text);
        break;
    case MG_EXPR_UNKNOWN:
    case MG_EXPR_NULL:
        mg_buf_append_text(ret_json, "null");
        break;
    }
}

bool mg_expr_write_text(const struct mg_expr_value *value, struct mg_buf *ret_text)
{
    char made[MG_DECIMAL_TEXT_SIZE];
    if (value->type == MG_EXPR_TEXT) {
        if (value->is_escaped) {
            const char *begin = value->text.data - 1; /* its quotes: it lies in JSON */
            return mg_json_string((struct mg_slice){begin, value->text.len + 2}, ret_text);
        }
        if (value->text.len > 0) {
            mg_buf_append_slice(ret_text, value->text);
        }
        return true;
    }
    struct mg_slice text = made_text(value, made);
    if (text.data == NULL) {
        return false;
    }
    mg_buf_append_slice(ret_text, text);
    return true;
}

void mg_expr_line(char *text)
{
    size_t left = strlen(text);
    for (char *at = text; left > 0;) {
        bool is_end = *at == '\n' || *at == '\t';
        size_t len = is_end ? 1 : mg_text_steers(at, left);
        memset(at, ' ', len);
        len = len > 0 ? len : 1;
        at += len;
        left -= len;
    }
    mg_utf8_mend(text);
}

static void show_text(const struct mg_expr_value *value, struct mg_buf *ret_text)
{
    char plain[SHOWN_TEXT_MAX];
    size_t len = 0;
    struct mg_expr_value part = *value;
    bool is_cut = part.text.len > sizeof(plain);
    if (is_cut) {
        part.text.len = sizeof(plain);
        while (part.text.len > 0 && (part.text.data[part.text.len] & 0xc0) == 0x80) {
            part.text.len--; /* not within a character; an escape that is cut is left out by its reader */
        }
    }
    if (!mg_expr_text_copy(&part, plain, sizeof(plain), &len)) {
        len = 0;
    }
    for (size_t i = 0; i < len; i++) { /* one line, even of a payload with line breaks */
        plain[i] = (unsigned char)plain[i] < ' ' ? ' ' : plain[i];
    }
    mg_buf_append_text(ret_text, "'");
    mg_buf_append(ret_text, plain, len);
    mg_buf_append_text(ret_text, is_cut ? "…'" : "'");
}

void mg_expr_show(const struct mg_expr_value *value, struct mg_buf *ret_text)
{
    char made[MG_DECIMAL_TEXT_SIZE];
    if (value->type == MG_EXPR_TEXT) {
        show_text(value, ret_text);
        return;
    }
    struct mg_slice text = made_text(value, made);
    if (text.data == NULL) {
        text = mg_slice_of(value->type == MG_EXPR_NULL ? "null" : mg_expr_type_name(value->type));
    }
    size_t len = text.len < SHOWN_TEXT_MAX ? text.len : SHOWN_TEXT_MAX;
    mg_buf_append(ret_text, text.data, len);
    if (len < text.len) {
        mg_buf_append_text(ret_text, "…");
    }
}

int mg_expr_column(struct mg_slice text, size_t at)
{
    int column = 1;
    for (size_t i = 0; i < at && i < text.len; i++) {
        column += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    }
    return column;
}
