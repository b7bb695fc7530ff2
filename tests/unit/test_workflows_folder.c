/* The folder of workflows of `makegood dev`, over a store that takes everything. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dev/workflow_folder.h"
#include "patience.h"
#include "suite.h"

#define PATIENCE_MS 30000

static struct mg_loop *loop;
static struct mg_workflows *workflows;
static struct mg_buf lines;
static char folder[] = "/tmp/test_workflows_folder_XXXXXX";

void __wrap_mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                                  mg_store_workflow_fn *done, void *arg);
void __wrap_mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                                  mg_store_workflow_fn *done, void *arg)
{
    (void)store;
    (void)name;
    (void)version;
    done(arg, false, 0, (struct mg_slice){NULL, 0}, NULL);
}

void __wrap_mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                                  struct mg_slice definition, mg_store_done_fn *done, void *arg);
void __wrap_mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                                  struct mg_slice definition, mg_store_done_fn *done, void *arg)
{
    (void)store;
    (void)name;
    (void)version;
    (void)definition;
    done(arg, NULL);
}

static const char *lines_so_far(void)
{
    return lines.data != NULL ? lines.data : "";
}

static void on_report(void *arg, const char *line)
{
    (void)arg;
    mg_buf_printf(&lines, "%s\n", line);
    mg_loop_stop(loop);
}

static void on_changed(void *arg)
{
    (void)arg;
}

static void line_await(const char *line)
{
    while (strstr(lines_so_far(), line) == NULL) {
        loop_run(loop, PATIENCE_MS, lines_so_far);
    }
}

static const char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void file_write(const char *name, const char *workflow)
{
    FILE *file = fopen(path_of(name), "w");
    ck_assert_ptr_nonnull(file);
    (void)fprintf(file,
                  "{\"workflow\":\"%s\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\","
                  "\"do\":{\"method\":\"POST\",\"path\":\"/a\"},\"undo\":\"none\"}]}",
                  workflow);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
    static const char *const services[] = {"s"};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    loop = mg_loop_create();
    ck_assert_ptr_nonnull(loop);
    mg_buf_init(&lines, 65536);
    file_write("hello.json", "hello");
    file_write("new.json", "hello");
    const struct mg_workflows_options options = {.loop = loop,
                                                 .folder = folder,
                                                 .services = services,
                                                 .service_count = 1,
                                                 .report = on_report,
                                                 .changed = on_changed};
    workflows = mg_workflows_create(&options);
    ck_assert_ptr_nonnull(workflows);
    line_await("new.json: workflow hello is in hello.json, too; keep it in one file");
}

static void tear_down(void)
{
    mg_workflows_destroy(workflows);
    mg_buf_finish(&lines);
    mg_loop_destroy(loop);
    (void)unlink(path_of("hello.json"));
    (void)unlink(path_of("new.json"));
    (void)rmdir(folder);
}

/* Catches: a refused file that is never loaded, since its bytes do not change. */
START_TEST(a_refused_file_is_loaded_when_the_other_one_is_gone)
{
    ck_assert_int_eq(unlink(path_of("hello.json")), 0);
    line_await("new.json: workflow hello, version 1");
}
END_TEST

START_TEST(a_refused_file_is_loaded_when_the_other_one_has_another_workflow)
{
    file_write("hello.json", "other");
    line_await("hello.json: workflow other, version 1");
    line_await("new.json: workflow hello, version 1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workflows_folder");
    TCase *tests = tcase_create("workflows_folder");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_refused_file_is_loaded_when_the_other_one_is_gone);
    tcase_add_test(tests, a_refused_file_is_loaded_when_the_other_one_has_another_workflow);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
