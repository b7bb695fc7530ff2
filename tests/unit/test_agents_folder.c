/* The parts of `makegood agents` without processes: the folders' files, the check of a file, merged metrics.
 */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/folder.h"
#include "agents/scrape.h"
#include "suite.h"

static char first[] = "/tmp/makegood-folder-XXXXXX", second[] = "/tmp/makegood-folder-XXXXXX";
static struct mg_list folders;
static struct mg_listing listing;
static struct mg_err err;

static void set_up(void)
{
    memcpy(first + sizeof(first) - 7, "XXXXXX", 6);
    memcpy(second + sizeof(second) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(first));
    ck_assert_ptr_nonnull(mkdtemp(second));
    folders = (struct mg_list){.items = {first, second}, .count = 2};
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void tear_down(void)
{
    ck_assert_int_eq(nftw(first, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(nftw(second, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void file_write(const char *folder, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void list(void)
{
    ck_assert_int_eq(mg_folders_list(&folders, &listing, &err), MG_OK);
}

static int folder_of(const char *name)
{
    for (int i = 0; i < listing.count; i++) {
        if (strcmp(listing.files[i].name, name) == 0) {
            return listing.files[i].folder;
        }
    }
    return -1;
}

/* Catches: an editor's file served as a service; a name that is no service's; a file of a sample in front of
 * one's own. */
START_TEST(service_files_are_listed_each_name_once)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/folder.json", first);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    file_write(first, "payment.json", "{}");
    file_write(first, ".payment.json", "{}");
    file_write(first, "payment.json~", "{}");
    file_write(first, "Payment.json", "{}");
    file_write(first, ".json", "{}");
    file_write(second, "payment.json", "{}");
    file_write(second, "carrier.json", "{}");
    list();
    ck_assert_int_eq(listing.count, 2);
    ck_assert_int_eq(folder_of("payment"), 0);
    ck_assert_int_eq(folder_of("carrier"), 1);
}
END_TEST

/* Catches: a change that the stamp does not show: longer, or another file in the same place. */
START_TEST(a_stamp_differs_after_a_change)
{
    file_write(first, "payment.json", "{}");
    list();
    struct mg_stamp before = listing.files[0].stamp;
    list();
    ck_assert(mg_stamp_equal(&before, &listing.files[0].stamp));
    file_write(first, "payment.json", "{ }");
    list();
    ck_assert(!mg_stamp_equal(&before, &listing.files[0].stamp));
    before = listing.files[0].stamp;
    file_write(first, "new", "{ }");
    char from[128], to[128];
    (void)snprintf(from, sizeof(from), "%s/new", first);
    (void)snprintf(to, sizeof(to), "%s/payment.json", first);
    ck_assert_int_eq(rename(from, to), 0);
    list();
    ck_assert(!mg_stamp_equal(&before, &listing.files[0].stamp));
}
END_TEST

/* Catches: files beyond the bound that end others' agents, or are dropped in silence. */
START_TEST(files_beyond_the_bound_are_counted)
{
    for (int i = 0; i < MG_AGENTS_MAX + 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "s%d.json", i);
        file_write(first, name, "{}");
    }
    list();
    ck_assert_int_eq(listing.count, MG_AGENTS_MAX);
    ck_assert_int_eq(listing.surplus, 3);
}
END_TEST

/* Catches: a missing folder taken for an empty one, which would end all agents. */
START_TEST(a_missing_folder_is_an_error)
{
    folders.items[1] = "/tmp/makegood-folder-that-is-not-there";
    ck_assert_int_eq(mg_folders_list(&folders, &listing, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "makegood-folder-that-is-not-there"));
}
END_TEST

/* Catches: half a file, or the file of another service, that is taken; a mistake without its place or cure.
 */
START_TEST(a_file_is_checked_with_its_name)
{
    char path[MG_SERVICE_PATH_SIZE];
    mg_service_path(&folders, 0, "payment", path);
    file_write(first, "payment.json", "{\"service\": \"payment\", \"url\": \"http://127.0.0.1:1\"}");
    ck_assert_int_eq(mg_service_file_check(path, "payment", &err), MG_OK);
    ck_assert_int_eq(mg_service_file_check(path, "carrier", &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "rename the file to payment.json"));
    file_write(first, "payment.json", "{\n  \"service\": \"payment\",\n  \"url\": \"http://127.0");
    ck_assert_int_eq(mg_service_file_check(path, "payment", &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, path) == err.text && strstr(err.text, "line 3, column 10") != NULL, "%s",
                  err.text);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* without a writer: it came after the look at the folder */
    ck_assert_int_eq(mg_service_file_check(path, "payment", &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "it is no regular file"));
}
END_TEST

#define OWN                                                                                                  \
    "# HELP up whether it is\n# TYPE up gauge\nup{service=\"a\"} 1\n"                                        \
    "# HELP own of the parent\n# TYPE own counter\nown 3\n"
#define ONE "# HELP calls calls made\n# TYPE calls counter\ncalls{service=\"a\",status=\"2xx\"} 5\n"
#define TWO                                                                                                  \
    "# HELP calls calls made\n# TYPE calls counter\ncalls{service=\"b\",status=\"2xx\"} 7\n"                 \
    "# HELP call calls that are longer in name\n# TYPE call gauge\ncall 2.5e+06\n"

/* Catches: a family in two places, which the format forbids; a sample without its agent, so that two agents'
 * samples are one; a family whose name begins another's. */
START_TEST(metrics_of_agents_are_merged_by_family)
{
    const struct mg_metrics_text texts[] = {
        {mg_slice_of(OWN), NULL}, {mg_slice_of(ONE), "a"}, {mg_slice_of(TWO), "b"}};
    struct mg_buf merged;
    mg_buf_init(&merged, 4096);
    mg_metrics_merge(texts, 3, &merged);
    ck_assert_str_eq(merged.data, OWN "# HELP calls calls made\n# TYPE calls counter\n"
                                      "calls{agent=\"a\",service=\"a\",status=\"2xx\"} 5\n"
                                      "calls{agent=\"b\",service=\"b\",status=\"2xx\"} 7\n"
                                      "# HELP call calls that are longer in name\n# TYPE call gauge\n"
                                      "call{agent=\"b\"} 2.5e+06\n");
    mg_buf_finish(&merged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agents_folder");
    TCase *files = tcase_create("files"), *metrics = tcase_create("metrics");
    tcase_add_checked_fixture(files, set_up, tear_down);
    tcase_add_test(files, service_files_are_listed_each_name_once);
    tcase_add_test(files, a_stamp_differs_after_a_change);
    tcase_add_test(files, files_beyond_the_bound_are_counted);
    tcase_add_test(files, a_missing_folder_is_an_error);
    tcase_add_test(files, a_file_is_checked_with_its_name);
    tcase_add_test(metrics, metrics_of_agents_are_merged_by_family);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, metrics);
    return run_suite(suite);
}
