/* The bytes of an order and of a signal, and the public form of an order's statuses. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/json_write.h"
#include "core/key.h"
#include "library_private.h"
#include "wire/status.h"
#include "wire/submission.h"

#define TRACEPARENT_MAX 255 /* a short string of the protocol */
/* A status is at most a message of the broker client, and its copies of texts are less. */
#define STATUS_MEMORY_MAX ((size_t)3 * MG_BROKER_BODY_MAX_DEFAULT)

enum mg_error_code mg_error_set(struct mg_error *error, enum mg_error_code code, const char *format, ...)
{
    va_list args;
    if (error != NULL) {
        error->code = code;
        va_start(args, format);
        (void)vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
        mg_utf8_mend(error->text);
        mg_text_make_plain(error->text);
    }
    return code;
}

enum mg_error_code mg_error_from(struct mg_error *error, const struct mg_err *err)
{
    enum mg_error_code code = err->class == MG_BAD_INPUT ? MG_ERROR_INPUT : MG_ERROR_SYSTEM;
    return mg_error_set(error, code, "%s", err->text);
}

int mg_library_cancel_hold(void)
{
    int state = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* fails for another state only */
    return state;
}

void mg_library_cancel_release(int state)
{
    (void)pthread_setcancelstate(state, NULL);
}

bool mg_library_is_own(pid_t maker, struct mg_error *error)
{
    bool is_own = getpid() == maker;
    if (!is_own) {
        (void)mg_error_set(error, MG_ERROR_CLOSED, "it was opened before fork(2): open one in each process");
    }
    return is_own;
}

const struct mg_broker_names mg_library_names = {"ca_file", "cert_file", "key_file", "is_plaintext_allowed"};

static void member_put(struct mg_json_writer *json, const char *name, const char *text)
{
    if (text != NULL) {
        mg_json_member_string(json, name, text);
    }
}

static void submission_write(struct mg_library_order *order, const struct mg_client_order *wanted)
{
    struct mg_json_writer json = mg_json_compact(&order->body);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, "order_id", order->order_id);
    mg_json_member_string(&json, "workflow", wanted->workflow);
    mg_json_member_raw(&json, "payload", mg_slice_of(wanted->payload != NULL ? wanted->payload : "{}"));
    member_put(&json, "priority", wanted->priority);
    member_put(&json, "complete_within", wanted->complete_within);
    member_put(&json, "notify", wanted->notify);
    if (wanted->workflow_version != 0) {
        mg_json_member_int(&json, "workflow_version", wanted->workflow_version);
    }
    mg_json_object_end(&json);
}

/* The payload is checked by itself first: in the submission, a text after its end would be another member. */
static enum mg_class submission_make(struct mg_library_order *order, const struct mg_client_order *wanted,
                                     struct mg_err *err)
{
    struct mg_submission submission;
    struct mg_json_limits limits = MG_JSON_LIMITS_SUBMISSION;
    limits.max_depth--; /* the submission is a level around it */
    if (wanted->payload != NULL && mg_json_check(mg_slice_of(wanted->payload), &limits, err) != MG_OK) {
        return mg_err_prefix(err, "the payload");
    }
    mg_buf_init(&order->body, MG_JSON_LIMITS_SUBMISSION.max_bytes);
    submission_write(order, wanted);
    if (mg_buf_class(&order->body) != MG_OK) {
        return mg_buf_class(&order->body) == MG_TRANSIENT
                   ? mg_err_set(err, MG_TRANSIENT, "could not keep order %s: no memory", order->order_id)
                   : mg_err_set(err, MG_BAD_INPUT, "order %s is larger than %zu bytes: shorten its payload",
                                order->order_id, MG_JSON_LIMITS_SUBMISSION.max_bytes);
    }
    if (mg_submission_parse(mg_buf_slice(&order->body), &MG_JSON_LIMITS_SUBMISSION, &submission, err) !=
        MG_OK) {
        return mg_err_prefix(err, "order %s", order->order_id);
    }
    order->posting.is_high = submission.is_high;
    return MG_OK;
}

/* A short string of the protocol, which goes into a header. */
static bool is_traceparent(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return len <= TRACEPARENT_MAX;
}

/* The members that the submission's reader does not see, or names by other words. */
static enum mg_error_code texts_check(const struct mg_client_order *wanted, struct mg_error *error)
{
    if (wanted == NULL) {
        return mg_error_set(error, MG_ERROR_INPUT, "an order needs a workflow");
    }
    if (wanted->order_id != NULL && !mg_order_id_is_valid(wanted->order_id, strlen(wanted->order_id))) {
        return mg_error_set(
            error, MG_ERROR_INPUT,
            "an order_id has 1 to %d characters A-Z, a-z, 0-9, \".\", \"_\", \":\", \"-\": %.80s",
            MG_CLIENT_ORDER_ID_SIZE - 1, wanted->order_id);
    }
    if (wanted->traceparent != NULL && !is_traceparent(wanted->traceparent)) {
        return mg_error_set(error, MG_ERROR_INPUT,
                            "a traceparent has at most %d characters of printable ASCII: %.80s",
                            TRACEPARENT_MAX, wanted->traceparent);
    }
    return MG_ERROR_NONE;
}

enum mg_error_code mg_library_order_create(const struct mg_client_order *wanted,
                                           struct mg_library_order **ret_order, struct mg_error *error)
{
    struct mg_err err;
    enum mg_error_code code = texts_check(wanted, error);
    if (code != MG_ERROR_NONE) {
        return code;
    }
    struct mg_library_order *order = calloc(1, sizeof(*order));
    if (order == NULL) {
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not keep an order: no memory");
    }
    mg_statuses_init(&order->statuses);
    if (wanted->order_id != NULL) {
        (void)snprintf(order->order_id, sizeof(order->order_id), "%s", wanted->order_id);
    } else {
        mg_uuid_random(order->order_id);
    }
    enum mg_class class = submission_make(order, wanted, &err);
    if (class == MG_OK && wanted->traceparent != NULL) {
        order->traceparent = strdup(wanted->traceparent);
        class = order->traceparent != NULL
                    ? MG_OK
                    : mg_err_set(&err, MG_TRANSIENT, "could not keep order %s: no memory", order->order_id);
    }
    if (class != MG_OK) {
        mg_library_order_free(order);
        return mg_error_from(error, &err);
    }
    order->posting.order_id = order->order_id;
    order->posting.body = mg_buf_slice(&order->body);
    order->posting.traceparent = order->traceparent;
    order->posting.owner = order;
    *ret_order = order;
    return MG_ERROR_NONE;
}

/* ---- signals ---- */

static enum mg_error_code signal_check(const struct mg_client_signal *wanted, struct mg_error *error)
{
    if (wanted == NULL || wanted->name == NULL || !mg_name_is_valid(wanted->name, strlen(wanted->name))) {
        return mg_error_set(error, MG_ERROR_INPUT,
                            "the name of a signal has 1 to %d characters a-z, 0-9, \"_\", \"-\", the first a "
                            "letter: %.80s",
                            MG_NAME_MAX, wanted != NULL && wanted->name != NULL ? wanted->name : "none");
    }
    if ((wanted->order_id == NULL) == (wanted->key == NULL)) {
        return mg_error_set(error, MG_ERROR_INPUT, "a signal needs either an order_id or a key");
    }
    if (wanted->order_id != NULL && !mg_order_id_is_valid(wanted->order_id, strlen(wanted->order_id))) {
        return mg_error_set(
            error, MG_ERROR_INPUT,
            "an order_id has 1 to %d characters A-Z, a-z, 0-9, \".\", \"_\", \":\", \"-\": %.80s",
            MG_CLIENT_ORDER_ID_SIZE - 1, wanted->order_id);
    }
    if (wanted->key != NULL && !mg_signal_key_is_valid(wanted->key, strlen(wanted->key))) {
        return mg_error_set(error, MG_ERROR_INPUT, "a key has " MG_SIGNAL_KEY_RIGHT ": %.80s", wanted->key);
    }
    if (wanted->signal_id != NULL && !mg_command_id_is_valid(wanted->signal_id, strlen(wanted->signal_id))) {
        return mg_error_set(error, MG_ERROR_INPUT, "a signal_id has " MG_COMMAND_ID_RIGHT ": %.80s",
                            wanted->signal_id);
    }
    return MG_ERROR_NONE;
}

static enum mg_class command_make(struct mg_library_order *order, const char *client,
                                  const struct mg_client_signal *wanted, struct mg_err *err)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL,
                                 .payload = mg_slice_of(wanted->payload != NULL ? wanted->payload : "null")};
    if (mg_signal_payload_check(command.payload, err) != MG_OK) {
        return mg_err_prefix(err, "the payload");
    }
    memcpy(command.command_id, order->signal_id, sizeof(command.command_id));
    memcpy(command.signal, order->signal, sizeof(command.signal));
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s",
                   wanted->order_id != NULL ? wanted->order_id : "");
    (void)snprintf(command.key, sizeof(command.key), "%s", wanted->key != NULL ? wanted->key : "");
    (void)snprintf(command.by, sizeof(command.by), "client %s", client);
    mg_buf_init(&order->body, (size_t)2 * MG_SIGNAL_PAYLOAD_MAX);
    mg_command_write(&command, &order->body);
    return order->body.failed
               ? mg_err_set(err, MG_TRANSIENT, "could not keep signal %s: no memory", order->signal_id)
               : MG_OK;
}

enum mg_error_code mg_library_signal_create(const char *client, const struct mg_client_signal *wanted,
                                            struct mg_library_order **ret_order, struct mg_error *error)
{
    struct mg_err err;
    enum mg_error_code code = signal_check(wanted, error);
    if (code != MG_ERROR_NONE) {
        return code;
    }
    struct mg_library_order *order = calloc(1, sizeof(*order));
    if (order == NULL) {
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not keep a signal: no memory");
    }
    mg_statuses_init(&order->statuses);
    mg_uuid_random(order->order_id);
    mg_uuid_random(order->signal_id);
    if (wanted->signal_id != NULL) {
        (void)snprintf(order->signal_id, sizeof(order->signal_id), "%s", wanted->signal_id);
    }
    (void)snprintf(order->signal, sizeof(order->signal), "%s", wanted->name);
    if (command_make(order, client, wanted, &err) != MG_OK) {
        mg_library_order_free(order);
        return mg_error_from(error, &err);
    }
    order->posting = (struct mg_posting){.order_id = order->order_id,
                                         .signal = order->signal,
                                         .signal_id = order->signal_id,
                                         .body = mg_buf_slice(&order->body),
                                         .owner = order};
    *ret_order = order;
    return MG_ERROR_NONE;
}

void mg_library_order_free(struct mg_library_order *order)
{
    if (order != NULL) {
        mg_statuses_finish(&order->statuses);
        mg_buf_finish(&order->body);
        free(order->traceparent);
        free(order);
    }
}

/* ---- statuses ---- */

struct status {
    struct mg_client_status public; /* first, as mg_client_status_free finds the arena by it */
    struct mg_arena *arena;         /* of the status itself and its texts */
};

/* The value at the pointer as JSON; NULL: there is none. */
static const char *json_of(struct status *status, struct mg_slice message, const char *pointer, bool *is_lost)
{
    struct mg_slice value = mg_json_find(message, pointer);
    const char *copy = value.data != NULL ? mg_arena_text(status->arena, value) : NULL;
    *is_lost = *is_lost || (value.data != NULL && copy == NULL);
    return copy;
}

/* The text of the string at the pointer; NULL: there is none. */
static const char *text_of(struct status *status, struct mg_slice message, const char *pointer, bool *is_lost)
{
    const char *copy = NULL;
    struct mg_slice value = mg_json_find(message, pointer);
    struct mg_buf text;
    mg_buf_init(&text, value.len + 1);
    if (value.data != NULL && mg_json_string(value, &text)) {
        mg_buf_append_text(&text, ""); /* an empty text has its NUL, too */
        copy = text.failed ? NULL : mg_arena_text(status->arena, mg_slice_of(text.data));
        *is_lost = *is_lost || copy == NULL;
    }
    mg_buf_finish(&text);
    return copy;
}

struct mg_client_status *mg_library_status_create(const struct mg_kept_status *kept)
{
    struct mg_err err;
    struct mg_status_identity identity = {0};
    struct mg_slice message = {kept->body, kept->len};
    struct mg_arena *arena = mg_arena_create(STATUS_MEMORY_MAX);
    struct status *status = arena != NULL ? mg_arena_alloc(arena, sizeof(*status)) : NULL;
    bool is_lost = status == NULL || mg_status_identify(message, &identity, &err) != MG_OK;
    if (status != NULL) {
        status->arena = arena;
        status->public = (struct mg_client_status){
            .seq = (int64_t)kept->seq,
            .status = text_of(status, message, "/status", &is_lost),
            .is_end = kept->is_end,
            .at_ms = identity.at_ms,
            .step = text_of(status, message, "/step", &is_lost),
            .reason = text_of(status, message, "/reason", &is_lost),
            .output = json_of(status, message, "/output", &is_lost),
            .cause = json_of(status, message, "/cause", &is_lost),
            .cause_step = text_of(status, message, "/cause/step", &is_lost),
            .cause_code = text_of(status, message, "/cause/code", &is_lost),
            .cause_text = text_of(status, message, "/cause/text", &is_lost),
            .message = mg_arena_text(arena, message),
            .message_size = message.len,
        };
        is_lost = is_lost || status->public.message == NULL;
    }
    if (is_lost) {
        mg_arena_destroy(arena);
        return NULL;
    }
    return &status->public;
}

void mg_client_status_free(struct mg_client_status *status)
{
    if (status != NULL) {
        mg_arena_destroy(((struct status *)status)->arena);
    }
}
