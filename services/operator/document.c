/* See document.h. */
#include "operator/document.h"

#include <stdlib.h>
#include <string.h>

enum mg_class mg_document_check(struct mg_slice text, struct mg_err *err)
{
    enum mg_class class = mg_json_check(text, &MG_JSON_LIMITS_DEFAULT, err);
    return class != MG_OK || mg_json_type_of(mg_json_trim(text)) == MG_JSON_OBJECT
               ? class
               : mg_err_set(err, MG_BAD_INPUT, "expected an object: {\"name\": value, ...}");
}

bool mg_document_text(struct mg_slice object, const char *pointer, char *ret_text, size_t size)
{
    struct mg_buf text;
    mg_buf_init_fixed(&text, ret_text, size);
    ret_text[0] = '\0';
    (void)mg_json_string(mg_json_find(object, pointer), &text);
    if (text.failed) {
        ret_text[0] = '\0';
    }
    return !text.failed;
}

bool mg_document_integer(struct mg_slice object, const char *pointer, int64_t *ret_number)
{
    struct mg_slice value = mg_json_find(object, pointer);
    char digits[24];
    size_t len = value.len < sizeof(digits) ? value.len : 0;
    memcpy(digits, value.data != NULL ? value.data : "", len);
    digits[len] = '\0';
    if (len == 0 || strspn(digits, "-0123456789") != len) {
        return false;
    }
    *ret_number = strtoll(digits, NULL, 10);
    return true;
}
