/*
 * Several mistakes of one definition in one report, each with its place and its cure. The input is the text.
 * The cure of the first mistake is applied as an author would, and again, until the text is valid or a
 * mistake has no cure that a program can apply. The mistakes that the readers of definitions report have
 * places of the text, and are plain texts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "json/reader.h"
#include "json/validator.h"
#include "workflow/case_file.h"
#include "workflow/workflow.h"

#define SYNTAX_MAX   21   /* the mender's bound, and the mistake that reports the bound */
#define CURED_MAX    768  /* bytes: each cure checks the text again from its start */
#define CURES_MAX    4096 /* more than any text of that size needs */
#define INSERTED_MAX (8 * CURED_MAX)

static const struct mg_json_limits LIMITS = {FUZZ_TEXT_MAX, 40, 10000, true};

/* ---- the report ---- */

struct report {
    struct mg_slice text;
    int count;
    size_t at; /* of the first mistake */
    char first[512];
};

static void on_report(void *arg, const char *at, const char *text)
{
    struct report *report = arg;
    FUZZ_REQUIRE(at >= report->text.data && at <= report->text.data + report->text.len);
    FUZZ_REQUIRE(text[0] != '\0' && report->count < SYNTAX_MAX);
    if (report->count++ == 0) {
        report->at = (size_t)(at - report->text.data);
        (void)snprintf(report->first, sizeof(report->first), "%s", text);
    }
}

/* The whole report, and whether it has mistakes: then the check refuses the text, too. */
static bool report_make(struct mg_slice text, struct report *ret)
{
    struct mg_err err;
    bool is_blank = mg_json_trim(text).len == 0;
    *ret = (struct report){.text = text};
    mg_json_check_all(text, &LIMITS, on_report, ret);
    FUZZ_REQUIRE(is_blank || (ret->count > 0) == (mg_json_check(text, &LIMITS, &err) != MG_OK));
    return ret->count > 0 && !is_blank;
}

/* ---- cures ---- */

struct draft {
    struct mg_buf text;
    int cures;
};

/* Replaces `len` bytes at `at`. */
static void splice(struct draft *draft, size_t at, size_t len, struct mg_slice with)
{
    struct mg_buf next;
    FUZZ_REQUIRE(at + len <= draft->text.len);
    mg_buf_init(&next, FUZZ_TEXT_MAX);
    mg_buf_append(&next, draft->text.data, at);
    mg_buf_append_slice(&next, with);
    mg_buf_append(&next, draft->text.data + at + len, draft->text.len - at - len);
    FUZZ_REQUIRE(!next.failed);
    mg_buf_finish(&draft->text);
    draft->text = next;
}

static void put(struct draft *draft, size_t at, const char *text)
{
    splice(draft, at, 0, mg_slice_of(text));
}

static void put_char(struct draft *draft, size_t at, size_t len, char c)
{
    splice(draft, at, len, (struct mg_slice){&c, 1});
}

static size_t line_end(const struct draft *draft, size_t at, const char *ends)
{
    while (at < draft->text.len && (draft->text.data[at] == '\0' || !strchr(ends, draft->text.data[at]))) {
        at++;
    }
    return at;
}

static size_t word_len(const struct draft *draft, size_t at)
{
    size_t end = at;
    for (; end < draft->text.len; end++) {
        char c = draft->text.data[end];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (c == '\0' || (!is_letter && strchr("_$-.+", c) == NULL)) {
            break;
        }
    }
    return end - at;
}

/* The text of `len` bytes at `at` becomes a string with `skip` fewer bytes at either end. */
static void quote(struct draft *draft, size_t at, size_t len, size_t skip_front, size_t skip_back)
{
    struct mg_buf quoted;
    mg_buf_init(&quoted, INSERTED_MAX);
    mg_buf_append_json_mended(
        &quoted, (struct mg_slice){draft->text.data + at + skip_front, len - skip_front - skip_back});
    FUZZ_REQUIRE(!quoted.failed);
    splice(draft, at, len, mg_buf_slice(&quoted));
    mg_buf_finish(&quoted);
}

static void cure_comment(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    const char *begin = draft->text.data + at;
    size_t left = draft->text.len - at;
    bool is_block = left > 1 && memcmp(begin, "/*", 2) == 0;
    const char *end = is_block ? memmem(begin, left, "*/", 2) : begin + (line_end(draft, at, "\n") - at);
    splice(draft, at, end == NULL ? left : (size_t)(end - begin) + (is_block ? 2 : 0), mg_slice_of(""));
}

/* Quotes of another kind, up to their end on the same line. */
static void cure_quotes(struct draft *draft, size_t at, const char *text)
{
    const char *close = text[0] == 's' ? "'" : text[0] == 'b' ? "`" : "\xe2\x80\x9d";
    size_t size = strlen(close), stop = line_end(draft, at, "\n"), from = at + size;
    const char *end = from < stop ? memmem(draft->text.data + from, stop - from, close, size) : NULL;
    size_t len = end != NULL ? (size_t)(end - draft->text.data) + size - at : stop - at;
    quote(draft, at, len, size < len ? size : len, end != NULL ? size : 0);
}

static void cure_twice(struct draft *draft, size_t at, const char *text)
{
    char prefix[32];
    (void)text;
    (void)snprintf(prefix, sizeof(prefix), "%d~", draft->cures);
    put(draft, at + 1, prefix);
}

static void cure_word(struct draft *draft, size_t at, const char *text)
{
    const char *meant = strstr(text, "; write ");
    bool has_other =
        meant != NULL && strstr(text, "; write \"") == NULL && strstr(text, "; write 12") == NULL;
    size_t len = word_len(draft, at);
    FUZZ_REQUIRE(len > 0);
    if (has_other) {
        splice(draft, at, len, mg_slice_of(meant + strlen("; write ")));
    } else {
        quote(draft, at, len, 0, 0);
    }
}

static void cure_take_out(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    splice(draft, at, 1, mg_slice_of(""));
}

static void cure_equal(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put_char(draft, at, 1, ':');
}

static void cure_colon(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put(draft, at, ":");
}

static void cure_digit(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put(draft, at, "0");
}

static void cure_value(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put(draft, at, "null");
}

static void cure_comma(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put(draft, at, ",");
}

static void cure_semicolon(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put_char(draft, at, 1, ',');
}

/* a "}" is missing here, … */
static void cure_missing_bracket(struct draft *draft, size_t at, const char *text)
{
    put_char(draft, at, 0, text[3]);
}

/* "]" where …; write "}" */
static void cure_bracket(struct draft *draft, size_t at, const char *text)
{
    put_char(draft, at, 1, strstr(text, "; write \"")[9]);
}

/* …; a "}" is missing */
static void cure_open(struct draft *draft, size_t at, const char *text)
{
    (void)at;
    put_char(draft, draft->text.len, 0, strstr(text, "; a \"")[5]);
}

static void cure_string(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    put(draft, line_end(draft, at, "\n\r"), "\"");
}

static void cure_control(struct draft *draft, size_t at, const char *text)
{
    char escape[8];
    (void)text;
    (void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)draft->text.data[at]);
    splice(draft, at, 1, mg_slice_of(escape));
}

/* The mistake's place is after the backslash. */
static void cure_escape(struct draft *draft, size_t at, const char *text)
{
    (void)text;
    while (at > 0 && draft->text.data[at - 1] != '\\') {
        at--;
    }
    FUZZ_REQUIRE(at > 0);
    put(draft, at, "\\");
}

/* By words of the mistake. The first may quote any text. */
static const struct {
    const char *words;
    void (*apply)(struct draft *draft, size_t at, const char *text);
} CURES[] = {{"is already in this object", cure_twice},
             {"a comment; JSON has none: take it out", cure_comment},
             {"; a text stands in double quotes", cure_quotes},
             {"a comma too many; take it out", cure_take_out},
             {"a name without quotes; write", cure_word},
             {"\"=\" between name and value", cure_equal},
             {"a colon is missing", cure_colon},
             {"a number has no plus sign", cure_take_out},
             {"a number has a digit before its point", cure_digit},
             {"a number has no leading zero", cure_word},
             {"not a number of JSON", cure_word},
             {"a text without quotes", cure_word},
             {"a value is missing here", cure_value},
             {"\" is missing here, for the ", cure_missing_bracket},
             {" ends; write \"", cure_bracket},
             {"a semicolon; write a comma", cure_semicolon},
             {"a comma is missing here", cure_comma},
             {"a comma before \"", cure_take_out},
             {"a text without its closing quote", cure_string},
             {"a control character in a text", cure_control},
             {"no escape of JSON", cure_escape},
             {"that begins here is not closed", cure_open},
             {"a closing bracket too many", cure_take_out},
             {"; write true", cure_word},
             {"; write false", cure_word},
             {"; write null", cure_word}};

static bool cure(struct draft *draft, const struct report *report)
{
    for (size_t i = 0; i < sizeof(CURES) / sizeof(CURES[0]); i++) {
        if (strstr(report->first, CURES[i].words) != NULL) {
            CURES[i].apply(draft, report->at, report->first);
            draft->cures++;
            return true;
        }
    }
    return false;
}

/* A mended text is valid in the end, or has a mistake left that names no change. */
static void cures_end(struct mg_slice text)
{
    struct draft draft = {.cures = 0};
    struct report report;
    mg_buf_init(&draft.text, FUZZ_TEXT_MAX);
    mg_buf_append_slice(&draft.text, text);
    while (draft.text.len > 0 && report_make(mg_buf_slice(&draft.text), &report) && cure(&draft, &report)) {
        FUZZ_REQUIRE(draft.cures <= CURES_MAX);
    }
    mg_buf_finish(&draft.text);
}

/* ---- the readers ---- */

struct told {
    struct mg_slice text;
    int count;
};

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct told *told = arg;
    bool is_whole = pointer == NULL && place.line == 0 && place.column == 0; /* empty, or too large */
    FUZZ_REQUIRE(++told->count <= MG_JSON_FAULTS_MAX);
    FUZZ_REQUIRE(is_whole || fuzz_has_place(told->text, place));
    FUZZ_REQUIRE(pointer == NULL || pointer[0] == '\0' || pointer[0] == '/');
    FUZZ_REQUIRE(pointer == NULL || fuzz_is_plain(pointer, strlen(pointer)));
    FUZZ_REQUIRE(text[0] != '\0' && fuzz_is_plain(text, strlen(text)));
}

static void readers_report(struct mg_slice text)
{
    struct told told = {.text = text};
    const struct mg_mistakes mistakes = {on_mistake, &told};
    struct mg_workflow *workflow = NULL;
    struct mg_cases *cases = NULL;
    struct mg_err err;
    bool is_refused = mg_workflow_parse(text, &mistakes, &workflow, &err) != MG_OK;
    FUZZ_REQUIRE(is_refused == (told.count > 0));
    FUZZ_REQUIRE(!is_refused || fuzz_is_plain(err.text, strlen(err.text)));
    mg_workflow_destroy(workflow);
    told.count = 0;
    is_refused = mg_cases_parse(text, NULL, &mistakes, &cases, &err) != MG_OK;
    FUZZ_REQUIRE(is_refused == (told.count > 0));
    FUZZ_REQUIRE(!is_refused || fuzz_is_plain(err.text, strlen(err.text)));
    mg_cases_destroy(cases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice text = {(const char *)data, size};
    struct report report;
    readers_report(text);
    (void)report_make(text, &report);
    if (size <= CURED_MAX) {
        cures_end(text);
    }
    return 0;
}
