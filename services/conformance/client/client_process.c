/* See client_process.h. */
#include "client_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop_child.h"

#define PLACE         "{url}"
#define URL_NAME      "MAKEGOOD_AMQP_URL="
#define ENV_MAX       1024                /* variables; a machine has some dozens */
#define BYTES_MAX     ((size_t)64 * 1024) /* of all words together, with the URL in them */
#define AT_ONCE_BYTES 4096
#define OUTPUTS       2

static void line_end(struct mg_command_output *output)
{
    output->line[output->line_len] = '\0';
    output->line_len = 0;
    mg_utf8_mend(output->line);
    output->command->on_line(output->command->arg, output->line);
}

static void output_close(struct mg_command_output *output)
{
    mg_watch_destroy(output->watch);
    output->watch = NULL;
    if (output->fd >= 0) {
        (void)close(output->fd);
    }
    output->fd = -1;
}

static void on_output(void *arg, int events)
{
    struct mg_command_output *output = arg;
    char bytes[AT_ONCE_BYTES];
    (void)events;
    ssize_t count = read(output->fd, bytes, sizeof(bytes));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        output_close(output);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            line_end(output);
        } else if (output->line_len + 1 < sizeof(output->line) && bytes[i] != '\0') {
            output->line[output->line_len++] = bytes[i];
        }
    }
}

/* `ret_end` is the end for the process. */
static enum mg_class output_open(struct mg_command_output *output, int *ret_end, struct mg_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return mg_err_set(err, MG_TRANSIENT, "could not read the command's output: %s", strerror(errno));
    }
    output->fd = ends[0];
    *ret_end = ends[1];
    output->watch = mg_watch_create(output->command->loop, output->fd, on_output, output);
    if (output->watch == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "no memory for the command's output");
    }
    mg_watch_set(output->watch, MG_READABLE);
    return MG_OK;
}

static void on_exit_of(void *arg, int exit_code, int signal_number)
{
    struct mg_command *command = arg;
    command->has_exited = true;
    command->exit_code = exit_code;
    command->signal_number = signal_number;
}

/* NULL: no memory or room. */
static char *word_make(struct mg_arena *arena, const char *word, const char *url)
{
    const char *place = strstr(word, PLACE);
    return place == NULL
               ? mg_arena_text(arena, mg_slice_of(word))
               : mg_arena_printf(arena, "%.*s%s%s", (int)(place - word), word, url, place + strlen(PLACE));
}

static bool words_make(struct mg_arena *arena, const char *const *words, int count, const char *url,
                       char *ret_argv[MG_COMMAND_WORDS_MAX + 2])
{
    bool has_place = false, is_whole = count <= MG_COMMAND_WORDS_MAX;
    for (int i = 0; i < count && is_whole; i++) {
        has_place = has_place || strstr(words[i], PLACE) != NULL;
        ret_argv[i] = word_make(arena, words[i], url);
        is_whole = ret_argv[i] != NULL;
    }
    if (is_whole && !has_place) {
        ret_argv[count] = mg_arena_text(arena, mg_slice_of(url));
        is_whole = ret_argv[count++] != NULL;
    }
    ret_argv[is_whole ? count : 0] = NULL;
    return is_whole;
}

static bool environment_make(struct mg_arena *arena, const char *url, char *ret_env[ENV_MAX + 2])
{
    int count = 0;
    ret_env[count++] = mg_arena_printf(arena, URL_NAME "%s", url);
    for (char **at = environ; *at != NULL && count <= ENV_MAX; at++) {
        if (strncmp(*at, URL_NAME, strlen(URL_NAME)) != 0) {
            ret_env[count++] = *at;
        }
    }
    ret_env[count] = NULL;
    return ret_env[0] != NULL && count <= ENV_MAX;
}

static enum mg_class spawn(struct mg_command *command, const char *const *words, int word_count,
                           const char *url, struct mg_err *err)
{
    char *argv[MG_COMMAND_WORDS_MAX + 2], *env[ENV_MAX + 2];
    int ends[OUTPUTS] = {-1, -1};
    enum mg_class class = MG_OK;
    struct mg_arena *arena = mg_arena_create(BYTES_MAX);
    if (arena == NULL || !words_make(arena, words, word_count, url, argv) ||
        !environment_make(arena, url, env)) {
        class = mg_err_set(err, MG_PERMANENT, "the command and its environment are too long");
    }
    for (int i = 0; i < OUTPUTS && class == MG_OK; i++) {
        class = output_open(&command->outputs[i], &ends[i], err);
    }
    if (class == MG_OK) {
        const struct mg_child_plan plan = {
            .argv = argv, .env = env, .output_fd = ends[0], .error_fd = ends[1], .death_signal = SIGKILL};
        class = mg_child_spawn(command->loop, &plan, on_exit_of, command, &command->child, err);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
    }
    mg_arena_destroy(arena);
    return class;
}

enum mg_class mg_command_start(struct mg_command *command, struct mg_loop *loop, const char *const *words,
                               int word_count, const char *url, mg_command_line_fn *on_line, void *arg,
                               struct mg_err *err)
{
    *command = (struct mg_command){.loop = loop, .on_line = on_line, .arg = arg};
    for (int i = 0; i < OUTPUTS; i++) {
        command->outputs[i].command = command;
        command->outputs[i].fd = -1;
    }
    enum mg_class class = spawn(command, words, word_count, url, err);
    if (class != MG_OK) {
        mg_command_finish(command);
    }
    return class;
}

bool mg_command_has_ended(const struct mg_command *command)
{
    return command->has_exited && command->outputs[0].fd < 0 && command->outputs[1].fd < 0;
}

void mg_command_kill(struct mg_command *command)
{
    if (command->child != NULL) {
        mg_child_kill(command->child);
    }
}

void mg_command_finish(struct mg_command *command)
{
    mg_command_kill(command);
    mg_child_destroy(command->child);
    for (int i = 0; i < OUTPUTS; i++) {
        output_close(&command->outputs[i]);
    }
    command->child = NULL;
}
