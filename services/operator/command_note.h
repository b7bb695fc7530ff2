/* The line of operator_action about a command of an operator. It is written before the command is sent;
 * without it there is no command. */
#ifndef MG_OPERATOR_COMMAND_NOTE_H
#define MG_OPERATOR_COMMAND_NOTE_H

#include "io/store/store.h"
#include "wire/command.h"

#define MG_COMMAND_NOTE_SIZE 4096

struct mg_command_note {
    struct mg_operator_action action; /* its texts are the command's and those below */
    char verb[32];                    /* "order resume", "signal send", "schedule run" */
    char detail[MG_COMMAND_NOTE_SIZE];
};
/* `via`: "tool" or "console". The command must outlive the note. Values of a repair and payloads are left
 * out: they may be secret, and the order has them. */
void mg_command_note_make(const struct mg_command *command, const char *via, struct mg_command_note *ret);

#endif
