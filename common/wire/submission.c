/*
 * A client's order. People write this message by hand, so its reader is strict: a misspelt member is refused.
 * A "complete_witin" that is ignored silently would be found weeks later.
 */
#include "wire/submission.h"

#include <string.h>

#include "json/reader.h"

static const char *const NAMES[] = {"order_id", "workflow",        "workflow_version", "payload",
                                    "priority", "complete_within", "notify",           NULL};
static const char *const PRIORITIES[] = {"normal", "high", NULL};
static const char *const NOTIFIES[] = {"order", "steps", NULL};

#define COMPLETE_WITHIN_MAX_MS (365LL * 24 * 3600 * 1000) /* a year: longer is a typing mistake */

enum mg_class mg_submission_parse(struct mg_slice body, const struct mg_json_limits *limits,
                                  struct mg_submission *ret_submission, struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_submission submission = {0};

    if (!mg_json_message_open(&object, &faults, body, limits, NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return faults.class;
    }
    mg_json_get_order_id(&object, "order_id", MG_OPTIONAL, submission.order_id);
    if (strncmp(submission.order_id, MG_SLOT_ID_PREFIX, sizeof(MG_SLOT_ID_PREFIX) - 1) == 0) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "order_id",
                             "begins with \"" MG_SLOT_ID_PREFIX
                             "\", as the orders of schedules do; take another id");
    }
    mg_json_get_name(&object, "workflow", MG_REQUIRED, submission.workflow);
    submission.workflow_version =
        mg_json_get_integer(&object, "workflow_version", MG_OPTIONAL, 1, INT32_MAX, 0);
    submission.payload = mg_json_get_typed(&object, "payload", MG_OPTIONAL, MG_JSON_OBJECT);
    if (submission.payload.data == NULL) {
        submission.payload = mg_slice_of("{}");
    }
    submission.is_high = mg_json_get_word(&object, "priority", MG_OPTIONAL, PRIORITIES, MG_BAD_INPUT, 0) == 1;
    submission.complete_within_ms =
        mg_json_get_duration(&object, "complete_within", COMPLETE_WITHIN_MAX_MS, 0);
    submission.wants_step_status =
        mg_json_get_word(&object, "notify", MG_OPTIONAL, NOTIFIES, MG_BAD_INPUT, 0) == 1;
    if (faults.class == MG_OK) {
        *ret_submission = submission;
    }
    return faults.class;
}

void mg_submission_digest(struct mg_slice body, uint8_t ret_digest[MG_SHA256_SIZE])
{
    mg_sha256(body, ret_digest);
}
