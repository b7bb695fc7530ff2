/*
 * Messages and definitions: every example in proto/ gets the verdict of its folder. No mutation of a good one
 * makes a reader crash, read past the end, or refuse without a reason.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "wire_readers.h"

static struct mg_arena *arena;
static struct mg_err err;

static void set_up(void)
{
    arena = mg_arena_create(1 << 20);
    ck_assert_ptr_nonnull(arena);
    err = (struct mg_err){MG_OK, ""};
}

static void tear_down(void)
{
    mg_arena_destroy(arena);
}

/* ---- examples and mutations ---- */

static size_t file_read(const char *path, char **ret_text)
{
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    *ret_text = malloc(1 << 20);
    ck_assert_ptr_nonnull(*ret_text);
    size_t len = fread(*ret_text, 1, 1 << 20, file);
    (void)fclose(file); /* only read */
    return len;
}

static void with_examples(size_t reader, const char *kind, void (*use)(size_t reader, const char *path),
                          int least)
{
    char folder[512], path[1024];
    int count = 0;
    (void)snprintf(folder, sizeof(folder), "%s/proto/examples/%s", MG_SOURCE_DIR, READERS[reader].message);
    ck_assert_int_eq(chdir(folder), 0); /* a service file names files next to it */
    DIR *dir = opendir(kind);
    if (dir != NULL) {
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            if (entry->d_name[0] == '.') {
                continue;
            }
            (void)snprintf(path, sizeof(path), "%s/%s", kind, entry->d_name);
            use(reader, path);
            count++;
        }
        (void)closedir(dir); /* only read */
    }
    ck_assert_msg(count >= least, "%s/%s has %d examples", folder, kind, count);
}

static void accept_example(size_t reader, const char *path)
{
    char *text;
    size_t len = file_read(path, &text);
    enum mg_class class = READERS[reader].read((struct mg_slice){text, len}, arena, &err);
    ck_assert_msg(class == MG_OK, "%s/%s: %s", READERS[reader].message, path, err.text);
    free(text);
}

static void refuse_example(size_t reader, const char *path)
{
    char *text;
    size_t len = file_read(path, &text);
    err.text[0] = '\0';
    enum mg_class class = READERS[reader].read((struct mg_slice){text, len}, arena, &err);
    ck_assert_msg(class == MG_BAD_INPUT || class == MG_STALE, "%s/%s was accepted", READERS[reader].message,
                  path);
    ck_assert_msg(strlen(err.text) > 20, "%s/%s: \"%s\" says too little", READERS[reader].message, path,
                  err.text);
    free(text);
}

START_TEST(every_example_gets_the_verdict_of_its_folder)
{
    with_examples((size_t)_i, "valid", accept_example, 2);
    with_examples((size_t)_i, "invalid", refuse_example, 5);
    with_examples((size_t)_i, "invalid_beyond_schema", refuse_example, 0);
}
END_TEST

/* Each byte in turn becomes another, or the text ends there: every verdict is one of the enum, with a
 * reason. */
static void mutate_example(size_t reader, const char *path)
{
    static const char OTHERS[] = "\"\\{}[],:0 \x80$~/";
    char *text;
    size_t len = file_read(path, &text);
    for (size_t i = 0; i < len; i++) {
        char *copy = malloc(len); /* exactly as long, so that reading past the end is detected */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text, len);
        copy[i] = OTHERS[i % (sizeof(OTHERS) - 1)];
        struct mg_slice mutant = {copy, i % 3 == 0 ? i : len};
        struct mg_arena *own = mg_arena_create(1 << 20);
        err.text[0] = '\0';
        enum mg_class class = READERS[reader].read(mutant, own, &err);
        ck_assert_msg(class == MG_OK || class == MG_BAD_INPUT || class == MG_STALE, "%s byte %zu: %s", path,
                      i, err.text);
        ck_assert_msg(class == MG_OK || err.text[0] != '\0', "%s byte %zu: no reason", path, i);
        mg_arena_destroy(own);
        free(copy);
    }
    free(text);
}

START_TEST(no_mutation_breaks_a_reader)
{
    with_examples((size_t)_i, "valid", mutate_example, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message_examples");
    TCase *tests = tcase_create("message_examples");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_example_gets_the_verdict_of_its_folder, 0, (int)READER_COUNT);
    tcase_add_loop_test(tests, no_mutation_breaks_a_reader, 0, (int)READER_COUNT);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
