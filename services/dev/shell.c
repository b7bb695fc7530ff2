/* See shell.h. */
#include "shell.h"

void mg_shell_append(struct mg_buf *buf, struct mg_slice text)
{
    mg_buf_append_text(buf, "'");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'') {
            mg_buf_append_text(buf, "'\\''"); /* no escape inside: the quotes end and begin again */
        } else {
            mg_buf_append(buf, &text.data[i], 1);
        }
    }
    mg_buf_append_text(buf, "'");
}
