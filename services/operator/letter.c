/* See letter.h. */
#include "operator/letter.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/id.h"

#define MARK_BYTES 16
_Static_assert(MG_LETTER_MARK_SIZE == 2 * MARK_BYTES + 1, "two digits a byte");

void mg_letter_mark_make(const struct mg_dead_letter *letter, char ret_mark[MG_LETTER_MARK_SIZE])
{
    struct mg_buf all;
    uint8_t digest[MG_SHA256_SIZE] = {0};
    mg_buf_init(&all, letter->queue.len + letter->message_id.len + letter->body.len + 2);
    mg_buf_append_slice(&all, letter->queue);
    mg_buf_append_text(&all, "\n");
    mg_buf_append_slice(&all, letter->message_id);
    mg_buf_append_text(&all, "\n");
    mg_buf_append_slice(&all, letter->body);
    mg_sha256(mg_buf_slice(&all), digest);
    *mg_hex_write(digest, all.failed ? 0 : MARK_BYTES, ret_mark) = '\0';
    mg_buf_finish(&all);
}

void mg_letter_id_write(const struct mg_dead_letter *letter, char ret_id[MG_LETTER_ID_SIZE])
{
    int len =
        letter->message_id.len < MG_LETTER_ID_SIZE ? (int)letter->message_id.len : MG_LETTER_ID_SIZE - 1;
    (void)snprintf(ret_id, MG_LETTER_ID_SIZE, "%.*s", len, len > 0 ? letter->message_id.data : "");
    mg_utf8_mend(ret_id);
}
