/* Writes members of one object, in call order. Names are constants and need no escaping. */
#include "wire/json_write.h"

#include <string.h>

#include "base/clock.h"

void mg_json_begin(struct mg_json_out *out, struct mg_buf *buf)
{
    *out = (struct mg_json_out){.buf = buf};
    mg_buf_append_text(buf, "{");
}

void mg_json_end(struct mg_json_out *out)
{
    mg_buf_append_text(out->buf, "}");
}

void mg_json_put_name(struct mg_json_out *out, const char *name)
{
    mg_buf_append_text(out->buf, out->has_members ? ",\"" : "\"");
    mg_buf_append_text(out->buf, name);
    mg_buf_append_text(out->buf, "\":");
    out->has_members = true;
}

void mg_json_put_text(struct mg_json_out *out, const char *name, const char *text)
{
    struct mg_buf valid;
    size_t len = strlen(text), begin = 0;

    mg_json_put_name(out, name);
    mg_buf_init(&valid, 3 * len + 1); /* each byte may become U+FFFD, three bytes */
    for (size_t i = 0; i < len;) {
        size_t n = (unsigned char)text[i] < 0x80 ? 1 : mg_utf8_len(text + i, len - i);
        if (n == 0) {
            if (i > begin) mg_buf_append(&valid, text + begin, i - begin);
            mg_buf_append_text(&valid, "\xef\xbf\xbd");
            begin = i + 1;
        }
        i += n > 0 ? n : 1;
    }
    if (begin == 0) { /* the usual case: valid text is not copied */
        mg_buf_append_json(out->buf, (struct mg_slice){text, len});
    } else {
        if (len > begin) mg_buf_append(&valid, text + begin, len - begin);
        mg_buf_append_json(out->buf, mg_buf_slice(&valid));
    }
    mg_buf_fail_with(out->buf, &valid);
    mg_buf_finish(&valid);
}

void mg_json_put_text_if(struct mg_json_out *out, const char *name, const char *text)
{
    if (text[0] != '\0') mg_json_put_text(out, name, text);
}

void mg_json_put_integer(struct mg_json_out *out, const char *name, int64_t number)
{
    mg_json_put_name(out, name);
    mg_buf_append_integer(out->buf, number);
}

void mg_json_put_bool(struct mg_json_out *out, const char *name, bool value)
{
    mg_json_put_name(out, name);
    mg_buf_append_text(out->buf, value ? "true" : "false");
}

void mg_json_put_raw(struct mg_json_out *out, const char *name, struct mg_slice json)
{
    mg_json_put_name(out, name);
    mg_buf_append_slice(out->buf, json);
}

void mg_json_put_time(struct mg_json_out *out, const char *name, int64_t wall_ms)
{
    char text[MG_TIME_TEXT_SIZE];
    mg_time_format(wall_ms, text);
    mg_json_put_text(out, name, text);
}
