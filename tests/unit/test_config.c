/* Options: precedence of the sources, refused values and their messages, and secrets that stay hidden. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "suite.h"

static struct {
    const char *amqp_url, *pg_dsn, *output;
    int64_t batch, period_ms;
    bool is_unsafe;
    struct mg_list services;
} opts;

static const struct mg_option OPTIONS[] = {
    {.name = "amqp-url",
     .type = MG_OPTION_TEXT,
     .target = &opts.amqp_url,
     .is_secret = true,
     .default_value = "amqp://guest:guest@localhost",
     .value_name = "URL",
     .help = "where the broker is"},
    {.name = "pg-dsn", .type = MG_OPTION_TEXT, .target = &opts.pg_dsn, .is_secret = true, .help = "database"},
    {.name = "output|o", .type = MG_OPTION_TEXT, .target = &opts.output, .default_value = "table"},
    {.name = "batch",
     .type = MG_OPTION_INTEGER,
     .target = &opts.batch,
     .default_value = "50",
     .min = 1,
     .max = 1000,
     .value_name = "N"},
    {.name = "sweep-period",
     .type = MG_OPTION_DURATION,
     .target = &opts.period_ms,
     .default_value = "250ms",
     .min = 10,
     .max = 60000,
     .value_name = "DURATION",
     .help = "how often to look"},
    {.name = "unsafe-durability", .type = MG_OPTION_FLAG, .target = &opts.is_unsafe},
    {.name = "service",
     .type = MG_OPTION_LIST,
     .target = &opts.services,
     .value_name = "FILE",
     .help = "service files"},
    {.name = NULL},
};
static const struct mg_program PROGRAM = {.name = "makegood-test",
                                          .summary = "Tests.",
                                          .usage = "[options]",
                                          .options = OPTIONS,
                                          .connections = OPTIONS + 5};

#define ARGUMENTS_MAX 80
static struct mg_config *config;
static enum mg_config_action action;
static struct mg_list words;
static struct mg_err err;
static char path[] = "/tmp/makegood-config-XXXXXX", secret_path[] = "/tmp/makegood-secret-XXXXXX";
static char *printed; /* the last load's output on stdout */

static void set_up(void)
{
    memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    memcpy(secret_path + sizeof(secret_path) - 7, "XXXXXX", 6);
    int fd = mkstemp(path), secret_fd = mkstemp(secret_path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_ge(secret_fd, 0);
    (void)close(fd);
    (void)close(secret_fd);
    memset(&opts, 0, sizeof(opts));
    memset(&words, 0, sizeof(words));
    config = NULL;
}

static void tear_down(void)
{
    mg_config_destroy(config);
    free(printed);
    printed = NULL;
    (void)unlink(path);
    (void)unlink(secret_path);
    (void)clearenv();
}

static void write_file(const char *name, const char *content)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(content, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Loads with the arguments up to NULL, and keeps the output. */
static enum mg_class load(const struct mg_program *program, struct mg_list *ret_words,
                          const char *const *given)
{
    static char name[] = "makegood-test";
    char *arguments[ARGUMENTS_MAX] = {name};
    static char kept[ARGUMENTS_MAX][256]; /* words borrow from argv, which lives as long as a process */
    size_t size = 0;
    int argc = 1;

    for (; given[argc - 1]; argc++) {
        ck_assert_int_lt(argc, ARGUMENTS_MAX - 1);
        (void)snprintf(kept[argc], sizeof(kept[argc]), "%s", given[argc - 1]);
        arguments[argc] = kept[argc];
    }
    mg_config_destroy(config);
    config = NULL;
    free(printed);
    printed = NULL;
    FILE *real = stdout;
    stdout = open_memstream(&printed, &size);
    ck_assert_ptr_nonnull(stdout);
    enum mg_class class = mg_config_load(program, argc, arguments, &config, &action, ret_words, &err);
    (void)fclose(stdout);
    stdout = real;
    return class;
}

#define LOAD(...) load(&PROGRAM, &words, (const char *const[]){__VA_ARGS__, NULL})

/* The load fails as bad input with exactly this message, and leaves the targets alone. */
static void check_refused(enum mg_class class, const char *text)
{
    ck_assert_int_eq(class, MG_BAD_INPUT);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(config);
    ck_assert_ptr_null(opts.output);
    ck_assert_int_eq(opts.batch, 0);
}

/* Catches: a default that is not read like any other value. */
START_TEST(without_any_source_the_defaults_hold)
{
    ck_assert_int_eq(LOAD(NULL), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_RUN);
    ck_assert_str_eq(opts.output, "table");
    ck_assert_str_eq(opts.pg_dsn, "");
    ck_assert_int_eq(opts.batch, 50);
    ck_assert_int_eq(opts.period_ms, 250);
    ck_assert(!opts.is_unsafe);
    ck_assert_int_eq(opts.services.count, 0);
}
END_TEST

/* Catches: a form of flag that is misread, or swallows the next word. */
START_TEST(flags_are_read_in_both_forms)
{
    ck_assert_int_eq(LOAD("--batch", "7", "--sweep-period=2s", "one", "--unsafe-durability", "two",
                          "--service", "a,b", "--service=c", "--pg-dsn=host=x port=1", "-o", "json"),
                     MG_OK);
    ck_assert_int_eq(opts.batch, 7);
    ck_assert_int_eq(opts.period_ms, 2000);
    ck_assert(opts.is_unsafe);
    ck_assert_str_eq(opts.pg_dsn, "host=x port=1");
    ck_assert_str_eq(opts.output, "json");
    ck_assert_int_eq(opts.services.count, 2);
    ck_assert_str_eq(opts.services.items[0], "a,b");
    ck_assert_str_eq(opts.services.items[1], "c");
    ck_assert_int_eq(words.count, 2);
    ck_assert_str_eq(words.items[0], "one");
    ck_assert_str_eq(words.items[1], "two");
    ck_assert_int_eq(
        LOAD("--batch=1", "--batch=2", "-ojson", "--unsafe-durability=false", "--", "--batch", "-"), MG_OK);
    ck_assert_int_eq(opts.batch, 2);
    ck_assert_str_eq(opts.output, "json");
    ck_assert(!opts.is_unsafe);
    ck_assert_int_eq(words.count, 2);
    ck_assert_str_eq(words.items[0], "--batch");
}
END_TEST

/* Catches: a source that wins over a weightier one. */
START_TEST(flags_go_before_environment_before_file_before_defaults)
{
    write_file(path, "# all of it\n"
                     "  batch = 10   # ten\r\n"
                     "\n"
                     "output=x#y\n"
                     "service = a, b ,,c\n"
                     "service = d\n"
                     "sweep-period = 1s");
    (void)setenv("MAKEGOOD_CONFIG", path, 1);
    ck_assert_int_eq(LOAD(NULL), MG_OK);
    ck_assert_int_eq(opts.batch, 10);
    ck_assert_str_eq(opts.output, "x#y");
    ck_assert_int_eq(opts.period_ms, 1000);
    ck_assert_int_eq(opts.services.count, 4);
    ck_assert_str_eq(opts.services.items[1], "b");
    ck_assert_str_eq(opts.services.items[3], "d");

    (void)setenv("MAKEGOOD_BATCH", "20", 1);
    (void)setenv("MAKEGOOD_SERVICE", "e,f", 1);
    (void)setenv("MAKEGOOD_OUTPUT", "", 1); /* empty counts as not set */
    (void)setenv("MAKEGOOD_UNSAFE_DURABILITY", "yes", 1);
    ck_assert_int_eq(LOAD(NULL), MG_OK);
    ck_assert_int_eq(opts.batch, 20);
    ck_assert_str_eq(opts.output, "x#y");
    ck_assert(opts.is_unsafe);
    ck_assert_int_eq(opts.services.count, 2);
    ck_assert_str_eq(opts.services.items[0], "e");

    (void)setenv("MAKEGOOD_CONFIG", "/nonexistent/file", 1);
    ck_assert_int_eq(LOAD("--batch=30", "--service=g", "--config", path), MG_OK);
    ck_assert_int_eq(opts.batch, 30);
    ck_assert_int_eq(opts.services.count, 1);
    ck_assert_str_eq(opts.services.items[0], "g");
}
END_TEST

/* Catches: a secret with its line feed, or from a source that should have lost. */
START_TEST(a_secret_may_come_from_a_file)
{
    write_file(secret_path, "host=db password=s3cret\n");
    ck_assert_int_eq(LOAD("--pg-dsn-file", secret_path), MG_OK);
    ck_assert_str_eq(opts.pg_dsn, "host=db password=s3cret");
    (void)setenv("MAKEGOOD_PG_DSN_FILE", secret_path, 1);
    write_file(secret_path, "two\n\n");
    ck_assert_int_eq(LOAD(NULL), MG_OK);
    ck_assert_str_eq(opts.pg_dsn, "two\n");
    ck_assert_int_eq(LOAD("--pg-dsn=flag"), MG_OK);
    ck_assert_str_eq(opts.pg_dsn, "flag");
    (void)setenv("MAKEGOOD_AMQP_URL", "amqp://h", 1);
    char line[128];
    (void)snprintf(line, sizeof(line), "amqp-url-file = %s", secret_path);
    write_file(path, line);
    ck_assert_int_eq(LOAD("--config", path), MG_OK);
    ck_assert_str_eq(opts.amqp_url, "amqp://h");
    (void)unsetenv("MAKEGOOD_AMQP_URL");
    ck_assert_int_eq(LOAD("--config", path), MG_OK);
    ck_assert_str_eq(opts.amqp_url, "two\n");
}
END_TEST

/* Catches: two values for one secret, of which one silently wins; and an empty secret that passes for none.
 */
START_TEST(a_secret_that_is_unclear_is_refused)
{
    write_file(secret_path, "\n");
    ck_assert_int_eq(LOAD("--pg-dsn-file", secret_path), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "is empty; it should hold the secret"));
    (void)setenv("MAKEGOOD_PG_DSN_FILE", secret_path, 1);
    (void)setenv("MAKEGOOD_PG_DSN", "x", 1);
    check_refused(LOAD(NULL),
                  "environment MAKEGOOD_PG_DSN_FILE: give either pg-dsn or pg-dsn-file, not both");
}
END_TEST

/* A check of new text as a caller would make it: accepts texts that begin with "good". */
static char taken[64];
static enum mg_class take_good(void *arg, const char *text, struct mg_err *ret_err)
{
    ck_assert_ptr_eq(arg, taken);
    if (strncmp(text, "good", 4) != 0) {
        return mg_err_set(ret_err, MG_BAD_INPUT, "not good");
    }
    (void)snprintf(taken, sizeof(taken), "%s", text);
    return MG_OK;
}

/* Catches: a renewed secret that needs a restart, and a mistake in it that takes the old one away. */
START_TEST(a_secret_file_may_be_read_again)
{
    enum mg_config_reread state = MG_REREAD_NO_FILE;
    char line[128], text[128];
    write_file(secret_path, "good one\n");
    (void)snprintf(line, sizeof(line), "pg-dsn-file = %s\n", secret_path);
    write_file(path, line);
    ck_assert_int_eq(LOAD("--config", path), MG_OK);
    ck_assert_int_eq(mg_config_reread_secret(config, "amqp-url", take_good, taken, &state, &err), MG_OK);
    ck_assert_int_eq(state, MG_REREAD_NO_FILE);
    ck_assert_int_eq(mg_config_reread_secret(config, "pg-dsn", take_good, taken, &state, &err), MG_OK);
    ck_assert_int_eq(state, MG_REREAD_SAME);
    write_file(secret_path, "good two\n");
    ck_assert_int_eq(mg_config_reread_secret(config, "pg-dsn", take_good, taken, &state, &err), MG_OK);
    ck_assert_int_eq(state, MG_REREAD_NEW);
    ck_assert_str_eq(opts.pg_dsn, "good two");
    ck_assert_str_eq(taken, "good two");
    write_file(secret_path, "bad\n");
    ck_assert_int_eq(mg_config_reread_secret(config, "pg-dsn", take_good, taken, &state, &err), MG_BAD_INPUT);
    (void)snprintf(text, sizeof(text), "in file \"%s\": not good", secret_path);
    ck_assert_str_eq(err.text, text);
    (void)unlink(secret_path);
    ck_assert_int_eq(mg_config_reread_secret(config, "pg-dsn", take_good, taken, &state, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
    ck_assert_str_eq(opts.pg_dsn, "good two");
}
END_TEST

/* Catches: a running service that waits for ever to read a secret from a path that is a pipe now. */
START_TEST(reading_a_secret_again_never_waits)
{
    enum mg_config_reread state = MG_REREAD_NO_FILE;
    char line[128];
    write_file(secret_path, "good one\n");
    (void)snprintf(line, sizeof(line), "pg-dsn-file = %s\n", secret_path);
    write_file(path, line);
    ck_assert_int_eq(LOAD("--config", path), MG_OK);
    (void)unlink(secret_path);
    ck_assert_int_eq(mkfifo(secret_path, 0600), 0);
    ck_assert_int_eq(mg_config_reread_secret(config, "pg-dsn", take_good, taken, &state, &err), MG_BAD_INPUT);
    ck_assert_str_eq(opts.pg_dsn, "good one");
}
END_TEST

static const struct {
    const char *argument;
    bool is_refused;
} ON_COMMAND_LINE[] = {
    {"--amqp-url=amqp://u:hunter2@h/", true},
    {"--amqp-url=amqp://guest:hunter2@localhost/", true},
    {"--amqp-url=amqps://u:guest:guest@h/", true},
    {"--pg-dsn=host=h password=hunter2", true},
    {"--pg-dsn=postgresql://h/db?sslpassword=hunter2", true},
    {"--amqp-url=amqp://guest:guest@localhost/", false}, /* in every tutorial */
    {"--amqp-url=amqps://u@h/", false},
    {"--pg-dsn=host=h user=u passfile=/run/pass sslmode=verify-full", false},
};

/* Catches: a password that every user of the machine can read in /proc. */
START_TEST(a_password_on_the_command_line_is_refused)
{
    enum mg_class class = LOAD(ON_COMMAND_LINE[_i].argument);
    ck_assert_int_eq(class, ON_COMMAND_LINE[_i].is_refused ? MG_BAD_INPUT : MG_OK);
    if (class == MG_OK) {
        return;
    }
    ck_assert_ptr_nonnull(strstr(err.text, "-file FILE, or set MAKEGOOD_"));
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
    ck_assert_ptr_null(config);
}
END_TEST

static const struct {
    const char *arguments[3];
    const char *text;
} REFUSED[] = {
    {{"--swep-period", "1s"},
     "unknown option \"--swep-period\"; the nearest known one is \"--sweep-period\""},
    {{"--amqp-ulr=amqp://u:secret@h"},
     "unknown option \"--amqp-ulr\"; the nearest known one is \"--amqp-url\""},
    {{"--hepl"}, "unknown option \"--hepl\"; the nearest known one is \"--help\""},
    {{"--batch-file", "x"}, "unknown option \"--batch-file\"; the nearest known one is \"--batch\""},
    {{"-batch"}, "unknown option \"--batch\"; the nearest known one is \"--batch\""},
    {{"--batch"}, "option --batch needs a value (N)"},
    {{"--amqp-url-file"}, "option --amqp-url-file needs a value (FILE)"},
    {{"--service", ""}, "option --service is empty; leave it out, or give a value (FILE)"},
    {{"--service="}, "option --service is empty; leave it out, or give a value (FILE)"},
    {{"--config"}, "option --config needs a value: the path of a file"},
    {{"--check-config=1"}, "option --check-config takes no value"},
    {{"--batch=0"}, "option --batch: \"0\" is not a whole number from 1 to 1000"},
    {{"--batch=1001"}, "option --batch: \"1001\" is not a whole number from 1 to 1000"},
    {{"--batch", "12x"}, "option --batch: \"12x\" is not a whole number from 1 to 1000"},
    {{"--batch="}, "option --batch: \"\" is not a whole number from 1 to 1000"},
    {{"--batch=99999999999999999999"},
     "option --batch: \"99999999999999999999\" is not a whole number from 1 to 1000"},
    {{"--sweep-period=5"}, "option --sweep-period: \"5\" is not a duration such as \"10s\" from 10ms to 1m"},
    {{"--sweep-period=2m"},
     "option --sweep-period: \"2m\" is not a duration such as \"10s\" from 10ms to 1m"},
    {{"--unsafe-durability=maybe"}, "option --unsafe-durability: \"maybe\" is not true or false"},
    {{"--batch=1\n2"}, "option --batch: \"1?2\" is not a whole number from 1 to 1000"},
    {{"--config=/nonexistent/x"},
     "option --config: could not read file \"/nonexistent/x\": No such file or directory"},
    {{"--config=/"}, "option --config: could not read file \"/\": Is a directory"},
    {{"--pg-dsn-file=/nonexistent/x"},
     "option --pg-dsn-file: could not read file \"/nonexistent/x\": No such file or directory"},
};

/* Catches: bad input that is accepted, or refused without a hint at the right form. */
START_TEST(bad_arguments_are_refused_in_one_clear_line)
{
    check_refused(load(&PROGRAM, &words, REFUSED[_i].arguments), REFUSED[_i].text);
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_ptr_null(strstr(err.text, "secret@"));
}
END_TEST

static const struct {
    const char *content;
    const char *text; /* after "file PATH:" */
} REFUSED_LINES[] = {
    {"batch = 1\nbacth = 2\n", "2: unknown option \"bacth\"; the nearest known one is \"batch\""},
    {"config = x\n", "1: unknown option \"config\"; the nearest known one is \"output\""},
    {"\n\npg-dsn password\n", "3: expected a line \"name = value\""},
    {"batch = many\n", "1: batch: \"many\" is not a whole number from 1 to 1000"},
    {"= 3\n", "1: unknown option \"\"; the nearest known one is \"batch\""},
    {"pg-dsn = a\npg-dsn-file = b\n", "2: pg-dsn: give either pg-dsn or pg-dsn-file, not both"},
};

/* Catches: an error in the file reported without its line, or with the secret on that line. */
START_TEST(bad_lines_are_refused_with_their_place)
{
    char expected[256];
    write_file(path, REFUSED_LINES[_i].content);
    (void)snprintf(expected, sizeof(expected), "file %s:%s", path, REFUSED_LINES[_i].text);
    enum mg_class class = LOAD("--config", path);
    if (_i ==
        1) { /* the nearest of far ones is a matter of taste; that it is no flag of the command line is not */
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_ptr_null(strstr(err.text, "is \"help\""));
        return;
    }
    if (_i == 4) {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        return;
    }
    check_refused(class, expected);
}
END_TEST

/* Catches: a mistake in a lighter source that stays hidden until the day the flag is dropped. */
START_TEST(a_bad_value_is_refused_even_where_it_is_overridden)
{
    (void)setenv("MAKEGOOD_BATCH", "x", 1);
    check_refused(LOAD("--batch=1"),
                  "environment MAKEGOOD_BATCH: \"x\" is not a whole number from 1 to 1000");
}
END_TEST

/* Catches: lists and words that run over their arrays. */
START_TEST(too_many_values_are_refused)
{
    const char *given[ARGUMENTS_MAX] = {NULL};
    for (int i = 0; i <= MG_LIST_MAX; i++) {
        given[i] = "--service=x";
    }
    check_refused(load(&PROGRAM, &words, given), "option --service: more than 64 values");
    for (int i = 0; i <= MG_LIST_MAX; i++) {
        given[i] = "word";
    }
    check_refused(load(&PROGRAM, &words, given), "more than 64 words, from \"word\" on");
    given[1] = NULL;
    check_refused(load(&PROGRAM, NULL, given), "unexpected word \"word\"; options begin with \"--\"");
}
END_TEST

/* Catches: a file that is no configuration read whole into memory, and bytes hidden behind a NUL. */
START_TEST(a_file_that_is_no_text_is_refused)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("batch = 1\0", 1, 10, file), 10);
    (void)fclose(file);
    ck_assert_int_eq(LOAD("--config", path), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "it has a NUL byte"));
    ck_assert_int_eq(LOAD("--config", "/dev/zero"), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "is larger than 1048576 bytes"));
}
END_TEST

/* Catches: help that leaves an option out, shows a secret's default, or mixes connections with other options.
 */
START_TEST(help_lists_every_option_and_ends)
{
    ck_assert_int_eq(LOAD("--help", "--unknown"), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_EXIT);
    ck_assert_ptr_nonnull(strstr(printed, "usage: makegood-test [options]\nTests.\n"));
    ck_assert_ptr_nonnull(strstr(printed, "  --sweep-period DURATION\n        how often to look [10ms to 1m] "
                                          "(default: 250ms)\n"));
    ck_assert_ptr_nonnull(strstr(printed, "  -o, --output VALUE\n"));
    ck_assert_ptr_nonnull(strstr(printed, "  --amqp-url URL   or --amqp-url-file FILE\n"));
    ck_assert_ptr_nonnull(strstr(printed, "  --version\n        print the version and exit\n\n"
                                          "connection options:\n  --unsafe-durability\n"));
    ck_assert_ptr_nonnull(
        strstr(printed, "  --service FILE\n        service files; repeatable\n\nEvery option"));
    ck_assert_ptr_nonnull(strstr(printed, "MAKEGOOD_"));
    ck_assert_ptr_null(strstr(printed, "guest"));
    ck_assert_int_eq(LOAD("-h"), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_EXIT);
    ck_assert_int_eq(LOAD("--version"), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_EXIT);
    ck_assert_str_eq(printed, "makegood-test " MG_VERSION "\n");
}
END_TEST

/* Catches: a secret in the printed configuration, and output that is no configuration. */
START_TEST(the_printed_configuration_can_be_read_back_and_holds_no_secret)
{
    (void)setenv("MAKEGOOD_AMQP_URL", "amqp://u:hunter2@h", 1);
    ck_assert_int_eq(LOAD("--print-config", "--batch=7", "--service=a", "--service=b"), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_EXIT);
    ck_assert_ptr_null(strstr(printed, "hunter2"));
    ck_assert_ptr_nonnull(
        strstr(printed, "# amqp-url is set (secret, not shown)  # environment MAKEGOOD_AMQP_URL\n"));
    ck_assert_ptr_nonnull(strstr(printed, "# pg-dsn is not set"));
    ck_assert_ptr_nonnull(strstr(printed, "batch = 7  # option --batch\n"));
    ck_assert_ptr_nonnull(strstr(printed, "sweep-period = 250ms  # default\n"));
    write_file(path, printed);
    ck_assert_int_eq(LOAD("--config", path), MG_OK);
    ck_assert_int_eq(opts.batch, 7);
    ck_assert_int_eq(opts.services.count, 2);
    ck_assert_int_eq(LOAD("--print-config", "--batch=x"), MG_BAD_INPUT);
}
END_TEST

/* Catches: a check that starts the service, or accepts a configuration that a start would refuse. */
START_TEST(check_config_checks_and_reports_it)
{
    ck_assert_int_eq(LOAD("--check-config"), MG_OK);
    ck_assert_int_eq(action, MG_CONFIG_CHECK);
    ck_assert_int_eq(LOAD("--check-config", "--batch=x"), MG_BAD_INPUT);
}
END_TEST

static const struct {
    const char *url, *redacted;
} URLS[] = {
    {"amqp://user:pw@host:5672/vhost", "amqp://user:***@host:5672/vhost"},
    {"amqp://user@host/", "amqp://user@host/"},
    {"amqp://host:5672/", "amqp://host:5672/"},
    {"amqp://user:p@w/x?y@host/", "amqp://user:***@host/"}, /* should have been percent-encoded */
    {"amqp://:pw@host", "amqp://:***@host"},
    {"postgresql://u:p@h/db?sslmode=require&password=x&sslpassword=y&a=b",
     "postgresql://u:***@h/db?sslmode=require&password=***&sslpassword=***&a=b"},
    {"postgresql://u:p@h/db password=x", "postgresql://u:***@h/db ***"},
    {"postgresql://h/db?sslmode=require password=x", "postgresql://h/db?sslmode=require ***"},
    {"postgresql://h\npassword=x", "postgresql://h ***"},
    {"host=db user=u password=pw dbname=x", "host=db user=u password=*** dbname=x"},
    {"password = 'a b\\'c' host='d e'", "password = *** host='d e'"},
    {"password='never closed host=x", "password=***"},
    {"password=a\\ b host=x", "password=*** host=x"},
    {"host=x password=http://a:b@c", "host=x password=***"},
    {"host=db user= password=pw", "host=db user= ***"}, /* libpq takes the password for the user */
    {"user='never closed password=pw", "user=***"},
    {" postgresql://u:p@h/db", " postgresql://u:***@h/db"},
    {"\"postgresql://u:p@h/db\"", "\"postgresql://u:***@h/db\""},
    {"dsn postgresql://u:p@h/db", "dsn ***"}, /* one with a mistake in its scheme, or next to it */
    {"u:p@h/db", "***"},
    {"postgresql:/u:p@h/db?sslmode=require host=x", "*** host=x"},
    {"plain words", "plain words"},
    {"password=", "password=***"},
    {"", ""},
    {NULL, ""},
};

/* Catches: a password in a log. */
START_TEST(passwords_are_taken_out_of_urls)
{
    char text[256], small[8];
    mg_url_redact(URLS[_i].url, text, sizeof(text));
    ck_assert_str_eq(text, URLS[_i].redacted);
    mg_url_redact(URLS[_i].url, small, sizeof(small));
    ck_assert_uint_lt(strlen(small), sizeof(small));
    ck_assert_int_eq(strncmp(small, URLS[_i].redacted, sizeof(small) - 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, without_any_source_the_defaults_hold);
    tcase_add_test(tests, flags_are_read_in_both_forms);
    tcase_add_test(tests, flags_go_before_environment_before_file_before_defaults);
    tcase_add_test(tests, a_secret_may_come_from_a_file);
    tcase_add_test(tests, a_secret_that_is_unclear_is_refused);
    tcase_add_test(tests, a_secret_file_may_be_read_again);
    tcase_add_test(tests, reading_a_secret_again_never_waits);
    tcase_add_loop_test(tests, a_password_on_the_command_line_is_refused, 0,
                        sizeof(ON_COMMAND_LINE) / sizeof(ON_COMMAND_LINE[0]));
    tcase_add_loop_test(tests, bad_arguments_are_refused_in_one_clear_line, 0,
                        sizeof(REFUSED) / sizeof(REFUSED[0]));
    tcase_add_loop_test(tests, bad_lines_are_refused_with_their_place, 0,
                        sizeof(REFUSED_LINES) / sizeof(REFUSED_LINES[0]));
    tcase_add_test(tests, a_bad_value_is_refused_even_where_it_is_overridden);
    tcase_add_test(tests, too_many_values_are_refused);
    tcase_add_test(tests, a_file_that_is_no_text_is_refused);
    tcase_add_test(tests, help_lists_every_option_and_ends);
    tcase_add_test(tests, the_printed_configuration_can_be_read_back_and_holds_no_secret);
    tcase_add_test(tests, check_config_checks_and_reports_it);
    tcase_add_loop_test(tests, passwords_are_taken_out_of_urls, 0, sizeof(URLS) / sizeof(URLS[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
