/*
 * References in texts. One tokenizer serves paths, the strings of a JSON template and the check of both. A
 * template is compiled once, with its definition; each order only joins the pieces. Rendering is a pure
 * function of template and values. The same input gives the same bytes, because the remote service
 * de-duplicates by key and must never receive other bytes under the same key. Blanks between the tokens of a
 * JSON template are dropped, so they cannot change the bytes. Values are copied unchanged, with their blanks
 * and digits.
 */
#include "workflow/template.h"

#include <string.h>

#include "base/buf.h"
#include "expr/expr.h"
#include "json/scan.h"

#define POINTER_MAX_BYTES 511 /* of one reference; no sensible definition has longer ones */
#define LITERAL_GROWTH    6   /* an escaped byte is "\\u0000" at the longest */

enum token_kind { TOKEN_END, TOKEN_TEXT, TOKEN_REFERENCE };

struct token {
    enum token_kind kind;
    struct mg_slice text;                 /* TOKEN_TEXT */
    char reference[MG_EXPR_TEXT_MAX + 2]; /* TOKEN_REFERENCE; an expression begins with "=" */
};
/* Not cleared for each text: most of it is never used. */
#define UNCLEARED __attribute__((uninitialized))

static bool begins(const char *at, const char *end, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(end - at) >= len && memcmp(at, with, len) == 0;
}

/* "${= e}" */
static enum mg_class expression_next(const char **at, const char *end, struct token *ret_token,
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
    ret_token->reference[0] = '=';
    memcpy(ret_token->reference + 1, text.data, text.len);
    ret_token->reference[1 + text.len] = '\0';
    ret_token->kind = TOKEN_REFERENCE;
    *at = close + 1;
    return MG_OK;
}

static enum mg_class reference_next(const char **at, const char *end, struct token *ret_token,
                                    struct mg_err *err)
{
    const char *begin = *at + 2;
    if (begin < end && *begin == '=') {
        return expression_next(at, end, ret_token, err);
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
    memcpy(ret_token->reference, begin, len);
    ret_token->reference[len] = '\0';
    if (len == 0 || !mg_json_pointer_is_valid(ret_token->reference)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "reference ${%.*s} is no JSON pointer; it begins with \"/\", as in \"${/payload/customer/id}\"",
            shown, begin);
    }
    ret_token->kind = TOKEN_REFERENCE;
    *at = close + 1;
    return MG_OK;
}

static enum mg_class token_next(const char **at, const char *end, struct token *ret_token, struct mg_err *err)
{
    const char *begin = *at, *stop = begin;

    ret_token->kind = TOKEN_TEXT;
    if (begin >= end) {
        ret_token->kind = TOKEN_END;
        return MG_OK;
    }
    if (begins(begin, end, "$${")) {
        ret_token->text = mg_slice_of("${");
        *at = begin + 3;
        return MG_OK;
    }
    if (begins(begin, end, "${")) {
        return reference_next(at, end, ret_token, err);
    }
    for (stop++; stop < end && !begins(stop, end, "$${") && !begins(stop, end, "${"); stop++) {
    }
    ret_token->text = (struct mg_slice){begin, (size_t)(stop - begin)};
    *at = stop;
    return MG_OK;
}

/* ---- compiling ---- */

struct compiling {
    enum mg_template_form form;
    struct mg_arena *arena;
    struct mg_buf literal; /* the bytes since the last reference */
    struct mg_template_piece **end;
    bool has_no_memory;
};

static void piece_add(struct compiling *compiling, enum mg_piece kind, struct mg_slice text)
{
    struct mg_template_piece *piece = mg_arena_alloc(compiling->arena, sizeof(*piece));
    const char *copy = piece != NULL ? mg_arena_text(compiling->arena, text) : NULL;
    compiling->has_no_memory = compiling->has_no_memory || copy == NULL;
    if (copy != NULL) {
        *piece = (struct mg_template_piece){.kind = kind, .text = {copy, text.len}};
        *compiling->end = piece;
        compiling->end = &piece->next;
    }
}

static void literal_end(struct compiling *compiling)
{
    compiling->has_no_memory = compiling->has_no_memory || compiling->literal.failed;
    if (compiling->literal.len > 0) {
        piece_add(compiling, MG_PIECE_LITERAL, mg_buf_slice(&compiling->literal));
        mg_buf_clear(&compiling->literal);
    }
}

static enum mg_class text_compile(struct compiling *compiling, struct mg_slice text, struct mg_err *err)
{
    const char *at = text.data, *end = text.data + text.len;
    bool is_json = compiling->form == MG_TEMPLATE_JSON;
    struct token token UNCLEARED;
    enum mg_class class = token_next(&at, end, &token, err);
    if (class == MG_OK && is_json && token.kind == TOKEN_REFERENCE && at == end) {
        literal_end(compiling);
        piece_add(compiling, MG_PIECE_VALUE, mg_slice_of(token.reference));
        return MG_OK;
    }
    mg_buf_append_text(&compiling->literal, is_json ? "\"" : "");
    for (; class == MG_OK && token.kind != TOKEN_END; class = token_next(&at, end, &token, err)) {
        if (token.kind == TOKEN_REFERENCE) {
            literal_end(compiling);
            piece_add(compiling, MG_PIECE_TEXT, mg_slice_of(token.reference));
        } else if (is_json) {
            mg_buf_append_json_part(&compiling->literal, token.text);
        } else {
            mg_buf_append_slice(&compiling->literal, token.text);
        }
    }
    mg_buf_append_text(&compiling->literal, is_json ? "\"" : "");
    return class;
}

/* True if the quoted string may hold a reference once its escapes are resolved. */
static bool may_refer(struct mg_slice quoted)
{
    return memchr(quoted.data, '$', quoted.len) != NULL || memmem(quoted.data, quoted.len, "\\u", 2) != NULL;
}

static enum mg_class string_compile(struct compiling *compiling, struct mg_slice quoted, struct mg_err *err)
{
    struct mg_buf text;
    if (!may_refer(quoted)) {
        mg_buf_append_slice(&compiling->literal, quoted);
        return MG_OK;
    }
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    compiling->has_no_memory = compiling->has_no_memory || text.failed;
    enum mg_class class = text_compile(compiling, mg_buf_slice(&text), err);
    mg_buf_finish(&text);
    return class;
}

/* The recursion ends at the depth that the check of the definition has allowed. */
static enum mg_class value_compile(struct compiling *compiling, struct mg_slice value, struct mg_err *err)
{
    enum mg_json_type type = mg_json_type_of(value);
    struct mg_slice name, inner;
    enum mg_class class = MG_OK;
    if (type == MG_JSON_STRING) {
        return string_compile(compiling, value, err);
    }
    if (type != MG_JSON_OBJECT && type != MG_JSON_ARRAY) {
        mg_buf_append_slice(&compiling->literal, value);
        return MG_OK;
    }
    mg_buf_append(&compiling->literal, value.data, 1);
    struct mg_json_walk walk = mg_json_walk_of(value);
    for (int i = 0; class == MG_OK && mg_json_walk_next(&walk, &name, &inner); i++) {
        mg_buf_append(&compiling->literal, ",", i > 0 ? 1 : 0);
        if (name.data != NULL) {
            mg_buf_append_slice(&compiling->literal, name);
            mg_buf_append(&compiling->literal, ":", 1);
        }
        class = value_compile(compiling, inner, err);
    }
    mg_buf_append(&compiling->literal, type == MG_JSON_OBJECT ? "}" : "]", 1);
    return class;
}

enum mg_class mg_template_compile(struct mg_slice text, enum mg_template_form form, struct mg_arena *arena,
                                  struct mg_template *ret_template, struct mg_err *err)
{
    struct mg_template template = {.form = form};
    struct compiling compiling = {.form = form, .arena = arena, .end = &template.pieces};
    mg_buf_init(&compiling.literal, LITERAL_GROWTH * text.len + 2);
    enum mg_class class = form == MG_TEMPLATE_JSON ? value_compile(&compiling, mg_json_trim(text), err)
                                                   : text_compile(&compiling, text, err);
    literal_end(&compiling);
    mg_buf_finish(&compiling.literal);
    if (class == MG_OK && compiling.has_no_memory) {
        class = mg_err_set(err, MG_TRANSIENT, "could not compile a template: no memory");
    }
    if (class == MG_OK) {
        *ret_template = template;
    }
    return class;
}

/* ---- rendering ---- */

/* Appends the value of a reference to `ret`, as text within other text. */
static enum mg_class value_text(const struct mg_template_piece *piece, struct mg_slice json,
                                struct mg_buf *ret, struct mg_err *err)
{
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
        piece->text.data, mg_json_type_name(type));
}

/* `text` is memory for one value. */
static enum mg_class reference_render(const struct mg_template_piece *piece, enum mg_template_form form,
                                      struct mg_slice json, struct mg_buf *text, struct mg_buf *ret,
                                      struct mg_err *err)
{
    static void (*const ENCODES[])(struct mg_buf * buf,
                                   struct mg_slice text) = {[MG_TEMPLATE_JSON] = mg_buf_append_json_part,
                                                            [MG_TEMPLATE_PATH] = mg_buf_append_percent,
                                                            [MG_TEMPLATE_LABEL] = mg_buf_append_slice};
    if (json.data == NULL || json.len == 0) {
        return mg_err_set(err, MG_PERMANENT, "reference ${%.200s}: there is no such value", piece->text.data);
    }
    if (piece->kind == MG_PIECE_VALUE) {
        mg_buf_append_slice(ret, json);
        return MG_OK;
    }
    mg_buf_clear(text);
    enum mg_class class = value_text(piece, json, text, err);
    if (class == MG_OK && form == MG_TEMPLATE_PATH && text->len == 0 && !text->failed) {
        /* "/orders/" + "" would address the whole collection */
        return mg_err_set(err, MG_PERMANENT, "reference ${%.200s} stands in a path and its text is empty",
                          piece->text.data);
    }
    ENCODES[form](ret, mg_buf_slice(text));
    mg_buf_fail_with(ret, text);
    return class;
}

enum mg_class mg_template_join(const struct mg_template *template, const struct mg_template_values *values,
                               struct mg_buf *ret, struct mg_err *err)
{
    struct mg_buf text;
    enum mg_class class = MG_OK;
    mg_buf_init(&text, ret->max);
    for (const struct mg_template_piece *at = template->pieces; at != NULL && class == MG_OK; at = at->next) {
        if (at->kind == MG_PIECE_LITERAL) {
            mg_buf_append_slice(ret, at->text);
        } else {
            class = reference_render(at, template->form, values->find(values->arg, at), &text, ret, err);
        }
    }
    mg_buf_finish(&text);
    return class;
}

enum mg_class mg_template_render(const struct mg_template *template, const struct mg_template_values *values,
                                 struct mg_buf *ret, struct mg_err *err)
{
    enum mg_class class = mg_template_join(template, values, ret, err), of_buf = mg_buf_class(ret);
    if (class != MG_OK || of_buf == MG_OK) {
        return class;
    }
    return of_buf == MG_TRANSIENT ? mg_err_set(err, of_buf, "there is no memory for the rendered text")
                                  : mg_err_set(err, of_buf, "the rendered text is above %zu bytes", ret->max);
}

void mg_template_each(const struct mg_template *template, mg_template_seen_fn *seen, void *arg)
{
    for (const struct mg_template_piece *at = template->pieces; at != NULL; at = at->next) {
        if (at->kind != MG_PIECE_LITERAL && !seen(arg, at)) {
            return;
        }
    }
}

/* ---- scanning ---- */

bool mg_template_literals_are(struct mg_slice text, bool (*is_good)(struct mg_slice literal))
{
    const char *at = text.data, *end = text.data + text.len;
    struct token token UNCLEARED;
    struct mg_err err;

    while (token_next(&at, end, &token, &err) == MG_OK && token.kind != TOKEN_END) {
        if (token.kind == TOKEN_TEXT && !is_good(token.text)) {
            return false;
        }
    }
    return true;
}

enum mg_class mg_template_scan(struct mg_slice quoted, void (*seen)(void *arg, const char *reference),
                               void *arg, struct mg_err *err)
{
    struct token token UNCLEARED;
    struct mg_buf text;
    enum mg_class class = MG_OK;
    if (!may_refer(quoted)) {
        return MG_OK;
    }
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    const char *at = text.data, *end = text.data + text.len;
    if (text.failed) {
        class = mg_err_set(err, MG_TRANSIENT, "could not scan a template: no memory");
    }
    while (class == MG_OK && (class = token_next(&at, end, &token, err)) == MG_OK &&
           token.kind != TOKEN_END) {
        if (token.kind == TOKEN_REFERENCE) {
            seen(arg, token.reference);
        }
    }
    mg_buf_finish(&text);
    return class;
}
