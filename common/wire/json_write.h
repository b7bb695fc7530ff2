/*
 * Writing one flat object member by member. Texts may have been cut within a character, or may come from a
 * remote service. They are made valid UTF-8 here, so a message is never refused for its error text. Private
 * to common/wire.
 */
#ifndef MG_WIRE_JSON_WRITE_H
#define MG_WIRE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct mg_json_out {
    struct mg_buf *buf;
    bool has_members;
};

void mg_json_begin(struct mg_json_out *out, struct mg_buf *buf); /* "{" */
void mg_json_end(struct mg_json_out *out);                       /* "}" */
void mg_json_put_name(struct mg_json_out *out,
                      const char *name); /* writes "name": and the caller writes the value */
void mg_json_put_text(struct mg_json_out *out, const char *name, const char *text);
void mg_json_put_text_if(struct mg_json_out *out, const char *name, const char *text); /* omitted if "" */
void mg_json_put_integer(struct mg_json_out *out, const char *name, int64_t number);
void mg_json_put_bool(struct mg_json_out *out, const char *name, bool value);
void mg_json_put_raw(struct mg_json_out *out, const char *name, struct mg_slice json); /* checked JSON text */
void mg_json_put_time(struct mg_json_out *out, const char *name, int64_t wall_ms);

#endif
