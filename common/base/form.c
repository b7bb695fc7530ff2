/* See form.h. */
#include "base/form.h"

static void append(struct mg_buf *buf, struct mg_slice text, bool is_form)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool is_alnum = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_alnum || c == '-' || c == '.' || c == '_' || c == (is_form ? '*' : '~')) {
            mg_buf_append(buf, &c, 1);
        } else if (is_form && c == ' ') {
            mg_buf_append(buf, "+", 1);
        } else {
            mg_buf_printf(buf, "%%%02X", c);
        }
    }
}

void mg_buf_append_percent(struct mg_buf *buf, struct mg_slice text)
{
    append(buf, text, false);
}

void mg_buf_append_form(struct mg_buf *buf, struct mg_slice text)
{
    append(buf, text, true);
}
