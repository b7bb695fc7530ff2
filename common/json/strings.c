/*
 * Mending the strings of a JSON text that the check refuses. Readers in other languages take half a surrogate
 * pair, NUL and bytes that are no UTF-8, and show U+FFFD or the like. The text is not checked before: all
 * outside its strings stays as it is, and the check judges the result.
 */
#include <string.h>

#include "base/id.h"
#include "json/json.h"

#define UNKNOWN        "\xef\xbf\xbd" /* U+FFFD */
#define UNKNOWN_ESCAPE "\\ufffd"
#define ESCAPE_LEN     6 /* \uXXXX */

/* The code of an escape \uXXXX at the beginning; -1: there is none. */
static int escape_code(const char *at, const char *end)
{
    int code = 0;
    if (end - at < ESCAPE_LEN || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < ESCAPE_LEN; i++) {
        int digit = mg_hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        code = code * 16 + digit;
    }
    return code;
}

/* Appends the escape at `at`, mended. Returns its bytes. */
static size_t mend_escape(const char *at, const char *end, struct mg_buf *ret)
{
    int code = escape_code(at, end);
    if (code < 0) {
        size_t len = end - at > 1 ? 2 : 1;
        mg_buf_append(ret, at, len);
        return len;
    }
    bool is_high = code >= 0xd800 && code < 0xdc00, is_low = code >= 0xdc00 && code < 0xe000;
    int second = is_high ? escape_code(at + ESCAPE_LEN, end) : -1;
    if (second >= 0xdc00 && second < 0xe000) {
        mg_buf_append(ret, at, 2 * (size_t)ESCAPE_LEN);
        return 2 * (size_t)ESCAPE_LEN;
    }
    bool is_unknown = code == 0 || is_high || is_low;
    mg_buf_append(ret, is_unknown ? UNKNOWN_ESCAPE : at, ESCAPE_LEN);
    return ESCAPE_LEN;
}

void mg_json_mend_strings(struct mg_slice text, struct mg_buf *ret_text)
{
    const char *at = text.data, *end = text.data + text.len;
    bool is_inside = false;
    while (at < end && !ret_text->failed) {
        size_t len = 1;
        if (is_inside && *at == '\\') {
            at += mend_escape(at, end, ret_text);
            continue;
        }
        if (*at == '"') {
            is_inside = !is_inside;
        } else if (is_inside) {
            len = *at == '\0' ? 0 : mg_utf8_len(at, (size_t)(end - at));
        }
        mg_buf_append(ret_text, len > 0 ? at : UNKNOWN, len > 0 ? len : strlen(UNKNOWN));
        at += len > 0 ? len : 1;
    }
}
