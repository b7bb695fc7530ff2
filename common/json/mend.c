/*
 * Mistakes of syntax in a definition, each with its place and its cure. The check of json.c calls the mender
 * where it would end. The mender reports the mistake, and the check goes on as if it were mended, so one run
 * finds most of them. Messages are not mended: their first fault refuses them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/validator.h"

#define MENDED_MAX  20             /* a text with more is mostly no definition */
#define TEXT_SIZE   256            /* of one mistake */
#define SHOWN_MAX   40             /* characters of the text that a mistake quotes */
#define OPEN_DOUBLE "\xe2\x80\x9c" /* typographic quotes, as word processors write them */
#define SHUT_DOUBLE "\xe2\x80\x9d"

/* False, without a report, if there is no mender or its reports are many enough. */
MG_PRINTF(3, 4) static bool report(struct mg_check *check, const char *at, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    struct mg_mender *mender = check->mender;

    if (mender == NULL || mender->count == MENDED_MAX) {
        return false;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* a cut text is better than none */
    va_end(args);
    mender->count++;
    mender->report(mender->arg, at, text);
    return true;
}

static bool begins(const struct mg_check *check, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(check->end - check->at) >= len && memcmp(check->at, with, len) == 0;
}

static bool is_word(char c)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '-' || c == '.' || c == '+';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The end of the word or number at `at`. */
static const char *word_end(const struct mg_check *check, const char *at)
{
    while (at < check->end && is_word(*at)) {
        at++;
    }
    return at;
}

static const char *line_end(const struct mg_check *check, const char *at)
{
    const char *end = memchr(at, '\n', (size_t)(check->end - at));
    return end != NULL ? end : check->end;
}

static int shown(const char *at, const char *end)
{
    return end - at < SHOWN_MAX ? (int)(end - at) : SHOWN_MAX;
}

/* ---- obstacles of any place ---- */

static enum mg_mend pass_comment(struct mg_check *check)
{
    bool is_block = begins(check, "/*");
    if (!report(check, check->at, "a comment; JSON has none: take it out")) {
        return MG_MEND_NONE;
    }
    const char *end =
        is_block ? memmem(check->at, (size_t)(check->end - check->at), "*/", 2) : line_end(check, check->at);
    check->at = end == NULL ? check->end : is_block ? end + 2 : end;
    return MG_MEND_AGAIN;
}

/* A text between other quotes, up to the same line's end. */
static enum mg_mend pass_quoted(struct mg_check *check, size_t open_len, const char *close, const char *what)
{
    const char *begin = check->at, *stop = line_end(check, begin);
    if (!report(check, begin, "%s; a text stands in double quotes: \"…\"", what)) {
        return MG_MEND_NONE;
    }
    const char *from = begin + open_len;
    const char *end = from < stop ? memmem(from, (size_t)(stop - from), close, strlen(close)) : NULL;
    check->at = end != NULL ? end + strlen(close) : stop;
    return MG_MEND_TAKEN;
}

static enum mg_mend pass_other_quotes(struct mg_check *check)
{
    if (*check->at == '\'') {
        return pass_quoted(check, 1, "'", "single quotes");
    }
    if (*check->at == '`') {
        return pass_quoted(check, 1, "`", "backquotes");
    }
    return begins(check, OPEN_DOUBLE) || begins(check, SHUT_DOUBLE)
               ? pass_quoted(check, strlen(OPEN_DOUBLE), SHUT_DOUBLE, "typographic quotes")
               : MG_MEND_NONE;
}

/* ---- by the needed thing ---- */

static enum mg_mend mend_name(struct mg_check *check)
{
    const char *end = word_end(check, check->at);
    if (*check->at == ',') {
        bool is_reported = report(check, check->at, "a comma too many; take it out");
        check->at++;
        return is_reported ? MG_MEND_AGAIN : MG_MEND_NONE;
    }
    if (end == check->at) {
        return pass_other_quotes(check);
    }
    if (!report(check, check->at, "a name without quotes; write \"%.*s\"", shown(check->at, end),
                check->at)) {
        return MG_MEND_NONE;
    }
    check->at = end;
    return MG_MEND_TAKEN;
}

static bool is_value_begin(const struct mg_check *check)
{
    return *check->at == '"' || *check->at == '{' || *check->at == '[' || is_word(*check->at);
}

static enum mg_mend mend_colon(struct mg_check *check)
{
    bool is_equal = *check->at == '=';
    if (is_equal || is_value_begin(check)) {
        if (!report(check, check->at,
                    is_equal ? "\"=\" between name and value; write a colon"
                             : "a colon is missing between name and value")) {
            return MG_MEND_NONE;
        }
        check->at += is_equal ? 1 : 0;
        return MG_MEND_TAKEN;
    }
    /* At the end of the member the value is missing, too; that is reported then. */
    return *check->at == ',' || *check->at == '}' ? MG_MEND_TAKEN : MG_MEND_NONE;
}

/* A word that other languages have for one of JSON's. */
static const char *meant_word(const char *word, size_t len)
{
    static const char *const PAIRS[][2] = {
        {"True", "true"},   {"TRUE", "true"}, {"yes", "true"},      {"on", "true"},   {"False", "false"},
        {"FALSE", "false"}, {"no", "false"},  {"off", "false"},     {"None", "null"}, {"NULL", "null"},
        {"Null", "null"},   {"nil", "null"},  {"undefined", "null"}};
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        if (strlen(PAIRS[i][0]) == len && memcmp(PAIRS[i][0], word, len) == 0) {
            return PAIRS[i][1];
        }
    }
    return NULL;
}

static const char *number_cure(const char *at, const char *end)
{
    if (*at == '+') {
        return "a number has no plus sign; leave it out";
    }
    if (*at == '.') {
        return "a number has a digit before its point: 0.5";
    }
    const char *digits = *at == '-' ? at + 1 : at;
    if (end - digits > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
        return "a number has no leading zero; leave it out, or write a text: \"007\"";
    }
    return "not a number of JSON; write 12, -0.5 or 1e3, and a duration as a text: \"30s\"";
}

static enum mg_mend mend_word(struct mg_check *check, const char *begin)
{
    const char *end = word_end(check, begin);
    const char *meant = meant_word(begin, (size_t)(end - begin));
    bool is_number = (*begin >= '0' && *begin <= '9') || *begin == '+' || *begin == '-' || *begin == '.';
    bool is_reported = meant != NULL ? report(check, begin, "%.*s; write %s", shown(begin, end), begin, meant)
                       : is_number   ? report(check, begin, "%s", number_cure(begin, end))
                                     : report(check, begin, "a text without quotes; write \"…\" around it");
    check->at = end;
    return is_reported ? MG_MEND_TAKEN : MG_MEND_NONE;
}

static enum mg_mend mend_value(struct mg_check *check)
{
    if (*check->at == ',' || *check->at == '}') {
        return report(check, check->at, "a value is missing here") ? MG_MEND_TAKEN : MG_MEND_NONE;
    }
    return is_word(*check->at) ? mend_word(check, check->at) : pass_other_quotes(check);
}

/* Where the comma belongs: after the value before. */
static const char *behind_value(const struct mg_check *check)
{
    const char *at = check->at;
    while (at > check->mender->text.data && is_blank(at[-1])) {
        at--;
    }
    return at;
}

static char closing(const char *open)
{
    return *open == '{' ? '}' : ']';
}

/* Another bracket closes the container. If the one around it ends so, its own is missing. */
static enum mg_mend mend_bracket(struct mg_check *check)
{
    const struct mg_mender *mender = check->mender;
    const char *open = mender->open[check->depth - 1];
    const char *outer = check->depth > 1 ? mender->open[check->depth - 2] : NULL;
    const char *what = *open == '{' ? "object" : "array";
    struct mg_json_place place = mg_json_place_of(mender->text, open);
    bool is_missing = outer != NULL && closing(outer) == *check->at;
    bool is_reported =
        is_missing ? report(check, check->at, "a \"%c\" is missing here, for the %s of line %d, column %d",
                            closing(open), what, place.line, place.column)
                   : report(check, check->at, "\"%c\" where the %s of line %d, column %d ends; write \"%c\"",
                            *check->at, what, place.line, place.column, closing(open));

    check->at -= is_missing ? 1 : 0; /* the check passes one bracket; the outer one must stay */
    return is_reported ? MG_MEND_CLOSED : MG_MEND_NONE;
}

/* A number goes on as no number does: 15m. */
static bool is_within_word(const struct mg_check *check, const char *behind)
{
    return check->at == behind && is_word(*check->at) && behind > check->mender->text.data &&
           is_word(behind[-1]);
}

static const char *word_begin(const struct mg_check *check)
{
    const char *begin = check->at;
    while (begin > check->mender->text.data && is_word(begin[-1])) {
        begin--;
    }
    return begin;
}

static enum mg_mend mend_more(struct mg_check *check)
{
    const char *begin = behind_value(check);
    if (*check->at == '}' || *check->at == ']') {
        return mend_bracket(check);
    }
    if (*check->at == ';') {
        bool is_reported = report(check, check->at, "a semicolon; write a comma");
        check->at++;
        return is_reported ? MG_MEND_TAKEN : MG_MEND_NONE;
    }
    if (is_within_word(check, begin)) {
        return mend_word(check, word_begin(check)) == MG_MEND_TAKEN ? MG_MEND_AGAIN : MG_MEND_NONE;
    }
    if (!is_value_begin(check) && *check->at != '\'') {
        return MG_MEND_NONE;
    }
    if (check->mender->lost == begin) {
        return MG_MEND_TAKEN; /* it stands within the unclosed text before, perhaps */
    }
    return report(check, begin, "a comma is missing here") ? MG_MEND_TAKEN : MG_MEND_NONE;
}

enum mg_mend mg_check_mend(struct mg_check *check, enum mg_want want)
{
    if (check->mender == NULL || check->at >= check->end || *check->at == '\0' ||
        check->depth > MG_MEND_DEPTH_MAX) {
        return MG_MEND_NONE;
    }
    if (begins(check, "//") || begins(check, "/*") || begins(check, "#")) {
        return pass_comment(check);
    }
    switch (want) {
    case MG_WANT_NAME:
        return mend_name(check);
    case MG_WANT_COLON:
        return mend_colon(check);
    case MG_WANT_VALUE:
        return mend_value(check);
    case MG_WANT_MORE:
    default:
        return check->depth > 0 ? mend_more(check) : MG_MEND_NONE;
    }
}

bool mg_check_mend_comma(struct mg_check *check, char close)
{
    if (check->mender == NULL || check->at >= check->end || *check->at != close) {
        return false;
    }
    const char *comma = behind_value(check) - 1;
    if (*comma != ',' && check->mender->count > 0) { /* a comment, reported before */
        return true;
    }
    return *comma == ',' && report(check, comma, "a comma before \"%c\"; take it out", close);
}

/* ---- strings and numbers ---- */

/* After the closing quote on the same line; the line's end if there is none. */
static const char *string_end(const struct mg_check *check, const char *at)
{
    const char *stop = line_end(check, at);
    while (at < stop && *at != '"') {
        at += *at == '\\' && at + 1 < stop ? 2 : 1;
    }
    return at < stop ? at + 1 : stop;
}

static enum mg_check_fault mend_string(struct mg_check *check, const char *begin, enum mg_check_fault fault)
{
    const char *at = check->at;
    bool is_over = at >= check->end || *at == '\n' || *at == '\r';
    if (is_over) {
        if (!report(check, begin,
                    "a text without its closing quote; it ends on its line, and \\n stands for a "
                    "new one")) {
            return fault;
        }
        check->mender->lost = at;
        while (check->mender->lost > begin && is_blank(check->mender->lost[-1])) {
            check->mender->lost--;
        }
        return MG_FAULT_NONE;
    }
    if (fault != MG_FAULT_SYNTAX) {
        return fault;
    }
    if (!report(check, at, "%s",
                (unsigned char)*at < 0x20 ? "a control character in a text; write it as \\t or \\u00…"
                                          : "no escape of JSON; a plain backslash is written twice: \\\\")) {
        return fault;
    }
    check->at = string_end(check, at);
    return MG_FAULT_NONE;
}

enum mg_check_fault mg_check_mend_scalar(struct mg_check *check, const char *begin, enum mg_check_fault fault)
{
    if (check->mender == NULL) {
        return fault;
    }
    if (*begin == '"') {
        return mend_string(check, begin, fault);
    }
    if (fault == MG_FAULT_RANGE) {
        return fault;
    }
    return mend_word(check, begin) == MG_MEND_TAKEN ? MG_FAULT_NONE : fault;
}

bool mg_check_mend_twice(struct mg_check *check, struct mg_slice first, struct mg_slice second)
{
    if (check->mender == NULL) {
        return false;
    }
    struct mg_json_place place = mg_json_place_of(check->mender->text, first.data);
    return report(
        check, second.data, "%.*s is already in this object, at line %d, column %d; use each name once",
        second.len < SHOWN_MAX ? (int)second.len : SHOWN_MAX, second.data, place.line, place.column);
}

void mg_check_mend_end(struct mg_check *check, enum mg_check_fault fault, const char *explanation)
{
    struct mg_mender *mender = check->mender;
    bool is_open = check->at >= check->end && check->depth > 0 && check->depth <= MG_MEND_DEPTH_MAX;
    if (mender->count == MENDED_MAX) {
        mender->report(mender->arg, check->at, "and more behind this; mend the mistakes above first");
    } else if (is_open) {
        const char *open = mender->open[check->depth - 1];
        (void)report(check, open, "the %s that begins here is not closed; a \"%c\" is missing",
                     *open == '{' ? "object" : "array", closing(open));
    } else if (fault == MG_FAULT_MORE && check->at < check->end && (*check->at == '}' || *check->at == ']')) {
        (void)report(check, check->at, "a closing bracket too many; take it out");
    } else {
        (void)report(check, check->at, "%s", explanation);
    }
}
