/*
 * Configuration: the file, the environment and the command line, and the durations in all of them. The input
 * is the text of the file; then, each after a NUL, the values of two environment variables and the words of a
 * command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "fuzz.h"

#define WORDS_MAX 12

static struct {
    const char *text, *secret;
    int64_t number, duration;
    bool flag;
    struct mg_list list;
} values;

static const struct mg_option OPTIONS[] = {
    {.name = "text|t", .type = MG_OPTION_TEXT, .target = &values.text, .help = "A text."},
    {.name = "amqp-url",
     .type = MG_OPTION_TEXT,
     .target = &values.secret,
     .is_secret = true,
     .help = "A URL."},
    {.name = "number",
     .type = MG_OPTION_INTEGER,
     .target = &values.number,
     .default_value = "7",
     .min = -5,
     .max = 1000,
     .help = "A number."},
    {.name = "period",
     .type = MG_OPTION_DURATION,
     .target = &values.duration,
     .default_value = "10s",
     .min = 10,
     .max = 3600000,
     .help = "A duration."},
    {.name = "flag", .type = MG_OPTION_FLAG, .target = &values.flag, .help = "A flag."},
    {.name = "items", .type = MG_OPTION_LIST, .target = &values.list, .help = "A list."},
    {0},
};
static const struct mg_program PROGRAM = {
    .name = "fuzz-config", .summary = "Is tried.", .usage = "[options]", .options = OPTIONS};

/* The file is in memory. Standard output (of --help) is discarded. */
static int prepare(char path[32])
{
    static int fd = -1;
    if (fd < 0) {
        FUZZ_REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
        fd = memfd_create("config", MFD_CLOEXEC);
    }
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0);
    (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static void set_environment(const char *name, char *value)
{
    FUZZ_REQUIRE(setenv(name, value, 1) == 0);
    free(value);
}

/* Inputs that name a path are skipped: the target opens no file but its own. */
static bool names_a_path(struct mg_slice input)
{
    return fuzz_contains(input, "-file") || fuzz_contains(input, "--config");
}

static void what_was_taken_is_right(const struct mg_list *words)
{
    FUZZ_REQUIRE(values.text != NULL && values.secret != NULL);
    FUZZ_REQUIRE(values.number >= -5 && values.number <= 1000);
    FUZZ_REQUIRE(values.duration >= 10 && values.duration <= 3600000);
    FUZZ_REQUIRE(values.list.count >= 0 && values.list.count <= MG_LIST_MAX);
    for (int i = 0; i < values.list.count; i++) {
        FUZZ_REQUIRE(values.list.items[i] != NULL);
    }
    FUZZ_REQUIRE(words->count >= 0 && words->count <= MG_LIST_MAX);
}

static void load(struct mg_slice rest)
{
    char path[32], name[] = "fuzz-config", flag[] = "--config";
    char *words[WORDS_MAX + 4] = {name, flag, path}, *owned[WORDS_MAX] = {NULL};
    int fd = prepare(path), count = 0;
    struct mg_slice file = fuzz_take(&rest);
    FUZZ_REQUIRE(pwrite(fd, file.data, file.len, 0) == (ssize_t)file.len);
    set_environment("MAKEGOOD_NUMBER", fuzz_take_text(&rest));
    set_environment("MAKEGOOD_ITEMS", fuzz_take_text(&rest));
    for (; rest.len > 0 && count < WORDS_MAX; count++) {
        words[3 + count] = owned[count] = fuzz_take_text(&rest);
    }

    struct mg_config *config = NULL;
    enum mg_config_action action;
    struct mg_list found = {.count = 0};
    struct mg_err err;
    enum mg_class class = mg_config_load(&PROGRAM, 3 + count, words, &config, &action, &found, &err);
    if (class == MG_OK) {
        if (action != MG_CONFIG_EXIT) {
            what_was_taken_is_right(&found);
        }
        mg_config_destroy(config);
    } else {
        fuzz_require_refusal(class, &err, NULL, 0);
        FUZZ_REQUIRE(config == NULL);
    }
    for (int i = 0; i < count; i++) {
        free(owned[i]);
    }
}

static void duration_comes_back(struct mg_slice input)
{
    char *text = fuzz_take_text(&input), again[64];
    int64_t ms = mg_duration_parse(text);
    if (ms >= 0) {
        mg_duration_format(ms, again, sizeof(again));
        FUZZ_REQUIRE(mg_duration_parse(again) == ms);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice input = {(const char *)data, size};
    duration_comes_back(input);
    if (!names_a_path(input)) {
        load(input);
    }
    return 0;
}
