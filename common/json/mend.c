/*
 * Mistakes of syntax in a definition, each with its place and its cure. This reader walks a text that the
 * check of json.c has refused. It reports each mistake and reads on as if it were mended, so one run finds
 * most of them. Messages are not read so: their first fault refuses them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/reader.h"
#include "json/validator.h"

#define MENDED_MAX  20             /* a text with more is mostly no definition */
#define TEXT_SIZE   256            /* of one mistake */
#define SHOWN_MAX   40             /* characters of the text that a mistake quotes */
#define OPEN_DOUBLE "\xe2\x80\x9c" /* typographic quotes, as word processors write them */
#define SHUT_DOUBLE "\xe2\x80\x9d"
#define DEPTH_MAX   64 /* deeper than the limit of any definition */

/* Its functions return the fault that ends the reading. */
struct mender {
    struct mg_slice text;
    const char *at, *end;
    struct mg_check check; /* names, and the string or number that is read */
    void (*report)(void *arg, const char *at, const char *text);
    void *arg;
    int count;
    const char *lost; /* after an unclosed string: a comma may lie within it */
    int depth, members;
    const char *open[DEPTH_MAX]; /* the brackets of the open containers */
};

static enum mg_check_fault read_value(struct mender *mender);

/* A fault, without a report, if the reports are many enough. */
MG_PRINTF(3, 4)
static enum mg_check_fault mistake(struct mender *mender, const char *at, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;

    if (mender->count == MENDED_MAX) {
        return MG_FAULT_SYNTAX;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* a cut text is better than none */
    va_end(args);
    mender->count++;
    mender->report(mender->arg, at, text);
    return MG_FAULT_NONE;
}

static bool begins(const struct mender *mender, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(mender->end - mender->at) >= len && memcmp(mender->at, with, len) == 0;
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
static const char *word_end(const struct mender *mender, const char *at)
{
    while (at < mender->end && is_word(*at)) {
        at++;
    }
    return at;
}

static const char *line_end(const struct mender *mender, const char *at)
{
    const char *end = memchr(at, '\n', (size_t)(mender->end - at));
    return end != NULL ? end : mender->end;
}

static int shown(const char *at, const char *end)
{
    return end - at < SHOWN_MAX ? (int)(end - at) : SHOWN_MAX;
}

/* ---- obstacles of any place ---- */

/* The next character that is neither blank nor in a comment; -1 at the end. */
static int next(struct mender *mender)
{
    for (;;) {
        while (mender->at < mender->end && is_blank(*mender->at)) {
            mender->at++;
        }
        bool is_block = begins(mender, "/*"),
             is_comment = is_block || begins(mender, "//") || begins(mender, "#");
        if (!is_comment ||
            mistake(mender, mender->at, "a comment; JSON has none: take it out") != MG_FAULT_NONE) {
            return mender->at < mender->end ? (unsigned char)*mender->at : -1;
        }
        size_t left = (size_t)(mender->end - mender->at);
        const char *end = is_block ? memmem(mender->at, left, "*/", 2) : line_end(mender, mender->at);
        mender->at = end == NULL ? mender->end : is_block ? end + 2 : end;
    }
}

/* A text between other quotes, up to the same line's end. */
static enum mg_check_fault pass_quoted(struct mender *mender, size_t open_len, const char *close,
                                       const char *what)
{
    const char *begin = mender->at, *stop = line_end(mender, begin), *from = begin + open_len;
    const char *end = from < stop ? memmem(from, (size_t)(stop - from), close, strlen(close)) : NULL;
    mender->at = end != NULL ? end + strlen(close) : stop;
    return mistake(mender, begin, "%s; a text stands in double quotes: \"…\"", what);
}

static enum mg_check_fault pass_other_quotes(struct mender *mender)
{
    if (begins(mender, "'")) {
        return pass_quoted(mender, 1, "'", "single quotes");
    }
    if (begins(mender, "`")) {
        return pass_quoted(mender, 1, "`", "backquotes");
    }
    return begins(mender, OPEN_DOUBLE) || begins(mender, SHUT_DOUBLE)
               ? pass_quoted(mender, strlen(OPEN_DOUBLE), SHUT_DOUBLE, "typographic quotes")
               : MG_FAULT_SYNTAX;
}

/* ---- words, numbers and strings ---- */

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

static enum mg_check_fault mend_word(struct mender *mender, const char *begin)
{
    const char *end = word_end(mender, begin);
    const char *meant = meant_word(begin, (size_t)(end - begin));
    bool is_number = (*begin >= '0' && *begin <= '9') || *begin == '+' || *begin == '-' || *begin == '.';
    mender->at = end;
    return meant != NULL ? mistake(mender, begin, "%.*s; write %s", shown(begin, end), begin, meant)
           : is_number   ? mistake(mender, begin, "%s", number_cure(begin, end))
                         : mistake(mender, begin, "a text without quotes; write \"…\" around it");
}

/* After the closing quote on the same line; the line's end if there is none. */
static const char *string_end(const struct mender *mender, const char *at)
{
    const char *stop = line_end(mender, at);
    while (at < stop && *at != '"') {
        at += *at == '\\' && at + 1 < stop ? 2 : 1;
    }
    return at < stop ? at + 1 : stop;
}

/* The string from `begin` has this fault at `at`. */
static enum mg_check_fault mend_string(struct mender *mender, const char *begin, enum mg_check_fault fault)
{
    const char *at = mender->at;
    if (at >= mender->end || *at == '\n' || *at == '\r') {
        mender->lost = at;
        while (mender->lost > begin && is_blank(mender->lost[-1])) {
            mender->lost--;
        }
        return mistake(mender, begin,
                       "a text without its closing quote; it ends on its line, and \\n stands for a new one");
    }
    if (fault != MG_FAULT_SYNTAX) {
        return fault;
    }
    mender->at = string_end(mender, at);
    return mistake(mender, at, "%s",
                   (unsigned char)*at < 0x20 ? "a control character in a text; write it as \\t or \\u00…"
                                             : "no escape of JSON; a plain backslash is written twice: \\\\");
}

/* `is_name`: it is kept, if it is whole, for the search of duplicates; one without memory is left out. */
static enum mg_check_fault read_string(struct mender *mender, bool is_name)
{
    struct mg_check_name name = {.quoted.data = mender->at};
    mender->check.at = mender->at;
    enum mg_check_fault fault = mg_check_string(&mender->check, &name.has_escapes);
    mender->at = mender->check.at;
    if (fault != MG_FAULT_NONE) {
        return mend_string(mender, name.quoted.data, fault);
    }
    name.quoted.len = (size_t)(mender->at - name.quoted.data);
    if (is_name) {
        (void)mg_check_keep_name(&mender->check, name);
    }
    return MG_FAULT_NONE;
}

static enum mg_check_fault read_number(struct mender *mender)
{
    const char *begin = mender->at;
    mender->check.at = begin;
    enum mg_check_fault fault = mg_check_number(&mender->check);
    mender->at = mender->check.at;
    return fault == MG_FAULT_SYNTAX ? mend_word(mender, begin) : fault;
}

/* ---- members and elements ---- */

static enum mg_check_fault read_name(struct mender *mender)
{
    enum mg_check_fault fault = MG_FAULT_NONE;
    while (next(mender) == ',' && fault == MG_FAULT_NONE) {
        fault = mistake(mender, mender->at++, "a comma too many; take it out");
    }
    const char *at = mender->at, *end = word_end(mender, at);
    if (fault != MG_FAULT_NONE || begins(mender, "\"")) {
        return fault != MG_FAULT_NONE ? fault : read_string(mender, true);
    }
    if (end == at) {
        return pass_other_quotes(mender);
    }
    mender->at = end;
    return mistake(mender, at, "a name without quotes; write \"%.*s\"", shown(at, end), at);
}

static bool is_value_begin(int c)
{
    return c == '"' || c == '{' || c == '[' || (c > 0 && is_word((char)c));
}

static enum mg_check_fault read_colon(struct mender *mender)
{
    int c = next(mender);
    mender->at += c == ':' || c == '=' ? 1 : 0;
    if (c == '=') {
        return mistake(mender, mender->at - 1, "\"=\" between name and value; write a colon");
    }
    if (is_value_begin(c)) {
        return mistake(mender, mender->at, "a colon is missing between name and value");
    }
    /* At the end of the member the value is missing, too; that is reported then. */
    return c == ':' || c == ',' || c == '}' ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
}

/* Where the comma belongs: after the value before. */
static const char *behind_value(const struct mender *mender)
{
    const char *at = mender->at;
    while (at > mender->text.data && is_blank(at[-1])) {
        at--;
    }
    return at;
}

static char closing(const char *open)
{
    return *open == '{' ? '}' : ']';
}

/* Another bracket closes the container. If the one around it ends so, its own is missing. */
static enum mg_check_fault mend_bracket(struct mender *mender)
{
    const char *at = mender->at, *open = mender->open[mender->depth - 1];
    const char *outer = mender->depth > 1 ? mender->open[mender->depth - 2] : NULL;
    const char *what = *open == '{' ? "object" : "array";
    struct mg_json_place place = mg_json_place_of(mender->text, open);
    if (outer == NULL || closing(outer) != *at) {
        return mistake(mender, at, "\"%c\" where the %s of line %d, column %d ends; write \"%c\"", *at, what,
                       place.line, place.column, closing(open));
    }
    mender->at--; /* the reading passes one bracket; the outer one must stay */
    return mistake(mender, at, "a \"%c\" is missing here, for the %s of line %d, column %d", closing(open),
                   what, place.line, place.column);
}

/* A number goes on as no number does: 15m. */
static bool is_within_word(const struct mender *mender, const char *behind)
{
    return mender->at == behind && is_word(*mender->at) && behind > mender->text.data && is_word(behind[-1]);
}

/* After a member or an element. `ret_is_over`: at the closing bracket, or at one that stands for it. */
static enum mg_check_fault read_more(struct mender *mender, char close, bool *ret_is_over)
{
    int c = next(mender);
    const char *behind = behind_value(mender), *begin = behind;
    *ret_is_over = c == '}' || c == ']';
    if (*ret_is_over) {
        return c == close ? MG_FAULT_NONE : mend_bracket(mender);
    }
    mender->at += c == ',' || c == ';' ? 1 : 0;
    if (c <= 0 || c == ',') {
        return c == ',' ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
    }
    if (c == ';') {
        return mistake(mender, mender->at - 1, "a semicolon; write a comma");
    }
    if (is_within_word(mender, behind)) {
        while (begin > mender->text.data && is_word(begin[-1])) {
            begin--;
        }
        enum mg_check_fault fault = mend_word(mender, begin);
        return fault == MG_FAULT_NONE ? read_more(mender, close, ret_is_over) : fault;
    }
    if (!is_value_begin(c) && c != '\'') {
        return MG_FAULT_SYNTAX;
    }
    /* It stands within the unclosed text before, perhaps. */
    return mender->lost == behind ? MG_FAULT_NONE : mistake(mender, behind, "a comma is missing here");
}

/* A fault where a member or an element should begin: before the closing bracket, a comma is too many. */
static enum mg_check_fault mend_comma(struct mender *mender, char close)
{
    if (mender->at >= mender->end || *mender->at != close) {
        return MG_FAULT_SYNTAX;
    }
    const char *comma = behind_value(mender) - 1;
    if (*comma != ',') { /* a comment, reported before */
        return mender->count > 0 ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
    }
    return mistake(mender, comma, "a comma before \"%c\"; take it out", close);
}

static enum mg_check_fault read_children(struct mender *mender, bool is_object)
{
    char close = is_object ? '}' : ']';
    bool is_over = next(mender) == close;
    while (!is_over) {
        if (++mender->members > mender->check.limits->max_members) {
            return MG_FAULT_MEMBERS;
        }
        enum mg_check_fault fault = is_object ? read_name(mender) : MG_FAULT_NONE;
        fault = fault == MG_FAULT_NONE && is_object ? read_colon(mender) : fault;
        fault = fault == MG_FAULT_NONE ? read_value(mender) : fault;
        if (fault == MG_FAULT_SYNTAX) {
            return mend_comma(mender, close);
        }
        fault = fault == MG_FAULT_NONE ? read_more(mender, close, &is_over) : fault;
        if (fault != MG_FAULT_NONE) {
            return fault;
        }
    }
    return MG_FAULT_NONE;
}

/* The names from the index `from` are those of one object. */
static enum mg_check_fault report_twice(struct mender *mender, size_t from)
{
    const struct mg_check_name *names = mender->check.names;
    enum mg_check_fault fault = MG_FAULT_NONE;
    for (size_t i = from; i < mender->check.name_count; i++) {
        for (size_t k = from; k < i && fault == MG_FAULT_NONE; k++) {
            if (mg_check_is_same_name(&names[k], &names[i])) {
                struct mg_slice name = names[i].quoted;
                struct mg_json_place place = mg_json_place_of(mender->text, names[k].quoted.data);
                mender->at = name.data;
                fault = mistake(mender, name.data,
                                "%.*s is already in this object, at line %d, column %d; use each name once",
                                shown(name.data, name.data + name.len), name.data, place.line, place.column);
            }
        }
    }
    return fault;
}

static enum mg_check_fault read_container(struct mender *mender, bool is_object)
{
    size_t names_before = mender->check.name_count;
    if (++mender->depth > mender->check.limits->max_depth || mender->depth > DEPTH_MAX) {
        return MG_FAULT_DEPTH;
    }
    mender->open[mender->depth - 1] = mender->at++;
    enum mg_check_fault fault = read_children(mender, is_object);
    const char *behind = mender->at + 1;
    fault = fault == MG_FAULT_NONE ? report_twice(mender, names_before) : fault;
    if (fault == MG_FAULT_NONE) {
        mender->check.name_count = names_before;
        mender->depth--;
        mender->at = behind;
    }
    return fault;
}

static enum mg_check_fault read_value(struct mender *mender)
{
    static const char *const WORDS[] = {"true", "false", "null"};
    int c = next(mender);
    if (c == '{' || c == '[') {
        return read_container(mender, c == '{');
    }
    if (c == '"') {
        return read_string(mender, false);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return read_number(mender);
    }
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (begins(mender, WORDS[i])) {
            mender->at += strlen(WORDS[i]);
            return MG_FAULT_NONE;
        }
    }
    if (c == ',' || c == '}') {
        return mistake(mender, mender->at, "a value is missing here");
    }
    return c > 0 && is_word((char)c) ? mend_word(mender, mender->at) : pass_other_quotes(mender);
}

/* ---- the whole ---- */

/* The fault that ends the reading. */
static void report_end(struct mender *mender, enum mg_check_fault fault)
{
    char explanation[MG_CHECK_EXPLANATION_SIZE];
    const char *at = mender->at;
    bool is_over = at >= mender->end;
    mender->check.at = at;
    if (mender->count == MENDED_MAX) {
        mender->report(mender->arg, at, "and more behind this; mend the mistakes above first");
    } else if (is_over && mender->depth > 0 && mender->depth <= DEPTH_MAX) {
        const char *open = mender->open[mender->depth - 1];
        (void)mistake(mender, open, "the %s that begins here is not closed; a \"%c\" is missing",
                      *open == '{' ? "object" : "array", closing(open));
    } else if (fault == MG_FAULT_MORE && !is_over && (*at == '}' || *at == ']')) {
        (void)mistake(mender, at, "a closing bracket too many; take it out");
    } else {
        (void)mistake(mender, at, "%s", mg_check_explain(&mender->check, fault, explanation));
    }
}

void mg_json_check_all(struct mg_slice text, const struct mg_json_limits *limits,
                       void (*report)(void *arg, const char *at, const char *text), void *arg)
{
    const char *end = text.data + text.len;
    struct mender mender = {.text = text,
                            .at = text.data,
                            .end = end,
                            .check = {.end = end, .limits = limits},
                            .report = report,
                            .arg = arg};
    mg_check_names_begin(&mender.check);
    enum mg_check_fault fault = read_value(&mender);
    while (fault == MG_FAULT_NONE && mender.at < end && is_blank(*mender.at)) {
        mender.at++;
    }
    if (fault != MG_FAULT_NONE || mender.at < end) {
        report_end(&mender, fault != MG_FAULT_NONE ? fault : MG_FAULT_MORE);
    }
    mg_check_names_end(&mender.check);
}

static void add_syntax_fault(void *arg, const char *at, const char *text)
{
    mg_json_fault_at(arg, MG_BAD_INPUT, NULL, at, "%s", text);
}

static struct mg_json_place place_in(const struct mg_json_faults *faults, const char *pointer, const char *at)
{
    const char *begin = faults->text.data;
    if (at == NULL || at < begin || at > begin + faults->text.len) {
        at = mg_json_locate(faults->text, pointer);
    }
    return mg_json_place_of(faults->text, at);
}

struct mg_json_faults mg_json_definition_faults(struct mg_slice text, const struct mg_mistakes *mistakes,
                                                struct mg_err *err)
{
    return (struct mg_json_faults){.err = err, .mistakes = mistakes, .text = text, .place = place_in};
}

bool mg_json_definition_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                             const struct mg_json_limits *limits, const char *const *names)
{
    struct mg_slice text = faults->text;
    faults->class = mg_json_check(text, limits, faults->err);
    if (faults->class == MG_OK) {
        return mg_json_object_open(ret_object, faults, text, "", names, MG_JSON_UNKNOWN_REFUSED);
    }
    if (faults->class == MG_BAD_INPUT && mg_json_trim(text).len > 0 && text.len <= limits->max_bytes) {
        mg_json_check_all(text, limits, add_syntax_fault, faults);
    }
    if (faults->count == 0 && faults->mistakes != NULL && faults->class == MG_BAD_INPUT) {
        faults->mistakes->add(faults->mistakes->arg, (struct mg_json_place){0, 0}, NULL, faults->err->text);
    }
    faults->count += faults->count == 0 ? 1 : 0;
    return false;
}
