/*
 * References in texts. One tokenizer serves paths, the strings of a JSON template and the check of both.
 * Rendering is a pure function of template and values. The same input gives the same bytes, because the
 * remote service de-duplicates by key and must never receive other bytes under the same key. Blanks between
 * the tokens of a JSON template are dropped, so they cannot change the bytes. Values are copied unchanged,
 * with their blanks and digits.
 */
#include "workflow/template.h"

#include <string.h>

#include "base/form.h"
#include "expr/expr.h"
#include "json/scan.h"

#define POINTER_MAX_BYTES 511 /* of one reference; no sensible definition has longer ones */

enum piece_kind { PIECE_END, PIECE_TEXT, PIECE_REFERENCE };

struct piece {
    enum piece_kind kind;
    struct mg_slice text;               /* PIECE_TEXT */
    char pointer[MG_EXPR_TEXT_MAX + 2]; /* PIECE_REFERENCE; an expression begins with "=" */
};
/* Not cleared for each text: most of it is never used. */
#define UNCLEARED __attribute__((uninitialized))

static bool begins(const char *at, const char *end, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(end - at) >= len && memcmp(at, with, len) == 0;
}

/* "${= e}" */
static enum mg_class expression_next(const char **at, const char *end, struct piece *ret_piece,
                                     struct mg_err *err)
{
    const char *begin = *at + strlen("${=");
    const char *close = mg_expr_close(begin, end);
    int shown = end - begin < 80 ? (int)(end - begin) : 80;
    if (close == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "expression ${=%.*s without \"}\"", shown, begin);
    }
    struct mg_slice text = mg_json_trim((struct mg_slice){begin, (size_t)(close - begin)});
    if (text.len > MG_EXPR_TEXT_MAX || memchr(begin, '\0', (size_t)(close - begin)) != NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "expression ${=%.*s…} is too long; up to %d bytes are allowed",
                          shown, begin, MG_EXPR_TEXT_MAX);
    }
    ret_piece->pointer[0] = '=';
    memcpy(ret_piece->pointer + 1, text.data, text.len);
    ret_piece->pointer[1 + text.len] = '\0';
    ret_piece->kind = PIECE_REFERENCE;
    *at = close + 1;
    return MG_OK;
}

static enum mg_class reference_next(const char **at, const char *end, struct piece *ret_piece,
                                    struct mg_err *err)
{
    const char *begin = *at + 2;
    if (begin < end && *begin == '=') {
        return expression_next(at, end, ret_piece, err);
    }
    const char *close = memchr(begin, '}', (size_t)(end - begin));
    if (close == NULL) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "\"${\" without \"}\"; write \"${/json/pointer}\", or \"$${\" for a plain \"${\"");
    }
    size_t len = (size_t)(close - begin);
    int shown = len < 80 ? (int)len : 80;
    if (len > POINTER_MAX_BYTES || memchr(begin, '\0', len) != NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "reference ${%.*s…} is too long; up to %d bytes are allowed",
                          shown, begin, POINTER_MAX_BYTES);
    }
    memcpy(ret_piece->pointer, begin, len);
    ret_piece->pointer[len] = '\0';
    if (len == 0 || !mg_json_pointer_is_valid(ret_piece->pointer)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "reference ${%.*s} is no JSON pointer; it begins with \"/\", as in \"${/payload/customer/id}\"",
            shown, begin);
    }
    ret_piece->kind = PIECE_REFERENCE;
    *at = close + 1;
    return MG_OK;
}

static enum mg_class piece_next(const char **at, const char *end, struct piece *ret_piece, struct mg_err *err)
{
    const char *begin = *at, *stop = begin;

    ret_piece->kind = PIECE_TEXT;
    if (begin >= end) {
        ret_piece->kind = PIECE_END;
        return MG_OK;
    }
    if (begins(begin, end, "$${")) {
        ret_piece->text = mg_slice_of("${");
        *at = begin + 3;
        return MG_OK;
    }
    if (begins(begin, end, "${")) {
        return reference_next(at, end, ret_piece, err);
    }
    for (stop++; stop < end && !begins(stop, end, "$${") && !begins(stop, end, "${"); stop++) {
    }
    ret_piece->text = (struct mg_slice){begin, (size_t)(stop - begin)};
    *at = stop;
    return MG_OK;
}

/* Appends the value of a reference to `ret`, as text within other text. */
static enum mg_class reference_text(const char *pointer, mg_template_value_fn *value, void *arg,
                                    struct mg_buf *ret, struct mg_err *err)
{
    struct mg_slice json = value(arg, pointer);
    if (json.data == NULL || json.len == 0) {
        return mg_err_set(err, MG_PERMANENT, "reference ${%.200s}: there is no such value", pointer);
    }
    enum mg_json_type type = mg_json_type_of(json);
    if (type == MG_JSON_STRING) {
        (void)mg_json_string(json, ret); /* checked: a string */
        return MG_OK;
    }
    if (type == MG_JSON_NUMBER || type == MG_JSON_BOOL) {
        mg_buf_append_slice(ret, json);
        return MG_OK;
    }
    return mg_err_set(
        err, MG_PERMANENT,
        "reference ${%.200s} stands inside a text and its value is %s; a string, number or boolean is "
        "needed there",
        pointer, mg_json_type_name(type));
}

static enum mg_class buf_check(const struct mg_buf *buf, struct mg_err *err)
{
    enum mg_class class = mg_buf_class(buf);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, class, "there is no memory for the rendered text");
    }
    if (class != MG_OK) {
        return mg_err_set(err, class, "the rendered text is above %zu bytes", buf->max);
    }
    return MG_OK;
}

/* ---- JSON ---- */

/* Renders one string of a JSON template, given without quotes and escapes. */
static enum mg_class render_string(struct mg_slice text, mg_template_value_fn *value, void *arg,
                                   struct mg_buf *ret, struct mg_err *err)
{
    const char *at = text.data, *end = text.data + text.len;
    struct piece piece UNCLEARED;
    struct mg_buf out;
    enum mg_class class = piece_next(&at, end, &piece, err);

    if (class == MG_OK && piece.kind == PIECE_REFERENCE && at == end) {
        struct mg_slice json = value(arg, piece.pointer);
        if (json.data == NULL) {
            return mg_err_set(err, MG_PERMANENT, "reference ${%.200s}: there is no such value",
                              piece.pointer);
        }
        mg_buf_append_slice(ret, json);
        return MG_OK;
    }
    mg_buf_init(&out, ret->max);
    while (class == MG_OK && piece.kind != PIECE_END) {
        if (piece.kind == PIECE_TEXT) {
            mg_buf_append_slice(&out, piece.text);
        } else {
            class = reference_text(piece.pointer, value, arg, &out, err);
        }
        if (class == MG_OK) {
            class = piece_next(&at, end, &piece, err);
        }
    }
    if (class == MG_OK) {
        mg_buf_append_json(ret, out.len > 0 ? mg_buf_slice(&out) : mg_slice_of(""));
    }
    mg_buf_fail_with(ret, &out);
    mg_buf_finish(&out);
    return class;
}

/* True if the quoted string may hold a reference once its escapes are resolved. */
static bool may_refer(struct mg_slice quoted)
{
    return memchr(quoted.data, '$', quoted.len) != NULL || memmem(quoted.data, quoted.len, "\\u", 2) != NULL;
}

/* The string token at `at`, which is on its opening quote. `ret_is_name`: a colon follows. */
static struct mg_slice string_token(const char *at, const char *end, bool *ret_is_name)
{
    const char *p = at + 1;
    while (p < end && *p != '"') {
        p += *p == '\\' ? 2 : 1;
    }
    struct mg_slice quoted = {at, (size_t)(p + 1 - at)};
    for (p++; p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r');) {
        p++;
    }
    *ret_is_name = p < end && *p == ':';
    return quoted;
}

enum mg_class mg_template_render_json(struct mg_slice json_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_json, struct mg_err *err)
{
    const char *at = json_template.data, *end = json_template.data + json_template.len;

    while (at < end) {
        if (*at != '"') {
            if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') {
                mg_buf_append(ret_json, at, 1);
            }
            at++;
            continue;
        }
        bool is_name;
        struct mg_slice quoted = string_token(at, end, &is_name);
        at += quoted.len;
        if (is_name || !may_refer(quoted)) {
            mg_buf_append_slice(ret_json, quoted);
            continue;
        }
        struct mg_buf text;
        mg_buf_init(&text, quoted.len);
        (void)mg_json_string(quoted, &text); /* checked: a string */
        enum mg_class class = text.failed ? buf_check(&text, err)
                                          : render_string(mg_buf_slice(&text), value, arg, ret_json, err);
        mg_buf_finish(&text);
        if (class != MG_OK) {
            return class;
        }
    }
    return buf_check(ret_json, err);
}

/* ---- paths ---- */

enum mg_class mg_template_render_path(struct mg_slice path_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_path, struct mg_err *err)
{
    const char *at = path_template.data, *end = path_template.data + path_template.len;
    struct piece piece UNCLEARED;
    struct mg_buf text;
    enum mg_class class;

    mg_buf_init(&text, ret_path->max);
    while ((class = piece_next(&at, end, &piece, err)) == MG_OK && piece.kind != PIECE_END) {
        if (piece.kind == PIECE_TEXT) {
            mg_buf_append_slice(ret_path, piece.text);
            continue;
        }
        mg_buf_clear(&text);
        class = reference_text(piece.pointer, value, arg, &text, err);
        if (class != MG_OK) {
            break;
        }
        if (text.len == 0 && !text.failed) { /* "/orders/" + "" would address the whole collection */
            class = mg_err_set(err, MG_PERMANENT,
                               "reference ${%.200s} stands in a path and its text is empty", piece.pointer);
            break;
        }
        mg_buf_append_percent(ret_path, mg_buf_slice(&text));
        mg_buf_fail_with(ret_path, &text);
    }
    mg_buf_finish(&text);
    return class != MG_OK ? class : buf_check(ret_path, err);
}

enum mg_class mg_template_render_text(struct mg_slice text_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_text, bool *ret_is_absent, struct mg_err *err)
{
    const char *at = text_template.data, *end = text_template.data + text_template.len;
    struct piece piece;
    enum mg_class class;

    *ret_is_absent = false;
    while ((class = piece_next(&at, end, &piece, err)) == MG_OK && piece.kind != PIECE_END) {
        if (piece.kind == PIECE_TEXT) {
            mg_buf_append_slice(ret_text, piece.text);
            continue;
        }
        struct mg_slice json = value(arg, piece.pointer);
        if (json.data == NULL || mg_json_type_of(json) == MG_JSON_NULL) {
            *ret_is_absent = true;
            return MG_OK;
        }
        class = reference_text(piece.pointer, value, arg, ret_text, err);
        if (class != MG_OK) {
            return class;
        }
    }
    return class;
}

/* ---- scanning ---- */

static enum mg_class scan_text(struct mg_slice text, bool (*seen)(void *arg, const char *pointer), void *arg,
                               bool *ret_is_over, struct mg_err *err)
{
    const char *at = text.data, *end = text.data + text.len;
    struct piece piece UNCLEARED;
    enum mg_class class;

    while ((class = piece_next(&at, end, &piece, err)) == MG_OK && piece.kind != PIECE_END) {
        if (piece.kind == PIECE_REFERENCE && !seen(arg, piece.pointer)) {
            *ret_is_over = true;
            return MG_OK;
        }
    }
    return class;
}

bool mg_template_literals_are(struct mg_slice text, bool (*is_good)(struct mg_slice literal))
{
    const char *at = text.data, *end = text.data + text.len;
    struct piece piece UNCLEARED;
    struct mg_err err;

    while (piece_next(&at, end, &piece, &err) == MG_OK && piece.kind != PIECE_END) {
        if (piece.kind == PIECE_TEXT && !is_good(piece.text)) {
            return false;
        }
    }
    return true;
}

enum mg_class mg_template_scan(struct mg_slice text, bool (*seen)(void *arg, const char *pointer), void *arg,
                               struct mg_err *err)
{
    const char *at = text.data, *end = text.data + text.len;
    bool is_over = false;
    enum mg_class class = MG_OK;

    if (text.len > 0 && text.data[0] == '/') {
        return scan_text(text, seen, arg, &is_over, err);
    }
    while (at < end && !is_over && class == MG_OK) {
        if (*at != '"') {
            at++;
            continue;
        }
        bool is_name;
        struct mg_slice quoted = string_token(at, end, &is_name);
        struct mg_buf plain;
        at += quoted.len;
        if (!may_refer(quoted)) {
            continue;
        }
        mg_buf_init(&plain, quoted.len);
        (void)mg_json_string(quoted, &plain); /* checked: a string */
        if (plain.failed) {
            class = mg_err_set(err, MG_TRANSIENT, "could not scan a template: no memory");
        } else if (!is_name) {
            class = scan_text(mg_buf_slice(&plain), seen, arg, &is_over, err);
        } else if (memmem(plain.data, plain.len, "${", 2) != NULL) {
            class = mg_err_set(
                err, MG_BAD_INPUT,
                "\"${\" in a member's name; names are taken as they are, references stand in values");
        }
        mg_buf_finish(&plain);
    }
    return class;
}
