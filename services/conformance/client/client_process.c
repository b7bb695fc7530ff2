/* See client_process.h. */
#include "client_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop_child.h"

#define PLACE         "{url}"
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

static void words_make(struct mg_child_words *words, const char *const *given, int count, const char *url)
{
    bool has_place = false;
    for (int i = 0; i < count; i++) {
        const char *place = strstr(given[i], PLACE);
        has_place = has_place || place != NULL;
        if (place == NULL) {
            mg_child_word(words, "%s", given[i]);
        } else {
            mg_child_word(words, "%.*s%s%s", (int)(place - given[i]), given[i], url, place + strlen(PLACE));
        }
    }
    if (!has_place) {
        mg_child_word(words, "%s", url);
    }
    mg_child_env(words, "MAKEGOOD_AMQP_URL=%s", url);
    mg_child_inherit(words, NULL);
}

static enum mg_class spawn(struct mg_command *command, const char *const *words, int word_count,
                           const char *url, struct mg_err *err)
{
    struct mg_child_words its;
    int ends[OUTPUTS] = {-1, -1};
    enum mg_class class = MG_OK;
    mg_child_words_open(&its);
    words_make(&its, words, word_count, url);
    if (its.is_short) {
        class = mg_err_set(err, MG_PERMANENT, "the command and its environment are too long");
    }
    for (int i = 0; i < OUTPUTS && class == MG_OK; i++) {
        class = output_open(&command->outputs[i], &ends[i], err);
    }
    if (class == MG_OK) {
        const struct mg_child_plan plan = {.argv = its.argv,
                                           .env = its.env,
                                           .output_fd = ends[0],
                                           .error_fd = ends[1],
                                           .death_signal = SIGKILL};
        class = mg_child_spawn(command->loop, &plan, on_exit_of, command, &command->child, err);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
    }
    mg_child_words_close(&its);
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
