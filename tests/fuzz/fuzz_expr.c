/*
 * Expressions, and JSON for their values. The input is the expression and, after an optional NUL, the
 * payload. The judge is a second reader and evaluator, written for this file alone: it reads the text again
 * by recursion, each operator for itself, computes with long double and binary text, and knows nothing of
 * steps. Where it has an answer, the answers agree. Beyond that: the same input has the same result, a
 * refusal names its column, the text in brackets means the same, the steps stay within their bound, and the
 * result is JSON.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/expr.h"
#include "fuzz.h"
#include "json/json.h"
#include "json/scan.h"

static const struct mg_json_limits WIDE = {16 * FUZZ_TEXT_MAX, 200, FUZZ_TEXT_MAX, true};
static const char PAYLOAD[] =
    "{\"a\":1,\"b\":2.50,\"c\":\"x\",\"d\":[1,2,3],\"e\":{\"f\":null,\"g\":true},\"h\":\"\\u00fc\\n\",\"i\":[],"
    "\"t\":\"2026-01-31T12:00:00Z\",\"n\":-0.00,\"w\":1e30}";
static const char *const MEMBERS[] = {"one", "two", NULL};
static const struct mg_expr_root ROOTS[] = {{"payload", NULL}, {"results", MEMBERS}};
static const struct mg_expr_names NAMES = {.roots = ROOTS, .root_count = 2};

static struct mg_expr_found find(void *arg, int root, int member)
{
    const struct mg_slice *payload = arg;
    if (root == 0) {
        return (struct mg_expr_found){.json = *payload};
    }
    return (struct mg_expr_found){.json = mg_slice_of(member == 0 ? "{\"a\": 7}" : NULL)};
}

/* ---- the judge ---- */

enum kind { UNSURE, FAULT, NOTHING, TRUTH, NUMBER, TEXT }; /* UNSURE: outside its part of the language */

struct answer {
    enum kind kind;
    bool truth;
    long double number;
    char text[256];
};

struct judge {
    const char *at, *end;
    struct mg_slice payload;
    int depth;
};

static struct answer answer_of(enum kind kind)
{
    struct answer answer = {.kind = kind};
    return answer;
}

static struct answer truth_of(bool truth)
{
    struct answer answer = {.kind = TRUTH, .truth = truth};
    return answer;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void skip(struct judge *judge)
{
    while (judge->at < judge->end && strchr(" \t\n\r\f", *judge->at) != NULL) {
        judge->at++;
    }
}

/* Takes the sign, unless it is the beginning of another. */
static bool takes(struct judge *judge, const char *sign)
{
    size_t len = strlen(sign);
    skip(judge);
    if ((size_t)(judge->end - judge->at) < len || memcmp(judge->at, sign, len) != 0) {
        return false;
    }
    const char *behind = judge->at + len;
    if ((len == 1 && strchr("<>!=", *sign) != NULL && behind < judge->end && *behind == '=') ||
        (is_word_char(sign[len - 1]) && behind < judge->end && is_word_char(*behind))) {
        return false;
    }
    judge->at = behind;
    return true;
}

static struct answer json_answer(struct mg_slice json)
{
    struct answer answer = answer_of(UNSURE);
    struct mg_buf buf;
    if (json.data == NULL) {
        return answer_of(FAULT);
    }
    switch (mg_json_type_of(json)) {
    case MG_JSON_NULL:
        return answer_of(NOTHING);
    case MG_JSON_BOOL:
        return truth_of(json.data[0] == 't');
    case MG_JSON_NUMBER:
        if (json.len <= 18) { /* exact in a long double, up to a power of ten */
            char digits[20] = "";
            memcpy(digits, json.data, json.len);
            answer.kind = NUMBER;
            answer.number = strtold(digits, NULL);
        }
        return answer;
    case MG_JSON_STRING:
        mg_buf_init_fixed(&buf, answer.text, sizeof(answer.text));
        (void)mg_json_string(json, &buf);
        answer.kind = buf.failed ? UNSURE : TEXT;
        return answer;
    case MG_JSON_ARRAY:
    case MG_JSON_OBJECT:
        break;
    }
    return answer;
}

static struct answer judged(struct judge *judge);

/* payload.a.b, by a pointer made of the names. */
static struct answer judged_path(struct judge *judge)
{
    char pointer[256] = "";
    size_t len = 0;
    while (judge->at < judge->end && *judge->at == '.') {
        judge->at++;
        pointer[len++] = '/';
        size_t begin = len;
        while (judge->at < judge->end && is_word_char(*judge->at)) {
            if (len > sizeof(pointer) - 3) {
                return answer_of(UNSURE);
            }
            pointer[len++] = *judge->at++;
        }
        pointer[len] = '\0';
        if (len == begin || isdigit((unsigned char)pointer[begin])) {
            return answer_of(UNSURE);
        }
        size_t parent = (size_t)(strrchr(pointer, '/') - pointer);
        char above[256];
        memcpy(above, pointer, parent);
        above[parent] = '\0';
        struct mg_slice object = mg_json_find(judge->payload, above);
        if (object.data == NULL || mg_json_type_of(object) != MG_JSON_OBJECT) {
            return answer_of(UNSURE);
        }
    }
    skip(judge);
    if (judge->at < judge->end && strchr("([.", *judge->at) != NULL) {
        return answer_of(UNSURE);
    }
    return json_answer(mg_json_find(judge->payload, pointer));
}

static struct answer judged_primary(struct judge *judge)
{
    struct answer answer = answer_of(UNSURE);
    skip(judge);
    if (judge->at >= judge->end || judge->depth > 20) {
        return answer;
    }
    char c = *judge->at;
    if (takes(judge, "(")) {
        judge->depth++;
        answer = judged(judge);
        judge->depth--;
        return takes(judge, ")") ? answer : answer_of(UNSURE);
    }
    if (isdigit((unsigned char)c)) {
        char digits[17] = "";
        size_t len = 0;
        while (judge->at < judge->end && (isdigit((unsigned char)*judge->at) || *judge->at == '.')) {
            if (len == sizeof(digits) - 1) {
                return answer;
            }
            digits[len++] = *judge->at++;
        }
        char *rest;
        answer.number = strtold(digits, &rest);
        bool is_plain =
            *rest == '\0' && digits[len - 1] != '.' && (judge->at >= judge->end || !is_word_char(*judge->at));
        answer.kind = is_plain ? NUMBER : UNSURE;
        return answer;
    }
    if (c == '\'') {
        const char *close = memchr(judge->at + 1, '\'', (size_t)(judge->end - judge->at - 1));
        if (close == NULL || close - judge->at > 100 || close == judge->at + 1 ||
            memchr(judge->at, '\\', (size_t)(close - judge->at)) != NULL) {
            return answer;
        }
        answer.kind = TEXT;
        memcpy(answer.text, judge->at + 1, (size_t)(close - judge->at - 1));
        judge->at = close + 1;
        return answer;
    }
    if (takes(judge, "true")) {
        return truth_of(true);
    }
    if (takes(judge, "false")) {
        return truth_of(false);
    }
    if (takes(judge, "null")) {
        return answer_of(NOTHING);
    }
    return takes(judge, "payload") ? judged_path(judge) : answer;
}

static struct answer judged_unary(struct judge *judge)
{
    if (takes(judge, "!")) {
        struct answer answer = judged_unary(judge);
        return answer.kind == TRUTH ? truth_of(!answer.truth)
                                    : answer_of(answer.kind == FAULT ? FAULT : UNSURE);
    }
    if (takes(judge, "-")) {
        struct answer answer = judged_unary(judge);
        answer.number = -answer.number;
        return answer.kind == NUMBER || answer.kind == FAULT ? answer : answer_of(UNSURE);
    }
    return judged_primary(judge);
}

/* Sums and products; of numbers only up to a size at which long doubles are still exact to the comparison. */
static struct answer reckoned(struct answer a, struct answer b, char sign)
{
    if (a.kind == FAULT || b.kind == FAULT) {
        return answer_of(a.kind == UNSURE || b.kind == UNSURE ? UNSURE : FAULT);
    }
    if (a.kind != NUMBER || b.kind != NUMBER) {
        return answer_of(UNSURE);
    }
    a.number = sign == '+' ? a.number + b.number : sign == '-' ? a.number - b.number : a.number * b.number;
    return fabsl(a.number) < 1e30L ? a : answer_of(UNSURE);
}

static struct answer judged_product(struct judge *judge)
{
    struct answer answer = judged_unary(judge);
    while (takes(judge, "*")) {
        answer = reckoned(answer, judged_unary(judge), '*');
    }
    return answer;
}

static struct answer judged_sum(struct judge *judge)
{
    struct answer answer = judged_product(judge);
    for (;;) {
        if (takes(judge, "+")) {
            answer = reckoned(answer, judged_product(judge), '+');
        } else if (takes(judge, "-")) {
            answer = reckoned(answer, judged_product(judge), '-');
        } else {
            return answer;
        }
    }
}

static struct answer compared(struct answer a, struct answer b, const char *sign)
{
    if (a.kind == UNSURE || b.kind == UNSURE) {
        return answer_of(UNSURE);
    }
    if (a.kind == FAULT || b.kind == FAULT) {
        return answer_of(FAULT);
    }
    bool is_equality = sign[0] == '!' || sign[0] == '=';
    if (a.kind != b.kind) {
        bool is_with_null = is_equality && (a.kind == NOTHING || b.kind == NOTHING);
        return is_with_null ? truth_of(sign[0] == '!') : answer_of(FAULT);
    }
    if (!is_equality && a.kind != NUMBER && a.kind != TEXT) {
        return answer_of(FAULT);
    }
    int order = a.kind == TEXT ? strcmp(a.text, b.text) : 0;
    long double difference = a.kind == NUMBER  ? a.number - b.number
                             : a.kind == TEXT  ? order
                             : a.kind == TRUTH ? a.truth - b.truth
                                               : 0;
    if (a.kind == NUMBER && difference != 0 &&
        fabsl(difference) < 1e-12L * (1 + fabsl(a.number) + fabsl(b.number))) {
        return answer_of(UNSURE);
    }
    bool is_close = a.kind == NUMBER && difference == 0 && a.number != floorl(a.number);
    if (is_close) {
        return answer_of(UNSURE); /* two decimals may be the same long double */
    }
    return truth_of(strcmp(sign, "==") == 0   ? difference == 0
                    : strcmp(sign, "!=") == 0 ? difference != 0
                    : strcmp(sign, "<=") == 0 ? difference <= 0
                    : strcmp(sign, ">=") == 0 ? difference >= 0
                    : strcmp(sign, "<") == 0  ? difference < 0
                                              : difference > 0);
}

static struct answer judged_relation(struct judge *judge)
{
    static const char *const SIGNS[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct answer answer = judged_sum(judge);
    for (size_t i = 0; i < 6; i++) {
        if (takes(judge, SIGNS[i])) {
            answer = compared(answer, judged_sum(judge), SIGNS[i]);
            i = (size_t)-1; /* a row of them */
        }
    }
    return answer;
}

static struct answer joined(struct answer a, struct answer b, bool decider)
{
    if (a.kind == UNSURE || b.kind == UNSURE) {
        return answer_of(UNSURE);
    }
    bool decides_a = a.kind == TRUTH && a.truth == decider, decides_b = b.kind == TRUTH && b.truth == decider;
    if (decides_a || decides_b) {
        return truth_of(decider);
    }
    return a.kind == TRUTH && b.kind == TRUTH ? truth_of(!decider) : answer_of(FAULT);
}

static struct answer judged_and(struct judge *judge)
{
    struct answer answer = judged_relation(judge);
    while (takes(judge, "&&")) {
        answer = joined(answer, judged_relation(judge), false);
    }
    return answer;
}

static struct answer judged_or(struct judge *judge)
{
    struct answer answer = judged_and(judge);
    while (takes(judge, "||")) {
        answer = joined(answer, judged_and(judge), true);
    }
    return answer;
}

static struct answer judged(struct judge *judge)
{
    struct answer answer = judged_or(judge);
    if (!takes(judge, "?")) {
        return answer;
    }
    struct answer yes = judged_or(judge);
    if (!takes(judge, ":") || ++judge->depth > 20) {
        return answer_of(UNSURE);
    }
    struct answer no = judged(judge);
    judge->depth--;
    return answer.kind == TRUTH ? (answer.truth ? yes : no)
                                : answer_of(answer.kind == UNSURE ? UNSURE : FAULT);
}

/* ---- the properties ---- */

static void require_agreement(struct answer answer, enum mg_class class, const struct mg_expr_value *value)
{
    char number[64] = "";
    struct mg_buf buf;
    if (answer.kind == UNSURE) {
        return;
    }
    FUZZ_REQUIRE((class == MG_OK) == (answer.kind != FAULT));
    if (class != MG_OK) {
        return;
    }
    switch (answer.kind) {
    case NOTHING:
        FUZZ_REQUIRE(value->type == MG_EXPR_NULL);
        break;
    case TRUTH:
        FUZZ_REQUIRE(value->type == MG_EXPR_BOOLEAN && value->boolean == answer.truth);
        break;
    case NUMBER:
        FUZZ_REQUIRE(value->type == MG_EXPR_NUMBER);
        mg_buf_init_fixed(&buf, number, sizeof(number));
        FUZZ_REQUIRE(mg_expr_write_text(value, &buf));
        FUZZ_REQUIRE(fabsl(strtold(number, NULL) - answer.number) <= 1e-9L * (1 + fabsl(answer.number)));
        break;
    case TEXT:
        FUZZ_REQUIRE(value->type == MG_EXPR_TEXT);
        char text[300];
        mg_buf_init_fixed(&buf, text, sizeof(text));
        FUZZ_REQUIRE(mg_expr_write_text(value, &buf));
        FUZZ_REQUIRE(mg_slice_is(buf.len > 0 ? mg_buf_slice(&buf) : mg_slice_of(""), answer.text));
        break;
    case UNSURE:
    case FAULT:
        break;
    }
}

static void on_reference(void *arg, const struct mg_expr_reference *reference)
{
    const struct mg_slice *text = arg;
    FUZZ_REQUIRE(reference->root >= 0 && reference->root < 2);
    FUZZ_REQUIRE(reference->member < 2 && (reference->root == 1) == (reference->member >= 0));
    FUZZ_REQUIRE(reference->column >= 1 && (size_t)reference->column <= text->len);
}

static enum mg_class evaluate(const struct mg_expr *expr, struct mg_slice payload, struct mg_buf *ret_json,
                              struct mg_expr_value *ret_value, struct mg_expr_room *room)
{
    struct mg_expr_scope scope = {.find = find, .arg = &payload};
    struct mg_err err;
    int steps = -1;
    FUZZ_POISON(*ret_value);
    enum mg_class class = mg_expr_evaluate(expr, &scope, room, ret_value, &steps, &err);
    FUZZ_REQUIRE(steps >= 1 && steps <= MG_EXPR_STEPS_MIN);
    if (class != MG_OK) {
        struct mg_expr_value untouched;
        FUZZ_POISON(untouched);
        FUZZ_REQUIRE(class == MG_PERMANENT && err.class == class && strncmp(err.text, "column ", 7) == 0);
        const unsigned char *given = (const void *)ret_value, *poison = (const void *)&untouched;
        FUZZ_REQUIRE(memcmp(given, poison, sizeof(untouched)) == 0);
        mg_buf_append_text(ret_json, err.text);
        return class;
    }
    enum mg_expr_type type = mg_expr_type_of(expr);
    FUZZ_REQUIRE(type == MG_EXPR_UNKNOWN || type == ret_value->type);
    mg_expr_write_json(ret_value, ret_json);
    FUZZ_REQUIRE(mg_json_check(mg_buf_slice(ret_json), &WIDE, &err) == MG_OK);
    bool is_moment = ret_value->type == MG_EXPR_TIME || ret_value->type == MG_EXPR_DURATION;
    FUZZ_REQUIRE(!is_moment || !mg_slice_is(mg_buf_slice(ret_json), "\"\""));
    return class;
}

static void try_expr(struct mg_slice text, struct mg_slice payload, struct mg_arena *arena)
{
    static struct mg_expr_room room;
    static char bracketed[MG_EXPR_TEXT_MAX + 3];
    const struct mg_expr *expr, *again;
    struct mg_expr_value value;
    struct mg_buf first, second, reason;
    struct mg_err err;
    struct mg_expr_scope scope = {.find = find, .arg = &payload};

    struct {
        const struct mg_expr *expr;
    } compiled;
    FUZZ_POISON(compiled);
    enum mg_class class = mg_expr_compile(text, &NAMES, arena, &compiled.expr, NULL, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE(class == MG_BAD_INPUT && strncmp(err.text, "column ", 7) == 0);
        FUZZ_REQUIRE_REFUSAL(class, err, compiled);
        return;
    }
    expr = compiled.expr;
    FUZZ_REQUIRE(mg_slice_equal(mg_expr_text(expr), text));
    mg_expr_references(expr, on_reference, &text);
    mg_buf_init(&first, 16 * FUZZ_TEXT_MAX);
    mg_buf_init(&second, 16 * FUZZ_TEXT_MAX);
    class = evaluate(expr, payload, &first, &value, &room);
    struct judge judge = {text.data, text.data + text.len, mg_json_trim(payload), 0};
    struct answer answer = judged(&judge);
    skip(&judge);
    if (judge.at == judge.end) {
        require_agreement(answer, class, &value);
    }
    FUZZ_REQUIRE(evaluate(expr, payload, &second, &value, &room) == class);
    fuzz_require_same(&first, &second);

    mg_buf_init(&reason, FUZZ_TEXT_MAX);
    mg_expr_explain(expr, &scope, &room, 200, &reason);
    FUZZ_REQUIRE(reason.len <= 200 && !reason.failed);
    FUZZ_REQUIRE(reason.len == 0 || class == MG_OK);
    mg_buf_finish(&reason);

    /* In brackets it is the same, unless it is at a bound. */
    int len = snprintf(bracketed, sizeof(bracketed), "(%.*s)", (int)text.len, text.data);
    struct mg_slice whole = {bracketed, (size_t)len};
    if (mg_expr_compile(whole, &NAMES, arena, &again, NULL, &err) == MG_OK && class == MG_OK) {
        mg_buf_init(&first, 16 * FUZZ_TEXT_MAX);
        mg_buf_init(&second, 16 * FUZZ_TEXT_MAX);
        FUZZ_REQUIRE(evaluate(expr, payload, &first, &value, &room) == MG_OK);
        FUZZ_REQUIRE(evaluate(again, payload, &second, &value, &room) == MG_OK);
        fuzz_require_same(&first, &second);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice rest = {(const char *)data, size}, text = fuzz_take(&rest), payload = fuzz_take(&rest);
    struct mg_arena *arena = mg_arena_create(FUZZ_TEXT_MAX);
    struct mg_err err;
    FUZZ_REQUIRE(arena != NULL);
    if (mg_json_check(payload, &MG_JSON_LIMITS_DATA, &err) != MG_OK) {
        payload = mg_slice_of(PAYLOAD);
    }
    try_expr(text, payload, arena);
    mg_arena_destroy(arena);
    return 0;
}
