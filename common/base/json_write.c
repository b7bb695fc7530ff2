/*
 * See json_write.h. A comma belongs to the name or element after it, and whether one is due needs no stack:
 * none after an opening bracket, one after a closing bracket. A name is put together on the stack and
 * appended at once, because messages have many short ones.
 */
#include "base/json_write.h"

#include <assert.h>

/* A word as it occurs: an identity, a time, a state. A longer one takes the general way. */
#define WORD_MAX 63

static void level_begin(struct mg_json_writer *json, bool is_array)
{
    assert(json->open >> MG_JSON_OPEN_MAX == 0); /* the leading 1 has room to move */
    json->open = json->open << 1 | is_array;
    json->is_comma_due = false;
    mg_buf_append(json->buf, is_array ? "[" : "{", 1);
}

static void level_end(struct mg_json_writer *json, bool is_array)
{
    assert(json->open > 1 && (json->open & 1) == is_array);
    json->open >>= 1;
    json->is_comma_due = true;
    mg_buf_append(json->buf, is_array ? "]" : "}", 1);
}

void mg_json_object_begin(struct mg_json_writer *json)
{
    level_begin(json, false);
}

void mg_json_object_end(struct mg_json_writer *json)
{
    level_end(json, false);
}

void mg_json_array_begin(struct mg_json_writer *json)
{
    level_begin(json, true);
}

void mg_json_array_end(struct mg_json_writer *json)
{
    level_end(json, true);
}

/* Writes comma, name and colon at `at`, and returns the place after them. */
static char *name_put(struct mg_json_writer *json, char *at, const char *name, size_t len)
{
    assert(json->open > 1 && (json->open & 1) == 0 && len <= MG_JSON_NAME_MAX); /* within an object */
    if (json->is_comma_due) {
        *at++ = ',';
        if (json->is_spaced) {
            *at++ = ' ';
        }
    }
    *at++ = '"';
    memcpy(at, name, len);
    at += len;
    *at++ = '"';
    *at++ = ':';
    if (json->is_spaced) {
        *at++ = ' ';
    }
    json->is_comma_due = true;
    return at;
}

#define NAME_SIZE (MG_JSON_NAME_MAX + sizeof(", \"\": "))

void mg_json_name_of(struct mg_json_writer *json, const char *name, size_t len)
{
    char text[NAME_SIZE];
    mg_buf_append(json->buf, text, (size_t)(name_put(json, text, name, len) - text));
}

void mg_json_member_word(struct mg_json_writer *json, const char *name, const char *word)
{
    char text[NAME_SIZE + WORD_MAX + sizeof("\"\"")];
    size_t len = strlen(word);

    if (len > WORD_MAX) {
        mg_json_member_string(json, name, word);
        return;
    }
    char *at = name_put(json, text, name, strlen(name));
    *at++ = '"';
    memcpy(at, word, len);
    at += len;
    *at++ = '"';
    mg_buf_append(json->buf, text, (size_t)(at - text));
}

void mg_json_element(struct mg_json_writer *json)
{
    assert(json->open > 1 && (json->open & 1) == 1); /* within an array */
    if (json->is_comma_due) {
        mg_buf_append(json->buf, ", ", json->is_spaced ? 2 : 1);
    }
    json->is_comma_due = true;
}

void mg_json_wrap(struct mg_json_writer *json, const char *blanks)
{
    if (!json->is_comma_due) {
        return;
    }
    mg_buf_append(json->buf, ",", 1);
    mg_buf_append_text(json->buf, blanks);
    json->is_comma_due = false;
}
