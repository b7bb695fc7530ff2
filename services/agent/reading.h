/*
 * The body of an answer as text. A byte order mark is skipped. Bytes of another charset are converted
 * (iconv(3)), by the mark or by the charset that the answer declares. JSON of UTF-8 needs none of this: it is
 * UTF-8 under any declaration (RFC 8259, 11), and costs a look at its first bytes.
 */
#ifndef MG_AGENT_READING_H
#define MG_AGENT_READING_H

#include "io/http/client.h"
#include "wire/reply.h"

struct mg_reading {
    bool is_text_wanted;               /* the service file or the step asks for text, not for JSON */
    bool is_page;                      /* in the place of JSON: a proxy or a login has answered */
    char fault[MG_ERROR_TEXT_MAX + 1]; /* why the body cannot be read; "": it is text */
    struct mg_buf text;                /* the converted or mended body */
};

/* Puts the text in the place of the answer's body; it lives as long as the reading. With a fault the body
 * stays as it came. */
void mg_reading_take(struct mg_http_answer *answer, bool is_text_wanted, struct mg_reading *ret_reading);
void mg_reading_finish(struct mg_reading *reading);

/* For a body that the check of JSON refuses: its text with mended strings, if that is JSON. Absent: it is
 * not, and `fault` has the reason. */
struct mg_slice mg_reading_mend(struct mg_reading *reading, struct mg_slice body,
                                const struct mg_json_limits *limits);

#endif
