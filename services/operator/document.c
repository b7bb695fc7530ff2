/*
 * See document.h. Everything that jansson frees is wiped first: its scanner and the tree hold copies of a
 * login's token.
 */
#include "operator/document.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* jansson reports some lacks of memory as faults of the text. */
static _Thread_local bool is_out_of_memory;

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    is_out_of_memory = is_out_of_memory || memory == NULL;
    return memory;
}

static void wipe_and_free(void *memory)
{
    if (memory != NULL) {
        explicit_bzero(memory, malloc_usable_size(memory));
    }
    free(memory);
}

/* The cure of the fault. Its place, and the text that jansson expected there, stand in front. */
static const char *remedy_of(enum json_error_code code)
{
    switch (code) {
    case json_error_premature_end_of_input:
        return "; the text ends in the middle of a value: send it whole";
    case json_error_end_of_input_expected:
        return "; something follows the value: send one value and nothing after it";
    case json_error_invalid_utf8:
        return "; JSON text is UTF-8";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "; NUL (\\u0000) in a string: remove it";
    case json_error_duplicate_key:
        return "; use each name once";
    case json_error_numeric_overflow:
        return "; integers must fit 64 bits, others a double: send the number as a string";
    case json_error_stack_overflow:
        return "; too many levels of objects and arrays";
    case json_error_invalid_syntax:
        return "; JSON follows RFC 8259: names in double quotes, no trailing comma, no comments";
    case json_error_unknown:
    case json_error_out_of_memory:
    case json_error_cannot_open_file:
    case json_error_invalid_argument:
    case json_error_invalid_format:
    case json_error_wrong_type:
    case json_error_null_value:
    case json_error_item_not_found:
    case json_error_index_out_of_range:
        break;
    }
    return "";
}

enum mg_class mg_document_read(struct mg_slice text, struct json_t **ret_document, struct mg_err *err)
{
    json_error_t fault;

    if (text.len > MG_DOCUMENT_MAX_BYTES) {
        return mg_err_set(err, MG_BAD_INPUT, "the text is above %zu bytes", MG_DOCUMENT_MAX_BYTES);
    }
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) { /* jansson would end the text there */
        return mg_err_set(err, MG_BAD_INPUT, "a NUL byte; JSON text has none");
    }
    is_out_of_memory = false;
    json_set_alloc_funcs(allocate, wipe_and_free);
    json_t *document = json_loadb(text.len > 0 ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &fault);
    if (document == NULL && is_out_of_memory) {
        return mg_err_set(err, MG_TRANSIENT, "the JSON text could not be read: no memory");
    }
    if (document == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s%s", fault.line, fault.column, fault.text,
                          remedy_of(json_error_code(&fault)));
    }
    *ret_document = document;
    return MG_OK;
}

void mg_document_free(struct json_t *document)
{
    json_decref(document);
}

const struct json_t *mg_document_element(const struct json_t *array, int index)
{
    return json_array_get(array, (size_t)index);
}

const struct json_t *mg_document_member(const struct json_t *object, const char *name)
{
    return json_object_get(object, name);
}

const struct json_t *mg_document_pair(struct json_t *object, int index, const char **ret_name)
{
    void *at = json_object_iter(object);
    for (int i = 0; i < index && at != NULL; i++) {
        at = json_object_iter_next(object, at);
    }
    *ret_name = json_object_iter_key(at);
    return json_object_iter_value(at);
}

struct mg_slice mg_document_text(const struct json_t *value)
{
    return (struct mg_slice){json_string_value(value), json_string_length(value)};
}

bool mg_document_integer(const struct json_t *value, int64_t *ret_number)
{
    if (!json_is_integer(value)) {
        return false;
    }
    *ret_number = json_integer_value(value);
    return true;
}
