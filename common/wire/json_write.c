/* Members of one object, in the order in which they are put. Names are ours and need no escaping. */
#include "wire/json_write.h"

#include <inttypes.h>
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
    mg_buf_printf(out->buf, "%s\"%s\":", out->has_members ? "," : "", name);
    out->has_members = true;
}

/* Bytes of the character at `text` if it is valid UTF-8 (RFC 3629), else 0. */
static size_t utf8_len(const unsigned char *text, size_t len)
{
    unsigned char c = text[0];
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : c >= 0xe0 && c < 0xf0 ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;
    if (n == 0 || n > len) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f)) return 0; /* overlong, surrogate */
    if ((c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
        return 0; /* overlong, above U+10FFFF */
    return n;
}

void mg_json_put_text(struct mg_json_out *out, const char *name, const char *text)
{
    struct mg_buf valid;
    size_t len = strlen(text), begin = 0;

    mg_json_put_name(out, name);
    mg_buf_init(&valid, 3 * len + 1); /* each byte may become U+FFFD, three bytes */
    for (size_t i = 0; i < len;) {
        size_t n = utf8_len((const unsigned char *)text + i, len - i);
        if (n == 0) {
            if (i > begin) mg_buf_append(&valid, text + begin, i - begin);
            mg_buf_append_text(&valid, "\xef\xbf\xbd");
            begin = i + 1;
        }
        i += n > 0 ? n : 1;
    }
    if (begin == 0) { /* the usual case: nothing to mend, nothing copied */
        mg_buf_append_json(out->buf, (struct mg_slice){text, len});
    } else {
        if (len > begin) mg_buf_append(&valid, text + begin, len - begin);
        mg_buf_append_json(out->buf, mg_buf_slice(&valid));
    }
    out->buf->failed = out->buf->failed || valid.failed;
    mg_buf_finish(&valid);
}

void mg_json_put_text_if(struct mg_json_out *out, const char *name, const char *text)
{
    if (text[0] != '\0') mg_json_put_text(out, name, text);
}

void mg_json_put_integer(struct mg_json_out *out, const char *name, int64_t number)
{
    mg_json_put_name(out, name);
    mg_buf_printf(out->buf, "%" PRId64, number);
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
