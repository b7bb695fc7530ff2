/*
 * Writes JSON into a buffer: brackets, commas, names and the escapes of texts. The writer allocates nothing;
 * a lack of memory or room stays in the buffer (`failed`), and the caller checks it once, at the end.
 *
 *     struct mg_json_writer json = mg_json_compact(&buf);
 *     mg_json_object_begin(&json);
 *     mg_json_member_word(&json, "state", "running");
 *     mg_json_member_array(&json, "results");
 *     mg_json_element_raw(&json, result);
 *     mg_json_array_end(&json);
 *     mg_json_object_end(&json);
 *
 * A name or an element announces one value, which follows at once: by a function of this file, or by the
 * caller's own appends to the buffer. A wrong order of calls is a bug (assert).
 */
#ifndef MG_BASE_JSON_WRITE_H
#define MG_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define MG_JSON_NAME_MAX 63 /* also the longest name of a column in PostgreSQL */
#define MG_JSON_OPEN_MAX 31 /* objects and arrays within each other; no text of ours has ten */

/* A value: a copy writes on from the same place. */
struct mg_json_writer {
    struct mg_buf *buf;
    uint32_t open;     /* one bit for each open level after a leading 1; 1: an array, 0: an object */
    bool is_spaced;    /* a blank after commas and colons */
    bool is_comma_due; /* before the next name or element */
};

/* For messages, log lines and spans: no blanks. */
static inline struct mg_json_writer mg_json_compact(struct mg_buf *buf)
{
    return (struct mg_json_writer){.buf = buf, .open = 1};
}

/* For the tool, the console and the database's texts. */
static inline struct mg_json_writer mg_json_spaced(struct mg_buf *buf)
{
    return (struct mg_json_writer){.buf = buf, .open = 1, .is_spaced = true};
}

void mg_json_object_begin(struct mg_json_writer *json);
void mg_json_object_end(struct mg_json_writer *json);
void mg_json_array_begin(struct mg_json_writer *json);
void mg_json_array_end(struct mg_json_writer *json);

/* Names and words are written as they are. So they are constants, words of core/words.def, columns, or
 * identities and times of a checked form: no character of them has an escape. */
void mg_json_name_of(struct mg_json_writer *json, const char *name, size_t len);
void mg_json_element(struct mg_json_writer *json);
/* The next name or element begins on another line: `blanks` replaces the blank after its comma. Nothing is
 * written before the first one. */
void mg_json_wrap(struct mg_json_writer *json, const char *blanks);

void mg_json_member_word(struct mg_json_writer *json, const char *name, const char *word);

static inline void mg_json_name(struct mg_json_writer *json, const char *name)
{
    mg_json_name_of(json, name, strlen(name)); /* the compiler counts a constant */
}

/* ---- members: a name and its value ---- */

static inline void mg_json_member_object(struct mg_json_writer *json, const char *name)
{
    mg_json_name(json, name);
    mg_json_object_begin(json);
}

static inline void mg_json_member_array(struct mg_json_writer *json, const char *name)
{
    mg_json_name(json, name);
    mg_json_array_begin(json);
}

/* Any bytes; mg_buf_append_json escapes them. */
static inline void mg_json_member_text(struct mg_json_writer *json, const char *name, struct mg_slice text)
{
    mg_json_name(json, name);
    mg_buf_append_json(json->buf, text);
}

static inline void mg_json_member_string(struct mg_json_writer *json, const char *name, const char *text)
{
    mg_json_member_text(json, name, mg_slice_of(text));
}

static inline void mg_json_member_int(struct mg_json_writer *json, const char *name, int64_t number)
{
    mg_json_name(json, name);
    mg_buf_append_integer(json->buf, number);
}

static inline void mg_json_member_bool(struct mg_json_writer *json, const char *name, bool value)
{
    mg_json_name(json, name);
    mg_buf_append(json->buf, value ? "true" : "false", value ? 4 : 5);
}

static inline void mg_json_member_null(struct mg_json_writer *json, const char *name)
{
    mg_json_name(json, name);
    mg_buf_append(json->buf, "null", 4);
}

/* null for NULL and "". */
static inline void mg_json_member_string_or_null(struct mg_json_writer *json, const char *name,
                                                 const char *text)
{
    if (text != NULL && text[0] != '\0') {
        mg_json_member_string(json, name, text);
    } else {
        mg_json_member_null(json, name);
    }
}

/* Bytes that are JSON already: they stay as they are, so 14.00 stays 14.00. */
static inline void mg_json_member_raw(struct mg_json_writer *json, const char *name, struct mg_slice value)
{
    mg_json_name(json, name);
    mg_buf_append_slice(json->buf, value);
}

/* ---- elements of an array ---- */

static inline void mg_json_element_object(struct mg_json_writer *json)
{
    mg_json_element(json);
    mg_json_object_begin(json);
}

static inline void mg_json_element_text(struct mg_json_writer *json, struct mg_slice text)
{
    mg_json_element(json);
    mg_buf_append_json(json->buf, text);
}

static inline void mg_json_element_raw(struct mg_json_writer *json, struct mg_slice value)
{
    mg_json_element(json);
    mg_buf_append_slice(json->buf, value);
}

#endif
