/* See labels.h. */
#include "operator/labels.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"

#define SHOWN_MAX 80

static bool refuse(char ret_refusal[MG_LABELS_REFUSAL_SIZE], struct mg_slice text, const char *right)
{
    int len = (int)mg_utf8_cut(text, SHOWN_MAX);
    (void)snprintf(ret_refusal, MG_LABELS_REFUSAL_SIZE, "label %.*s: %s", len, text.data, right);
    return false;
}

static bool is_value(struct mg_slice value)
{
    for (size_t at = 0, step = 0; at < value.len; at += step) {
        step = mg_utf8_len(value.data + at, value.len - at);
        if (step == 0) {
            return false;
        }
    }
    return value.len > 0 && value.len <= MG_LABEL_VALUE_MAX;
}

static int compare(struct mg_slice a, struct mg_slice b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool mg_label_words_add(struct mg_label_words *words, struct mg_slice text,
                        char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    const char *equals = memchr(text.data, '=', text.len);
    size_t len = equals != NULL ? (size_t)(equals - text.data) : 0;
    struct mg_slice name = {text.data, len}, value = {text.data + len + 1, text.len - len - 1};
    if (equals == NULL || !mg_label_name_is_valid(name.data, name.len)) {
        return refuse(ret_refusal, text, "expected " MG_LABEL_RIGHT);
    }
    if (!is_value(value)) {
        return refuse(ret_refusal, text, "a value is UTF-8 of 1 to 128 bytes");
    }
    int at = words->count;
    for (int i = words->count - 1; i >= 0 && compare(name, words->pairs[i].name) <= 0; i--) {
        at = i;
    }
    if (at < words->count && mg_slice_equal(name, words->pairs[at].name)) {
        return refuse(ret_refusal, text, "given twice; an order has one value of it");
    }
    if (words->count == MG_LABELS_MAX) {
        return refuse(ret_refusal, text, "an order has at most 8 labels");
    }
    memmove(&words->pairs[at + 1], &words->pairs[at], (size_t)(words->count - at) * sizeof(words->pairs[0]));
    words->pairs[at].name = name;
    words->pairs[at].value = value;
    words->count++;
    return true;
}

/* Whether a name and "=" begin here. */
static bool begins_label(const char *at)
{
    size_t len = strcspn(at, "=,");
    return at[len] == '=' && mg_label_name_is_valid(at, len);
}

bool mg_label_words_add_all(struct mg_label_words *words, const char *text,
                            char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    while (*text != '\0') {
        const char *comma = strchr(text, ','), *next = NULL;
        for (; comma != NULL && next == NULL; comma = next == NULL ? strchr(comma + 1, ',') : comma) {
            const char *behind = comma + 1 + strspn(comma + 1, " ");
            next = begins_label(behind) ? behind : NULL;
        }
        size_t len = next != NULL ? (size_t)(comma - text) : strlen(text);
        if (!mg_label_words_add(words, (struct mg_slice){text, len}, ret_refusal)) {
            return false;
        }
        text = next != NULL ? next : text + len;
    }
    return true;
}

bool mg_label_words_write(const struct mg_label_words *words, char *ret_json, size_t size,
                          char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    struct mg_buf buf;
    ret_json[0] = '\0';
    if (words->count == 0) {
        return true;
    }
    mg_buf_init_fixed(&buf, ret_json, size);
    struct mg_json_writer json = mg_json_compact(&buf);
    mg_json_object_begin(&json);
    for (int i = 0; i < words->count; i++) {
        char name[MG_LABEL_NAME_MAX + 1];
        (void)snprintf(name, sizeof(name), "%.*s", (int)words->pairs[i].name.len, words->pairs[i].name.data);
        mg_json_member_text(&json, name, words->pairs[i].value);
    }
    mg_json_object_end(&json);
    if (buf.failed) {
        (void)snprintf(ret_refusal, MG_LABELS_REFUSAL_SIZE, "label: the labels together are above %zu bytes",
                       size - 1);
    }
    return !buf.failed;
}
