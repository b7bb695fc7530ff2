/* The tables of mistakes: definitions as authors write them, each with the exact lines of its report. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/service.h"
#include "suite.h"
#include "workflow/case_file.h"
#include "workflow/workflow.h"

#define FILE_MAX  (1 << 20)
#define LINES_MAX 8192

struct lines {
    char text[LINES_MAX];
    size_t len;
};

static void add_line(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct lines *lines = arg;
    char where[64] = "";
    if (place.line > 0) {
        (void)snprintf(where, sizeof(where), "%d:%d: ", place.line, place.column);
    }
    const char *shown = pointer == NULL ? "" : *pointer == '\0' ? "(the whole)" : pointer;
    int n = snprintf(lines->text + lines->len, sizeof(lines->text) - lines->len, "%s%s%s%s\n", where, shown,
                     pointer != NULL ? ": " : "", text);
    ck_assert_int_gt(n, 0);
    lines->len += (size_t)n;
    ck_assert_uint_lt(lines->len, sizeof(lines->text));
}

static enum mg_class read_workflow(struct mg_slice text, const struct mg_mistakes *mistakes,
                                   struct mg_err *err)
{
    struct mg_workflow *workflow = NULL;
    enum mg_class class = mg_workflow_parse(text, mistakes, &workflow, err);
    mg_workflow_destroy(workflow);
    return class;
}

static enum mg_class read_service(struct mg_slice text, const struct mg_mistakes *mistakes,
                                  struct mg_err *err)
{
    struct mg_service *service = NULL;
    enum mg_class class = mg_service_parse(text, mistakes, &service, err);
    mg_service_destroy(service);
    return class;
}

static enum mg_class read_cases(struct mg_slice text, const struct mg_mistakes *mistakes, struct mg_err *err)
{
    static const char WORKFLOW[] =
        "{\"workflow\":\"trip\",\"version\":1,\"steps\":[{\"step\":\"flight\",\"service\":\"s\",\"undo\":\"none\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/a\"}},{\"step\":\"hotel\",\"service\":\"s\","
        "\"undo\":{\"method\":\"DELETE\",\"path\":\"/b\"},\"do\":{\"method\":\"POST\",\"path\":\"/b\"}}]}";
    struct mg_workflow *workflow = NULL;
    struct mg_cases *cases = NULL;
    ck_assert_msg(mg_workflow_parse(mg_slice_of(WORKFLOW), NULL, &workflow, err) == MG_OK, "%s", err->text);
    enum mg_class class = mg_cases_parse(text, workflow, mistakes, &cases, err);
    mg_cases_destroy(cases);
    mg_workflow_destroy(workflow);
    return class;
}

static const struct {
    const char *file;
    enum mg_class (*read)(struct mg_slice text, const struct mg_mistakes *mistakes, struct mg_err *err);
    int rows_min; /* a table that is not read would pass */
} TABLES[] = {
    {"workflow.txt", read_workflow, 100}, {"service.txt", read_service, 8}, {"cases.txt", read_cases, 15}};

static char *table_text(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/tests/unit/mistakes/%s", MG_SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    char *text = calloc(1, FILE_MAX);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, FILE_MAX - 1, file), FILE_MAX - 1);
    (void)fclose(file); /* only read */
    return text;
}

struct row {
    const char *name, *expected;
    struct mg_slice definition;
};

/* Takes the row that begins at `at`, after "\n== ", apart. Returns the next one; NULL: there is none. */
static char *row_take(char *at, struct row *ret_row)
{
    char *definition = strchr(at, '\n'), *expected = strstr(at, "\n--\n");
    ck_assert_msg(definition != NULL && expected != NULL, "a row without a definition or without \"--\"");
    *definition++ = '\0';
    *expected = '\0';
    ret_row->name = at;
    ret_row->definition = mg_slice_of(definition);
    expected += strlen("\n--\n");
    ret_row->expected = expected;
    char *next = strstr(expected, "\n\n== ");
    if (next != NULL) {
        next[1] = '\0';
        next += strlen("\n\n== ");
    }
    return next;
}

/* Catches: a check that is lost, a text or place that changes, and a mistake that hides another one. */
START_TEST(each_mistake_has_its_place_and_its_cure)
{
    char *text = table_text(TABLES[_i].file);
    char *at = strstr(text, "\n== ");
    int count = 0, wrong = 0;
    ck_assert_ptr_nonnull(at);
    for (at += strlen("\n== "); at != NULL; count++) {
        struct row row;
        struct lines lines = {.len = 0};
        const struct mg_mistakes mistakes = {add_line, &lines};
        struct mg_err err = {MG_OK, ""};
        at = row_take(at, &row);
        enum mg_class class = TABLES[_i].read(row.definition, &mistakes, &err);
        const char *told = class == MG_OK ? "good\n" : lines.text;
        if (strcmp(told, row.expected) != 0) {
            wrong++;
            (void)fprintf(stderr, "%s: %s\nexpected:\n%stold:\n%s\n", TABLES[_i].file, row.name, row.expected,
                          told);
        }
    }
    free(text);
    ck_assert_int_ge(count, TABLES[_i].rows_min);
    ck_assert_msg(wrong == 0, "%d of %d rows of %s differ", wrong, count, TABLES[_i].file);
}
END_TEST

/* Catches: a file's name that steers the terminal of its reader. */
START_TEST(a_printed_mistake_steers_no_terminal)
{
    struct mg_mistake_printer printer = {.path = "a\x1b[31m\xc2\x9b/b\n.json"};
    char text[256] = "";
    FILE *file = tmpfile();
    int stderr_fd = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    mg_mistake_print(&printer, (struct mg_json_place){.line = 1, .column = 2}, "/c", "d\x1b");
    ck_assert_int_ge(dup2(stderr_fd, STDERR_FILENO), 0);
    (void)close(stderr_fd);
    rewind(file);
    ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    (void)fclose(file);
    ck_assert_str_eq(text, "a.[31m./b .json:1:2: /c: d.\n");
}
END_TEST

/* Catches: a first mistake, as a log line or an answer has it, without its place. */
START_TEST(the_first_mistake_has_its_place)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of("{ \"workflow\": 'w',\n  }"), NULL, &workflow, &err),
                     MG_BAD_INPUT);
    ck_assert_str_eq(err.text, "line 1, column 15: single quotes; a text stands in double quotes: "
                               "\"\xe2\x80\xa6\" (and 1 more)");
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of("{ \"workflow\": \"w\",\n  \"verson\": 1, \"version\": 1, "
                                                   "\"steps\": 1 }"),
                                       NULL, &workflow, &err),
                     MG_BAD_INPUT);
    ck_assert_str_eq(err.text, "line 2, column 3: /verson: no such member; did you mean \"version\"? (and 1 "
                               "more)");
}
END_TEST

/* Catches: a report without an end, of a hostile text. */
START_TEST(mistakes_of_syntax_are_bounded)
{
    struct lines lines = {.len = 0};
    const struct mg_mistakes mistakes = {add_line, &lines};
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    struct mg_buf text;
    int count = 0;
    mg_buf_init(&text, 100000);
    mg_buf_append_text(&text, "[");
    for (int i = 0; i < 30000; i++) {
        mg_buf_append_text(&text, i % 2 == 0 ? "#\n" : "x\n");
    }
    ck_assert_int_eq(mg_workflow_parse(mg_buf_slice(&text), &mistakes, &workflow, &err), MG_BAD_INPUT);
    for (const char *at = lines.text; (at = strchr(at, '\n')) != NULL; at++) {
        count++;
    }
    ck_assert_int_eq(count, 21);
    ck_assert_ptr_nonnull(strstr(lines.text, "mend the mistakes above first"));
    mg_buf_finish(&text);
}
END_TEST

/* Catches: a quotation that is cut within a character, so that the report is no UTF-8. */
START_TEST(a_quotation_is_cut_at_a_character)
{
    struct lines lines = {.len = 0};
    const struct mg_mistakes mistakes = {add_line, &lines};
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    char text[] = "{\"workflow\":\"aéééééééééééééééééééééééééééééé\",\"version\":1,\"steps\":[]}";
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(text), &mistakes, &workflow, &err), MG_BAD_INPUT);
    for (size_t at = 0, len; at < lines.len; at += len) {
        len = mg_utf8_len(lines.text + at, lines.len - at);
        ck_assert_msg(len > 0, "%s", lines.text);
    }
}
END_TEST

/* Catches: a name of the input in a pointer that splits a character where it is cut, or steers a terminal. */
START_TEST(a_pointer_is_plain)
{
    struct lines lines = {.len = 0};
    const struct mg_mistakes mistakes = {add_line, &lines};
    struct mg_cases *cases = NULL;
    struct mg_err err;
    struct mg_buf text;
    mg_buf_init(&text, 10000);
    mg_buf_append_text(&text, "{\"workflow\":\"w\",\"answers\":{\"\u202e\xc2\x9b\x7f");
    for (int i = 0; i < 200; i++) {
        mg_buf_append_text(&text, "é");
    }
    mg_buf_append_text(&text, "\":1},\"cases\":[]}");
    ck_assert_int_eq(mg_cases_parse(mg_buf_slice(&text), NULL, &mistakes, &cases, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(lines.text, "/answers/??????\xc3\xa9"));
    for (size_t at = 0, len; at < lines.len; at += len) {
        len = mg_utf8_len(lines.text + at, lines.len - at);
        ck_assert_msg(len > 0 && mg_text_steers(lines.text + at, lines.len - at) == 0, "%s", lines.text);
    }
    mg_buf_finish(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mistakes");
    TCase *tests = tcase_create("mistakes");
    tcase_add_loop_test(tests, each_mistake_has_its_place_and_its_cure, 0,
                        (int)(sizeof(TABLES) / sizeof(TABLES[0])));
    tcase_add_test(tests, the_first_mistake_has_its_place);
    tcase_add_test(tests, a_printed_mistake_steers_no_terminal);
    tcase_add_test(tests, mistakes_of_syntax_are_bounded);
    tcase_add_test(tests, a_quotation_is_cut_at_a_character);
    tcase_add_test(tests, a_pointer_is_plain);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
