/* See service_control.h. */
#include "wire/service_control.h"

#include <stdio.h>

#include "json/reader.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {"v",      "service", "epoch",     "version", "paused",
                                    "shares", "down",    "undecided", "sent_at", NULL};
static const char *const SHARE_NAMES[] = {"instance", "concurrency", "rate", NULL};
static const char *const DOWN_NAMES[] = {"prober", NULL};

static void share_write(struct mg_json_writer *json, const struct mg_share *share)
{
    mg_json_element_object(json);
    mg_message_put_text(json, "instance", share->instance);
    if (share->concurrency > 0) {
        mg_json_member_int(json, "concurrency", share->concurrency);
    }
    if (share->rate_per_s > 0) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%.17g", share->rate_per_s);
        mg_json_member_raw(json, "rate", mg_slice_of(number));
    }
    mg_json_object_end(json);
}

void mg_service_control_write(const struct mg_service_control *control, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text(&json, "service", control->service);
    mg_json_member_int(&json, "epoch", (int64_t)control->epoch);
    mg_json_member_int(&json, "version", (int64_t)control->version);
    mg_json_member_bool(&json, "paused", control->is_paused);
    if (control->is_limited) {
        mg_json_member_array(&json, "shares");
        for (int i = 0; i < control->share_count; i++) {
            share_write(&json, &control->shares[i]);
        }
        mg_json_array_end(&json);
    }
    if (control->is_down) {
        mg_json_member_object(&json, "down");
        mg_message_put_text(&json, "prober", control->prober);
        mg_json_object_end(&json);
    }
    if (control->is_undecided) {
        mg_json_member_bool(&json, "undecided", true);
    }
    if (control->sent_at_ms != 0) {
        mg_message_put_time(&json, "sent_at", control->sent_at_ms);
    }
    mg_json_object_end(&json);
}

static bool is_instance(const char *text, size_t len)
{
    (void)text; /* any text is a valid instance name */
    return len > 0;
}

static void share_read(struct mg_json_faults *faults, struct mg_slice value, const char *pointer,
                       struct mg_share *ret_share)
{
    struct mg_json_object object;

    if (!mg_json_object_open(&object, faults, value, pointer, SHARE_NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    mg_json_get_checked(&object, "instance", MG_REQUIRED, is_instance, "1 to 127 bytes", ret_share->instance,
                        sizeof(ret_share->instance));
    ret_share->concurrency = mg_json_get_integer(&object, "concurrency", MG_OPTIONAL, 1, INT32_MAX, 0);
    ret_share->rate_per_s = mg_json_get_number(&object, "rate", 0, MG_SERVICE_RATE_MAX, 0);
}

static void shares_read(const struct mg_json_object *object, struct mg_service_control *ret_control)
{
    struct mg_slice array = mg_json_get_typed(object, "shares", MG_OPTIONAL, MG_JSON_ARRAY), name, value;

    if (array.data == NULL) {
        return;
    }
    ret_control->is_limited = true;
    for (struct mg_json_walk walk = mg_json_walk_of(array); mg_json_walk_next(&walk, &name, &value);) {
        char pointer[MG_JSON_POINTER_SIZE];
        if (ret_control->share_count == MG_SHARES_MAX) {
            mg_json_member_fault(object, MG_BAD_INPUT, "shares", "more than %d", MG_SHARES_MAX);
            return;
        }
        (void)snprintf(pointer, sizeof(pointer), "/shares/%d", ret_control->share_count);
        share_read(object->faults, value, pointer, &ret_control->shares[ret_control->share_count++]);
    }
}

static void down_read(const struct mg_json_object *object, struct mg_service_control *ret_control)
{
    struct mg_slice value = mg_json_get_typed(object, "down", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_json_object down;

    if (value.data == NULL ||
        !mg_json_object_open(&down, object->faults, value, "/down", DOWN_NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    ret_control->is_down = true;
    mg_json_get_checked(&down, "prober", MG_REQUIRED, is_instance, "1 to 127 bytes", ret_control->prober,
                        sizeof(ret_control->prober));
}

enum mg_class mg_service_control_parse(struct mg_slice body, struct mg_service_control *ret_control,
                                       struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_service_control control = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DEFAULT, NAMES,
                              MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    mg_json_get_name(&object, "service", MG_REQUIRED, control.service);
    control.epoch = (uint64_t)mg_json_get_integer(&object, "epoch", MG_REQUIRED, 0, INT64_MAX, 0);
    control.version = (uint64_t)mg_json_get_integer(&object, "version", MG_REQUIRED, 0, INT64_MAX, 0);
    control.is_paused = mg_json_get_bool(&object, "paused", MG_REQUIRED, false);
    shares_read(&object, &control);
    down_read(&object, &control);
    control.is_undecided = mg_json_get_bool(&object, "undecided", MG_OPTIONAL, false);
    if (mg_json_get(&object, "sent_at", MG_OPTIONAL).data != NULL) {
        control.sent_at_ms = mg_json_get_time(&object, "sent_at");
    }
    if (faults.class != MG_OK) {
        return faults.class;
    }
    *ret_control = control;
    return MG_OK;
}
