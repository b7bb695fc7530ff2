/* See letter.h. */
#include "operator/letter.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/id.h"
#include "json/json.h"

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

/* "" if the body is no JSON, or has no such member. */
static void order_id_write(const struct mg_dead_letter *letter, char ret_id[MG_LETTER_ID_SIZE])
{
    struct mg_err err;
    struct mg_buf text;
    ret_id[0] = '\0';
    if (letter->body.len == 0 || mg_json_check(letter->body, &MG_JSON_LIMITS_SUBMISSION, &err) != MG_OK) {
        return;
    }
    struct mg_slice value = mg_json_find(letter->body, "/order_id");
    mg_buf_init_fixed(&text, ret_id, MG_LETTER_ID_SIZE);
    if (value.data == NULL || !mg_json_string(value, &text) || text.failed) {
        ret_id[0] = '\0';
    }
}

static bool begins(struct mg_slice id, const char *text)
{
    size_t len = strlen(text);
    return id.len >= len && memcmp(id.data, text, len) == 0;
}

bool mg_letter_find(const struct mg_dead_letter *letter, const char *text, char ret_id[MG_LETTER_ID_SIZE])
{
    order_id_write(letter, ret_id);
    bool is_found = begins(mg_slice_of(ret_id), text) ||
                    (letter->message_id.len > 0 && begins(letter->message_id, text)) ||
                    (letter->correlation_id.len > 0 && begins(letter->correlation_id, text));
    if (ret_id[0] == '\0') {
        mg_letter_id_write(letter, ret_id);
    }
    return is_found;
}
