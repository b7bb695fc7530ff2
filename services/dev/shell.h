/* Words for a shell to read. */
#ifndef MG_DEV_SHELL_H
#define MG_DEV_SHELL_H

#include "base/buf.h"

/* Appends the text as one word, in single quotes (POSIX.1-2017, Shell Command Language, 2.2.2). */
void mg_shell_append(struct mg_buf *buf, struct mg_slice text);

#endif
