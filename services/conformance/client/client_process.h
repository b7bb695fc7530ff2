/* One run of the client's command: a process, and the lines that it prints. */
#ifndef MG_CONFORMANCE_CLIENT_CLIENT_PROCESS_H
#define MG_CONFORMANCE_CLIENT_CLIENT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"

#define MG_COMMAND_LINE_SIZE 1024 /* the excess of a longer line is dropped */

typedef void mg_command_line_fn(void *arg, const char *line);

/* Standard output or standard error. Each is a pipe of its own: a program that writes a line in parts, as
 * Python does with PYTHONUNBUFFERED, would have the lines of its log in the middle of those that it prints.
 */
struct mg_command_output {
    struct mg_command *command;
    struct mg_watch *watch;
    int fd; /* below 0: closed */
    char line[MG_COMMAND_LINE_SIZE];
    size_t line_len;
};

struct mg_command {
    struct mg_loop *loop;
    struct mg_child *child;
    struct mg_command_output outputs[2];
    mg_command_line_fn *on_line;
    void *arg;
    bool has_exited;
    int exit_code, signal_number;
};

/* Starts it, with {url} in its words replaced, or the URL appended; its environment has the URL as
 * MAKEGOOD_AMQP_URL. `on_line` gets each line of standard output and error. */
enum mg_class mg_command_start(struct mg_command *command, struct mg_loop *loop, const char *const *words,
                               int word_count, const char *url, mg_command_line_fn *on_line, void *arg,
                               struct mg_err *err) MG_MUSTCHECK;
/* It has exited, and all its lines were read. */
bool mg_command_has_ended(const struct mg_command *command);
/* Kills the process and its group; has_exited follows. */
void mg_command_kill(struct mg_command *command);
/* Forgets it, and kills it if it runs. Accepts one that could not be started. */
void mg_command_finish(struct mg_command *command);

#endif
