/*
 * Headers of every call to a service, most often its secret. libcurl sends them unchanged. So any character
 * that could end a header line is refused here, and so are the agent's own headers.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "service/file_reader.h"
#include "wire/http_header.h"

#define NAME_MAX_BYTES 64

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
        if (!is_alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return len > 0 && len <= NAME_MAX_BYTES;
}

/* Without secrets the line ends after the name, which other members must not repeat. */
static enum mg_class read_file(const char *name, const char *path, bool is_without_secrets, char **ret_line,
                               struct mg_err *err)
{
    char *value = NULL;
    enum mg_class class =
        is_without_secrets ? MG_OK : mg_service_read_secret(path, "the header's value", &value, err);
    if (class == MG_OK && asprintf(ret_line, "%s: %s", name, value != NULL ? value : "") < 0) {
        *ret_line = NULL;
        class = mg_err_set(err, MG_TRANSIENT, "could not keep the content of \"%.120s\": no memory", path);
    }
    mg_secret_free(value);
    return class;
}

/* Makes the header `name` from its value in the file; NULL after a fault. */
static char *read_value(struct mg_json_faults *faults, const char *pointer, const char *name,
                        struct mg_slice value, bool is_without_secrets, char **ret_path)
{
    struct mg_json_object object;
    struct mg_err err;
    struct mg_buf text;
    char *line = NULL;

    if (mg_json_type_of(value) == MG_JSON_OBJECT) {
        if (!mg_json_object_open(&object, faults, value, pointer, FILE_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
            return NULL;
        }
        *ret_path = mg_service_read_text(&object, "file", MG_REQUIRED);
        if (*ret_path != NULL && read_file(name, *ret_path, is_without_secrets, &line, &err) != MG_OK) {
            mg_json_fault(faults, err.class, pointer, "%s", err.text);
        }
        return line;
    }
    if (mg_json_type_of(value) != MG_JSON_STRING) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; a string, or {\"file\": \"PATH\"}, is expected",
                      mg_json_type_name(mg_json_type_of(value)));
        return NULL;
    }
    mg_buf_init(&text, MG_HEADER_VALUE_MAX * 4);
    (void)mg_json_string(value, &text); /* checked: a string */
    const char *wrong =
        text.failed ? "could not be kept: too long" : mg_service_value_fault(mg_buf_slice(&text));
    if (text.is_out_of_memory || (wrong == NULL && asprintf(&line, "%s: %s", name, text.data) < 0)) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
    } else if (wrong != NULL) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s", wrong);
    }
    mg_buf_finish(&text);
    return line;
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
    struct mg_slice quoted, value;
    int count = 0;

    for (struct mg_json_walk walk = mg_json_walk_of(headers); mg_json_walk_next(&walk, &quoted, &value);
         count++) {
        char pointer[MG_JSON_POINTER_SIZE];
        struct mg_buf name;

        if (count >= MG_SERVICE_HEADERS_MAX) {
            mg_json_member_fault(object, MG_BAD_INPUT, "headers", "more than %d headers; leave some out",
                                 MG_SERVICE_HEADERS_MAX);
            return;
        }
        mg_buf_init(&name, quoted.len);
        (void)mg_json_string(quoted, &name); /* checked: a string */
        if (name.failed) {
            mg_json_member_fault(object, MG_TRANSIENT, "headers", "could not be read: no memory");
            mg_buf_finish(&name);
            return;
        }
        mg_json_pointer_join("/headers", mg_buf_slice(&name), pointer);
        check_name(object->faults, pointer, mg_buf_slice(&name));
        service->headers[count] = read_value(object->faults, pointer, name.len > 0 ? name.data : "", value,
                                             service->auth.is_without_secrets, &service->header_files[count]);
        mg_buf_finish(&name);
    }
}

enum mg_class mg_service_reread_headers(struct mg_service *service, int *ret_count, bool *ret_is_new,
                                        struct mg_err *err)
{
    char *lines[MG_SERVICE_HEADERS_MAX] = {NULL};
    enum mg_class class = MG_OK;
    int count = 0;
    bool is_new = false;

    for (int i = 0; i < MG_SERVICE_HEADERS_MAX && class == MG_OK; i++) {
        char name[NAME_MAX_BYTES + 1];
        if (service->header_files[i] == NULL) {
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(service->headers[i], ":"),
                       service->headers[i]);
        class = read_file(name, service->header_files[i], false, &lines[i], err);
        if (class != MG_OK) {
            (void)mg_err_prefix(err, "header %s", name);
        }
    }
    for (int i = 0; i < MG_SERVICE_HEADERS_MAX; i++) {
        if (class != MG_OK || lines[i] == NULL) {
            mg_secret_free(lines[i]);
            continue;
        }
        is_new = mg_secret_renew(&service->headers[i], &service->old_headers[i], lines[i]) || is_new;
        count++;
    }
    if (class != MG_OK) {
        return class;
    }
    *ret_count = count;
    *ret_is_new = is_new;
    return MG_OK;
}
