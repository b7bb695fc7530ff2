/* See place.h. A mistake is rare, so each place is found by a new walk from the start of the text. */
#include "json/place.h"

#include <stdio.h>
#include <string.h>

#include "json/scan.h"

struct mg_json_place mg_json_place_of(struct mg_slice text, const char *at)
{
    struct mg_json_place place = {1, 1};
    for (const char *c = text.data; c < at; c++) {
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)*c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

const char *mg_json_locate(struct mg_slice text, const char *pointer)
{
    struct mg_slice value = mg_json_trim(text);
    char token[512]; /* longer than any pointer of a mistake */

    while (*pointer == '/') {
        size_t len = 1 + strcspn(pointer + 1, "/");
        int n = snprintf(token, sizeof(token), "%.*s", (int)len, pointer);
        struct mg_slice inner = n < (int)sizeof(token) ? mg_json_find(value, token) : (struct mg_slice){0};
        if (inner.data == NULL) {
            break;
        }
        value = inner;
        pointer += len;
    }
    return value.data;
}

struct mg_json_place mg_json_place_at(struct mg_slice text, const char *pointer)
{
    return mg_json_place_of(text, mg_json_locate(text, pointer));
}

const char *mg_json_char_at(struct mg_slice quoted, int index)
{
    const char *at = quoted.data + 1, *end = quoted.data + quoted.len - 1;
    char utf8[4];

    while (index > 0 && at < end) {
        (void)mg_json_char_next(&at, end, utf8);
        while (at < end && ((unsigned char)*at & 0xc0) == 0x80) { /* the rest of an unescaped character */
            at++;
        }
        index--;
    }
    return at;
}
