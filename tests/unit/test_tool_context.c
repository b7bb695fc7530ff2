/*
 * Where the tool's servers are. Would catch: a project's servers in place of those that the user named, a
 * file of another user that leads the tool elsewhere, and one server of each of two sources.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "tool_context.h"

static char folder[] = "/tmp/makegood_context.XXXXXX";
static struct mg_tool_context context;
static struct mg_err err;

static void file_write(const char *name, const char *text, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)fchmod(fd, mode);
    (void)close(fd);
}

static void setup(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/makegood_context.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert(chdir(folder) == 0 && mkdir(".makegood", 0700) == 0 && mkdir("below", 0700) == 0 &&
              mkdir("makegood", 0700) == 0);
    (void)clearenv();
    (void)setenv("XDG_CONFIG_HOME", folder, 1);
    file_write(
        ".makegood/env",
        "export MAKEGOOD_AMQP_URL='amqp://dev'\nexport MAKEGOOD_PG_DSN='host='\\''/a b'\\'''\nPATH='/evil'\n",
        0600);
    file_write("makegood/contexts",
               "# of otto\n[test]\nMAKEGOOD_PG_DSN = service=test\n\n[prod]\nMAKEGOOD_PG_DSN=service=prod\n"
               "MAKEGOOD_AMQP_URL_FILE=/secret\nLD_PRELOAD=/evil\n",
               0600);
}

static void teardown(void)
{
    static const char *const left[] = {".makegood/env", "makegood/contexts", ".makegood", "makegood",
                                       "below"};
    ck_assert(chdir(folder) == 0);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        (void)(unlink(left[i]) == 0 || rmdir(left[i]) == 0);
    }
    ck_assert(chdir("/") == 0 && rmdir(folder) == 0);
}

static enum mg_class apply(char *option, bool may_be_project)
{
    char *argv[] = {(char[]){"makegood"}, option, NULL};
    return mg_tool_context_apply(option != NULL ? 2 : 1, argv, may_be_project, &context, &err);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

START_TEST(the_folders_servers_are_those_of_dev)
{
    if (_i == 1) {
        ck_assert(chdir("below") == 0);
    }
    ck_assert_int_eq(apply(NULL, true), MG_OK);
    ck_assert_str_eq(variable("MAKEGOOD_AMQP_URL"), "amqp://dev");
    ck_assert_str_eq(variable("MAKEGOOD_PG_DSN"), "host='/a b'");
    ck_assert_str_eq(variable("PATH"), "");
    ck_assert_ptr_nonnull(strstr(context.origin, ".makegood/env"));
}
END_TEST

static const struct {
    const char *variable, *option;
    bool may_be_project;
} NAMED[] = {
    {"MAKEGOOD_PG_DSN", NULL, true}, {"MAKEGOOD_AMQP_URL_FILE", NULL, true},
    {"MAKEGOOD_CONFIG", NULL, true}, {"PGHOST", NULL, true},
    {"PGSERVICE", NULL, true},       {NULL, "--pg-dsn=host=x", true},
    {NULL, "--amqp-url-file", true}, {NULL, NULL, false},
};

START_TEST(a_server_that_is_named_is_not_mixed_with_the_folders)
{
    char option[64];
    (void)snprintf(option, sizeof(option), "%s", NAMED[_i].option != NULL ? NAMED[_i].option : "");
    if (NAMED[_i].variable != NULL) {
        (void)setenv(NAMED[_i].variable, "own", 1);
    }
    ck_assert_int_eq(apply(option[0] != '\0' ? option : NULL, NAMED[_i].may_be_project), MG_OK);
    ck_assert_str_eq(variable("MAKEGOOD_AMQP_URL"), "");
    ck_assert_str_eq(context.origin, "");
}
END_TEST

START_TEST(a_file_that_others_may_write_is_not_read)
{
    (void)chmod(".makegood/env", 0622);
    ck_assert_int_eq(apply(NULL, true), MG_OK);
    ck_assert_str_eq(context.origin, "");
    ck_assert_ptr_nonnull(strstr(context.ignored, "/.makegood/env"));
    (void)chmod("makegood/contexts", 0660);
    char option[] = "--context=prod";
    ck_assert_int_eq(apply(option, true), MG_BAD_INPUT);
    ck_assert_str_eq(variable("MAKEGOOD_PG_DSN"), "");
}
END_TEST

START_TEST(a_context_by_an_option_replaces_the_environments_servers)
{
    char option[] = "--context=prod";
    (void)setenv("MAKEGOOD_PG_DSN", "own", 1);
    (void)setenv("MAKEGOOD_AMQP_URL", "own", 1);
    ck_assert_int_eq(apply(option, true), MG_OK);
    ck_assert_str_eq(variable("MAKEGOOD_PG_DSN"), "service=prod");
    ck_assert_str_eq(variable("MAKEGOOD_AMQP_URL"), "");
    ck_assert_str_eq(variable("MAKEGOOD_AMQP_URL_FILE"), "/secret");
    ck_assert_str_eq(variable("LD_PRELOAD"), "");
    ck_assert_ptr_nonnull(strstr(context.origin, "context prod of"));
}
END_TEST

START_TEST(a_context_by_a_variable_gives_way_to_the_environment)
{
    (void)setenv("MAKEGOOD_CONTEXT", "test", 1);
    ck_assert_int_eq(apply(NULL, true), MG_OK);
    ck_assert_str_eq(variable("MAKEGOOD_PG_DSN"), "service=test");
    (void)setenv("MAKEGOOD_PG_DSN", "own", 1);
    ck_assert_int_eq(apply(NULL, true), MG_OK);
    ck_assert_str_eq(variable("MAKEGOOD_PG_DSN"), "own");
}
END_TEST

/* Would catch: an error about the option's server that names the context; servers of two sources. */
START_TEST(a_context_and_a_server_by_options_are_not_mixed)
{
    char option[] = "--context=prod", server[] = "--pg-dsn=host=x";
    char *argv[] = {(char[]){"makegood"}, option, server, NULL};
    ck_assert_int_eq(mg_tool_context_apply(3, argv, true, &context, &err), MG_BAD_INPUT);
    ck_assert_str_eq(err.text, "--context prod and --pg-dsn both name servers: leave one of them out");
    (void)setenv("MAKEGOOD_CONTEXT", "test", 1);
    ck_assert_int_eq(apply(server, true), MG_OK);
    ck_assert_str_eq(context.origin, "");
}
END_TEST

START_TEST(an_unknown_context_is_named_with_the_nearest)
{
    char option[] = "--context=prd";
    ck_assert_int_eq(apply(option, true), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "has no context \"prd\"; did you mean \"prod\"?") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context");
    TCase *tests = tcase_create("context");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_folders_servers_are_those_of_dev, 0, 2);
    tcase_add_loop_test(tests, a_server_that_is_named_is_not_mixed_with_the_folders, 0,
                        (int)(sizeof(NAMED) / sizeof(NAMED[0])));
    tcase_add_test(tests, a_file_that_others_may_write_is_not_read);
    tcase_add_test(tests, a_context_by_an_option_replaces_the_environments_servers);
    tcase_add_test(tests, a_context_by_a_variable_gives_way_to_the_environment);
    tcase_add_test(tests, a_context_and_a_server_by_options_are_not_mixed);
    tcase_add_test(tests, an_unknown_context_is_named_with_the_nearest);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
