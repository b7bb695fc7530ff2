/*
 * The request message. Its path comes from an order's data. So the agent's parser checks it here,
 * independently of the scheduler: it must stay below the service's URL.
 */
#include "wire/request.h"

#include <string.h>

#include "json/reader.h"
#include "wire/http_header.h"
#include "wire/http_url.h"
#include "wire/message_write.h"

/* A request holds payload and results several times over, some levels deeper than received. Agents must
 * accept every request that a scheduler can accept and render. A scheduler's options allow payloads of 1000
 * levels, in a template of 32, and rendered requests up to 1000 KiB; a member takes at least two bytes. */
const struct mg_json_limits MG_REQUEST_LIMITS = {
    .max_bytes = 4 * 1024 * 1024,
    .max_depth = 1040,
    .max_members = 512 * 1024,
    .any_number = true,
};

static const char *const NAMES[] = {"v",       "order_id",        "step",     "service",     "attempt",
                                    "kind",    "idempotency_key", "do_key",   "complete_by", "sent_at",
                                    "request", "at_most_once",    "pollable", "traceparent", NULL};
static const char *const ACTION_NAMES[] = {"method", "path", "body", NULL};
static const char *const REACH_NAMES[] = {"method",       "path",     "body", "headers",
                                          "content_type", "response", NULL};
static const char *const RESPONSES[] = {"json", "text", NULL};
/* Of a definition's headers, and its accept. */
#define HEADERS_MAX (MG_ACTION_HEADERS_MAX + 1)

/* W3C Trace Context §3.2: version, trace id, parent id, flags. */
static bool is_traceparent(const char *text, size_t len)
{
    static const char SHAPE[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    if (len != sizeof(SHAPE) - 1) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        bool is_hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (SHAPE[i] == 'x' ? !is_hex : text[i] != '-') {
            return false;
        }
    }
    return true;
}

static bool is_key(const char *text, size_t len)
{
    if (len == 0) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!mg_order_id_is_valid(text + i, 1)) {
            return false; /* the same character set, but longer */
        }
    }
    return true;
}

void mg_request_write(const struct mg_request *request, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", request->version > 1 ? request->version : 1);
    mg_message_put_text(&json, "order_id", request->order_id);
    mg_message_put_text(&json, "step", request->step);
    mg_message_put_text(&json, "service", request->service);
    mg_json_member_int(&json, "attempt", request->attempt);
    mg_json_member_word(&json, "kind", mg_kind_name(request->kind));
    mg_message_put_text(&json, "idempotency_key", request->idempotency_key);
    mg_message_put_text(&json, "do_key", request->do_key);
    mg_message_put_time(&json, "complete_by", request->complete_by_ms);
    mg_message_put_time(&json, "sent_at", request->sent_at_ms);
    if (request->is_at_most_once) {
        mg_json_member_bool(&json, "at_most_once", true);
    }
    if (request->is_pollable) {
        mg_json_member_bool(&json, "pollable", true);
    }
    if (is_traceparent(request->traceparent, strlen(request->traceparent))) {
        mg_message_put_text(&json, "traceparent", request->traceparent);
    }
    mg_json_member_raw(&json, "request", request->request);
    mg_json_object_end(&json);
}

/* The text of a string value: in place if nothing is escaped, else in the arena. */
static struct mg_slice text_of(struct mg_slice quoted, struct mg_arena *arena, struct mg_json_faults *faults)
{
    if (memchr(quoted.data, '\\', quoted.len) == NULL) {
        return (struct mg_slice){quoted.data + 1, quoted.len - 2};
    }
    struct mg_buf text;
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked by the caller: a string */
    struct mg_slice copy = text.failed ? (struct mg_slice){0} : mg_arena_copy(arena, mg_buf_slice(&text));
    mg_buf_finish(&text);
    if (copy.data == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, "/request", "could not be taken apart: no memory");
    }
    return copy;
}

/* The line of one header; NULL after a fault. */
static const char *read_header(struct mg_json_faults *faults, struct mg_arena *arena, struct mg_slice name,
                               struct mg_slice value)
{
    char pointer[MG_JSON_POINTER_SIZE], *line = NULL;
    struct mg_buf text;

    mg_json_pointer_join("/request/headers", name, pointer);
    if (!mg_header_name_is_valid(name) || mg_header_is_reserved(name)) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "not a header that a step may set");
        return NULL;
    }
    mg_buf_init(&text, value.len);
    const char *wrong =
        mg_json_string(value, &text) ? mg_header_value_fault(mg_buf_slice(&text)) : "it is no string";
    if (wrong != NULL && !text.failed) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "the value cannot be sent: %s", wrong);
    } else if (text.failed ||
               (line = mg_arena_printf(arena, "%.*s: %s", (int)name.len, name.data, text.data)) == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be taken apart: no memory");
    }
    mg_buf_finish(&text);
    return line;
}

static void read_headers(const struct mg_json_object *action, struct mg_arena *arena,
                         struct mg_request *request)
{
    struct mg_slice headers = mg_json_get_typed(action, "headers", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_slice quoted, value;
    int count = 0;

    if (headers.data == NULL) {
        return;
    }
    request->headers = mg_arena_alloc(arena, (HEADERS_MAX + 1) * sizeof(*request->headers));
    if (request->headers == NULL) {
        mg_json_member_fault(action, MG_TRANSIENT, "headers", "could not be taken apart: no memory");
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(headers); mg_json_walk_next(&walk, &quoted, &value);
         count++) {
        if (count == HEADERS_MAX) {
            mg_json_member_fault(action, MG_BAD_INPUT, "headers", "more than %d headers; leave some out",
                                 HEADERS_MAX);
            return;
        }
        request->headers[count] =
            read_header(action->faults, arena, (struct mg_slice){quoted.data + 1, quoted.len - 2}, value);
    }
}

/* A body with a content type is text, which is sent as it is. */
static void read_content_type(const struct mg_json_object *action, struct mg_arena *arena,
                              struct mg_request *request)
{
    struct mg_slice type = mg_json_get_typed(action, "content_type", MG_OPTIONAL, MG_JSON_STRING);

    if (type.data == NULL) {
        return;
    }
    request->content_type = text_of(type, arena, action->faults);
    const char *wrong =
        request->content_type.data == NULL ? NULL : mg_media_type_fault(request->content_type);
    if (wrong != NULL) {
        mg_json_member_fault(action, MG_BAD_INPUT, "content_type", "%s", wrong);
    }
    request->content = mg_json_get_typed(action, "body", MG_REQUIRED, MG_JSON_STRING);
    if (request->content.data != NULL) {
        request->content = text_of(request->content, arena, action->faults);
    }
}

static void read_action(const struct mg_json_object *object, struct mg_arena *arena,
                        struct mg_request *request)
{
    struct mg_json_faults *faults = object->faults;
    struct mg_json_object action;

    request->request = mg_json_get_typed(object, "request", MG_REQUIRED, MG_JSON_OBJECT);
    if (request->request.data == NULL) {
        return;
    }
    /* Most requests are of version 1, and cost no more than before. */
    bool is_reaching = request->version >= MG_REQUEST_VERSION_REACH;
    if (!mg_json_object_open(&action, faults, request->request, "/request",
                             is_reaching ? REACH_NAMES : ACTION_NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    int method = mg_json_get_word(&action, "method", MG_REQUIRED, MG_WORDS_METHOD, MG_STALE, -1);
    struct mg_slice path = mg_json_get_typed(&action, "path", MG_REQUIRED, MG_JSON_STRING);
    request->content = mg_json_get(&action, "body", MG_OPTIONAL);
    if (is_reaching) {
        read_headers(&action, arena, request);
        read_content_type(&action, arena, request);
        request->is_text_answer =
            mg_json_get_word(&action, "response", MG_OPTIONAL, RESPONSES, MG_STALE, 0) == 1;
    }
    if (method >= 0) {
        request->method = mg_slice_of(MG_WORDS_METHOD[method]);
    }
    if (path.data == NULL) {
        return;
    }
    request->path = text_of(path, arena, faults);
    const char *wrong = request->path.data == NULL ? NULL : mg_path_fault(request->path);
    if (wrong != NULL) {
        mg_json_fault(faults, MG_BAD_INPUT, "/request/path", "%s", wrong);
    }
}

enum mg_class mg_request_parse(struct mg_slice body, struct mg_arena *arena, struct mg_request *ret_request,
                               struct mg_err *err)
{
    static const char KEY_RIGHT[] = "up to 150 characters A-Z, a-z, 0-9, \".\", \"_\", \":\", \"-\"";
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_request request = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_REQUEST_LIMITS, NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    request.version = mg_json_get_version(&object, MG_REQUEST_VERSION_JUDGED);
    mg_json_get_order_id(&object, "order_id", MG_REQUIRED, request.order_id);
    mg_json_get_name(&object, "step", MG_REQUIRED, request.step);
    mg_json_get_name(&object, "service", MG_REQUIRED, request.service);
    request.attempt = (uint32_t)mg_json_get_integer(&object, "attempt", MG_REQUIRED, 1, MG_ATTEMPT_MAX, 0);
    int kind = mg_json_get_word(&object, "kind", MG_REQUIRED, MG_WORDS_KIND, MG_STALE, -1);
    mg_json_get_checked(&object, "idempotency_key", MG_REQUIRED, is_key, KEY_RIGHT, request.idempotency_key,
                        sizeof(request.idempotency_key));
    mg_json_get_checked(&object, "do_key", MG_REQUIRED, is_key, KEY_RIGHT, request.do_key,
                        sizeof(request.do_key));
    request.complete_by_ms = mg_json_get_time(&object, "complete_by");
    request.sent_at_ms = mg_json_get_time(&object, "sent_at");
    request.is_at_most_once = mg_json_get_bool(&object, "at_most_once", MG_OPTIONAL, false);
    request.is_pollable = mg_json_get_bool(&object, "pollable", MG_OPTIONAL, false);
    mg_json_get_checked(&object, "traceparent", MG_OPTIONAL, is_traceparent,
                        "a traceparent of W3C Trace Context (\"00-<32 hex>-<16 hex>-<2 hex>\")",
                        request.traceparent, sizeof(request.traceparent));
    read_action(&object, arena, &request);
    if (faults.class != MG_OK) {
        return faults.class;
    }
    request.kind = (enum mg_kind)kind;
    *ret_request = request;
    return MG_OK;
}
