/* See command.h. */
#include "command.h"

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

static void line_end(struct mg_command *command)
{
    command->line[command->line_len] = '\0';
    command->line_len = 0;
    mg_utf8_mend(command->line);
    command->on_line(command->arg, command->line);
}

static void on_output(void *arg, int events)
{
    struct mg_command *command = arg;
    char bytes[AT_ONCE_BYTES];
    (void)events;
    ssize_t count = read(command->output, bytes, sizeof(bytes));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        command->is_closed = true;
        mg_watch_set(command->watch, 0);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            line_end(command);
        } else if (command->line_len + 1 < sizeof(command->line) && bytes[i] != '\0') {
            command->line[command->line_len++] = bytes[i];
        }
    }
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
    int ends[2];
    struct mg_arena *arena = mg_arena_create(BYTES_MAX);
    if (arena == NULL || !words_make(arena, words, word_count, url, argv) ||
        !environment_make(arena, url, env)) {
        mg_arena_destroy(arena);
        return mg_err_set(err, MG_PERMANENT, "the command and its environment are too long");
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        mg_arena_destroy(arena);
        return mg_err_set(err, MG_TRANSIENT, "could not read the command's output: %s", strerror(errno));
    }
    const struct mg_child_plan plan = {
        .argv = argv, .env = env, .output_fd = ends[1], .death_signal = SIGKILL};
    command->output = ends[0];
    command->watch = mg_watch_create(command->loop, ends[0], on_output, command);
    enum mg_class class =
        command->watch == NULL
            ? mg_err_set(err, MG_TRANSIENT, "no memory for the command's output")
            : mg_child_spawn(command->loop, &plan, on_exit_of, command, &command->child, err);
    (void)close(ends[1]);
    mg_arena_destroy(arena);
    if (class == MG_OK) {
        mg_watch_set(command->watch, MG_READABLE);
    }
    return class;
}

enum mg_class mg_command_start(struct mg_command *command, struct mg_loop *loop, const char *const *words,
                               int word_count, const char *url, mg_command_line_fn *on_line, void *arg,
                               struct mg_err *err)
{
    *command = (struct mg_command){.loop = loop, .output = -1, .on_line = on_line, .arg = arg};
    enum mg_class class = spawn(command, words, word_count, url, err);
    if (class != MG_OK) {
        mg_command_finish(command);
    }
    return class;
}

bool mg_command_has_ended(const struct mg_command *command)
{
    return command->has_exited && command->is_closed;
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
    mg_watch_destroy(command->watch);
    if (command->output >= 0) {
        (void)close(command->output);
    }
    command->child = NULL;
    command->watch = NULL;
    command->output = -1;
}
