/* Members that several parts of a service file have: texts, objects, secrets. */
#include "service/file_reader.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "wire/http_header.h"

char *mg_service_read_text(const struct mg_json_object *object, const char *name, enum mg_json_need need)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_STRING);
    struct mg_buf text;
    char *copy = NULL;

    if (value.data == NULL) {
        return NULL;
    }
    mg_buf_init(&text, value.len);
    (void)mg_json_string(value, &text); /* checked: a string */
    if (text.len == 0 && !text.failed) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "empty; give a value, or leave the member out");
    } else if (text.failed || (copy = strdup(text.data)) == NULL) {
        mg_json_member_fault(object, MG_TRANSIENT, name, "could not be kept: no memory");
    }
    mg_buf_finish(&text);
    return copy;
}

bool mg_service_open_part(const struct mg_json_object *object, const char *name, const char *const *names,
                          struct mg_json_object *ret_part)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice value = mg_json_get(object, name, MG_OPTIONAL);

    if (value.data == NULL) {
        return false;
    }
    mg_json_pointer_join(object->pointer, mg_slice_of(name), pointer);
    return mg_json_object_open(ret_part, object->faults, value, pointer, names, MG_JSON_UNKNOWN_REFUSED);
}

const char *mg_service_value_fault(struct mg_slice value)
{
    if (value.len == 0) {
        return "empty; give a value, or leave the header out";
    }
    if (value.len > MG_HEADER_VALUE_MAX) {
        return "above 4096 bytes; servers refuse such a header";
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < ' ' || value.data[i] > '~') {
            return "the value must be one line of printable ASCII";
        }
    }
    return NULL;
}

enum mg_class mg_service_read_secret(const char *path, const char *what, char **ret_value, struct mg_err *err)
{
    char bytes[MG_HEADER_VALUE_MAX +
               3]; /* with a line's end, and one more byte to detect an oversized value */
    ssize_t got = mg_file_read(path, false, bytes, sizeof(bytes));

    if (got < 0) {
        int read_errno = errno;
        explicit_bzero(bytes, sizeof(bytes));
        return mg_err_set(err, MG_BAD_INPUT, "could not read \"%.120s\": %s; name a file with %s", path,
                          strerror(read_errno), what);
    }
    size_t len = (size_t)got;
    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r')) {
        len--;
    }
    const char *wrong = mg_service_value_fault((struct mg_slice){bytes, len});
    enum mg_class class = MG_OK;
    if (wrong != NULL) {
        class = mg_err_set(err, MG_BAD_INPUT, "in \"%.120s\": %s", path, wrong);
    } else if ((*ret_value = strndup(bytes, len)) == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not keep the content of \"%.120s\": no memory", path);
    }
    explicit_bzero(bytes, sizeof(bytes));
    return class;
}
