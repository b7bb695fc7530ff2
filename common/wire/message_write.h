/*
 * Texts in messages, upon the writer of JSON (base/json_write.h). A text may have been cut within a
 * character, or may come from a remote service. It is made valid UTF-8 here, so that a message is never
 * refused for its error text. Private to common/wire.
 */
#ifndef MG_WIRE_MESSAGE_WRITE_H
#define MG_WIRE_MESSAGE_WRITE_H

#include "base/json_write.h"

void mg_message_put_text(struct mg_json_writer *json, const char *name, const char *text);
void mg_message_put_text_if(struct mg_json_writer *json, const char *name,
                            const char *text); /* omitted if "" */
void mg_message_put_time(struct mg_json_writer *json, const char *name, int64_t wall_ms);

#endif
