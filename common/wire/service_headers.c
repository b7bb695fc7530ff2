/*
 * Headers that every call to a service carries: most often its secret. libcurl sends what it is given, so
 * anything that could end a header line is refused here, and so are the headers that are the agent's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wire/service_read.h"

#define VALUE_MAX_BYTES 4096 /* common servers take 8 KiB for all headers together */
#define NAME_MAX_BYTES  64

static const char *const FILE_NAMES[] = {"file", NULL};
/* Set by the agent or by libcurl; a second one would contradict it. */
static const char *const OWN_HEADERS[] = {
    "Idempotency-Key", "traceparent", "Content-Length", "Transfer-Encoding", "Connection", "Expect", NULL};

/* RFC 9110 §5.6.2: a token. */
static bool is_header_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
    }
    return len > 0 && len <= NAME_MAX_BYTES;
}

/* What is wrong with a header's value, or NULL. */
static const char *value_fault(struct mg_slice value)
{
    if (value.len == 0) return "empty; give a value, or leave the header out";
    if (value.len > VALUE_MAX_BYTES) return "above 4096 bytes; servers refuse such a header";
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < ' ' || value.data[i] > '~')
            return "the value must be one line of printable ASCII";
    }
    return NULL;
}

/* A secret from a file, as it is mounted or written by hand: without the line's end. */
static void read_file(struct mg_json_faults *faults, const char *pointer, const char *path,
                      struct mg_buf *ret_value)
{
    char bytes[VALUE_MAX_BYTES + 3]; /* with a line's end, and one more to notice too many */
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "could not read \"%.120s\": %s; name a file with the header's value", path,
                      strerror(errno));
        return;
    }
    size_t len = fread(bytes, 1, sizeof bytes, file);
    bool has_failed = ferror(file) != 0;
    (void)fclose(file); /* only read */
    if (has_failed) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "could not read \"%.120s\"; name a file with the header's value", path);
        return;
    }
    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
        len--;
    mg_buf_append(ret_value, bytes, len);
    explicit_bzero(bytes, sizeof bytes);
    const char *wrong = value_fault(mg_buf_slice(ret_value));
    if (wrong != NULL) mg_json_fault(faults, MG_BAD_INPUT, pointer, "in \"%.120s\": %s", path, wrong);
}

static void read_value(struct mg_json_faults *faults, const char *pointer, struct mg_slice value,
                       struct mg_buf *ret_value)
{
    struct mg_json_object object;

    if (mg_json_type_of(value) == MG_JSON_OBJECT) {
        if (!mg_json_object_open(&object, faults, value, pointer, FILE_NAMES, MG_JSON_UNKNOWN_REFUSED))
            return;
        char *path = mg_service_read_text(&object, "file", MG_REQUIRED);
        if (path != NULL) read_file(faults, pointer, path, ret_value);
        free(path);
        return;
    }
    if (mg_json_type_of(value) != MG_JSON_STRING) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; a string, or {\"file\": \"PATH\"}, is expected",
                      mg_json_type_name(mg_json_type_of(value)));
        return;
    }
    (void)mg_json_string(value, ret_value); /* it is a string */
    const char *wrong = value_fault(mg_buf_slice(ret_value));
    if (wrong != NULL) mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s", wrong);
}

static void check_name(struct mg_json_faults *faults, const char *pointer, struct mg_slice name)
{
    if (!is_header_name(name.data, name.len)) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "not a header's name; use up to %d letters, digits and \"-\"", NAME_MAX_BYTES);
    }
    for (int i = 0; OWN_HEADERS[i] != NULL; i++) {
        if (strlen(OWN_HEADERS[i]) == name.len && strncasecmp(OWN_HEADERS[i], name.data, name.len) == 0) {
            mg_json_fault(faults, MG_BAD_INPUT, pointer, "the agent sets this header itself; leave it out");
        }
    }
}

void mg_service_read_headers(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_slice headers = mg_json_get_typed(object, "headers", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_json_walk walk;
    struct mg_slice quoted, value;
    int count = 0;

    mg_json_walk_begin(&walk, headers);
    for (; mg_json_walk_next(&walk, &quoted, &value); count++) {
        char pointer[MG_JSON_POINTER_SIZE];
        struct mg_buf name, line;

        if (count >= MG_SERVICE_HEADERS_MAX) {
            mg_json_member_fault(object, MG_BAD_INPUT, "headers", "more than %d headers; leave some out",
                                 MG_SERVICE_HEADERS_MAX);
            return;
        }
        mg_buf_init(&name, quoted.len);
        mg_buf_init(&line, VALUE_MAX_BYTES * 4);
        (void)mg_json_string(quoted, &name); /* it is a string */
        mg_json_pointer_join("/headers", mg_buf_slice(&name), pointer);
        check_name(object->faults, pointer, mg_buf_slice(&name));
        read_value(object->faults, pointer, value, &line);
        if (name.failed || line.failed ||
            asprintf(&service->headers[count], "%s: %s", name.len > 0 ? name.data : "",
                     line.len > 0 ? line.data : "") < 0) {
            service->headers[count] = NULL;
            mg_json_fault(object->faults, MG_BAD_INPUT, pointer, "could not be kept: too long, or no memory");
        }
        mg_buf_finish(&name);
        mg_buf_finish(&line);
    }
}
