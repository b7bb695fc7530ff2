/* Would catch: a line that is read as another; an address that gets statuses in plaintext; an error that
 * quotes a secret or does not name its line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "world.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"

static char folder[64], path[96];
static struct mg_process_options process;
static struct mg_gateway_options options;

static void write_file(const char *name, const char *text)
{
    char whole[128];
    (void)snprintf(whole, sizeof(whole), "%s/%s", folder, name);
    FILE *file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void remove_file(const char *name)
{
    char whole[128];
    (void)snprintf(whole, sizeof(whole), "%s/%s", folder, name);
    (void)unlink(whole);
}

static void begin(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/mg-webhooks-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/webhooks", folder);
    options = (struct mg_gateway_options){.process = &process, .webhooks_file = path, .webhook_ca_file = ""};
    write_file("shop", SECRET);
    write_file("two", SECRET SECRET);
    write_file("bad", "whsec_secret\n");
}

static void end(void)
{
    static const char *const names[] = {"webhooks", "shop", "two", "bad"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        remove_file(names[i]);
    }
    (void)rmdir(folder);
}

static enum mg_class read_text(const char *text, struct mg_hook_target **ret_targets, int *ret_count,
                               struct mg_err *err)
{
    write_file("webhooks", text);
    return mg_hook_file_read(&options, true, ret_targets, ret_count, err);
}

START_TEST(each_line_is_a_webhook)
{
    struct mg_hook_target *targets;
    char text[512];
    struct mg_err err;
    int count;
    (void)snprintf(
        text, sizeof(text),
        "# clients\n\nshop  https://shop.example.org/statuses?a=b\tshop\r\n other http://127.0.0.1:9 %s/two proxy=http://[::1]:3128 concurrency=64",
        folder);
    ck_assert_int_eq(read_text(text, &targets, &count, &err), MG_OK);
    ck_assert_int_eq(count, 2);
    ck_assert_str_eq(targets[0].client, "shop");
    ck_assert_str_eq(targets[0].url, "https://shop.example.org/statuses?a=b");
    ck_assert_int_eq(targets[0].secrets.count, 1);
    ck_assert_int_eq(targets[0].concurrency, 8);
    ck_assert_int_eq(targets[1].concurrency, 64);
    ck_assert_ptr_null(targets[0].proxy);
    ck_assert_str_eq(targets[1].proxy, "http://[::1]:3128");
    ck_assert_str_eq(targets[1].client, "other");
    ck_assert_int_eq(targets[1].secrets.count, 2);
    mg_hook_targets_destroy(targets, count);
    ck_assert_int_eq(read_text("", &targets, &count, &err), MG_OK);
    ck_assert_int_eq(count, 0);
    mg_hook_targets_destroy(targets, count);
    options.webhooks_file = "";
    ck_assert_int_eq(mg_hook_file_read(&options, true, &targets, &count, &err), MG_OK);
    ck_assert_int_eq(count, 0);
    mg_hook_targets_destroy(targets, count);
}
END_TEST

START_TEST(a_bad_line_is_named_with_its_remedy)
{
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"shop https://x", "a client, an address and a file"},
        {"shop https://x shop more", "expected concurrency=N or proxy=http://host:port"},
        {"shop https://x shop concurrency=0", "N from 1 to 64"},
        {"shop https://x shop concurrency=65", "N from 1 to 64"},
        {"shop https://x shop concurrency=8x", "N from 1 to 64"},
        {"shop https://x shop concurrency=-1", "N from 1 to 64"},
        {"shop https://x shop concurrency=8 more", "each once"},
        {"shop https://x shop concurrency=8 concurrency=9", "each once"},
        {"shop https://x shop proxy=http://a:1 proxy=http://a:1", "each once"},
        {"shop https://x shop proxy=gate:3128", "not a proxy; write \"http://host:port\""},
        {"shop https://x shop proxy=http://me:pass@gate:3128", "no user and no password"},
        {"shop http://127.0.0.1:9 shop proxy=http://gate:3128", "https://"}, /* loopback behind a network */
        {"Shop https://x shop", "name of a client"},
        {"shop ftp://x shop", "expected an address"},
        {"shop x shop", "expected an address"},
        {"shop https://me:pass@x/ shop", "no user and no password"},
        {"shop http://shop.example.org/ shop", "https://"},
        {"shop https://x none", "No such file"},
        {"shop https://x bad", "base64"},
        {"other https://x shop\nother https://y shop", "a second webhook"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mg_hook_target *targets;
        char text[256], line[16];
        struct mg_err err;
        int count;
        (void)snprintf(text, sizeof(text), "shop2 https://x shop\n%s", cases[i].line);
        (void)snprintf(line, sizeof(line), "line %d: ", strchr(cases[i].line, '\n') != NULL ? 3 : 2);
        ck_assert_int_eq(read_text(text, &targets, &count, &err), MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, cases[i].reason) != NULL && strstr(err.text, line) != NULL, "%s",
                      err.text);
        ck_assert_msg(strstr(err.text, "whsec_secret") == NULL && strstr(err.text, "pass@") == NULL, "%s",
                      err.text);
    }
}
END_TEST

START_TEST(plaintext_on_a_private_network_needs_to_be_allowed)
{
    struct mg_hook_target *targets;
    struct mg_err err;
    int count;
    process.broker.is_plaintext_allowed = true;
    ck_assert_int_eq(read_text("shop http://shop.example.org/ shop", &targets, &count, &err), MG_OK);
    mg_hook_targets_destroy(targets, count);
}
END_TEST

START_TEST(a_file_that_an_editor_has_emptied_is_refused_where_it_had_lines)
{
    struct mg_hook_target *targets;
    struct mg_err err;
    int count;
    write_file("webhooks", "");
    ck_assert_int_eq(mg_hook_file_read(&options, false, &targets, &count, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "leave a comment in it") != NULL, "%s", err.text);
    write_file("webhooks", "# none\n");
    ck_assert_int_eq(mg_hook_file_read(&options, false, &targets, &count, &err), MG_OK);
    ck_assert_int_eq(count, 0);
    mg_hook_targets_destroy(targets, count);
}
END_TEST

START_TEST(a_file_that_is_no_text_of_lines_is_refused)
{
    struct mg_hook_target *targets;
    struct mg_err err;
    int count;
    ck_assert_int_eq(mg_hook_file_read(&options, true, &targets, &count, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "No such file") != NULL, "%s", err.text);
    char *text = calloc(1, 70000);
    ck_assert_ptr_nonnull(text);
    memset(text, '\n', 69999);
    ck_assert_int_eq(read_text(text, &targets, &count, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "longer") != NULL, "%s", err.text);
    size_t len = 0;
    for (int i = 0; i < 129; i++) {
        len += (size_t)snprintf(text + len, 70000 - len, "c%d https://x shop\n", i);
    }
    ck_assert_int_eq(read_text(text, &targets, &count, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "line 129: too many") != NULL, "%s", err.text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hook_file");
    TCase *tests = tcase_create("hook_file");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, each_line_is_a_webhook);
    tcase_add_test(tests, a_bad_line_is_named_with_its_remedy);
    tcase_add_test(tests, plaintext_on_a_private_network_needs_to_be_allowed);
    tcase_add_test(tests, a_file_that_an_editor_has_emptied_is_refused_where_it_had_lines);
    tcase_add_test(tests, a_file_that_is_no_text_of_lines_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
