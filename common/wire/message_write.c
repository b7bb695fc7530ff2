/* See message_write.h. */
#include "wire/message_write.h"

#include "base/clock.h"

void mg_message_put_text(struct mg_json_writer *json, const char *name, const char *text)
{
    mg_json_name(json, name);
    mg_buf_append_json_mended(json->buf, mg_slice_of(text));
}

void mg_message_put_text_if(struct mg_json_writer *json, const char *name, const char *text)
{
    if (text[0] != '\0') {
        mg_message_put_text(json, name, text);
    }
}

void mg_message_put_time(struct mg_json_writer *json, const char *name, int64_t wall_ms)
{
    char text[MG_TIME_TEXT_SIZE];
    mg_time_format(wall_ms, text);
    mg_json_member_word(json, name, text);
}
