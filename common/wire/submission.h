/* A client's order, as posted to orders.intake (proto/submission.schema.json). */
#ifndef MG_WIRE_SUBMISSION_H
#define MG_WIRE_SUBMISSION_H

#include "base/id.h"
#include "core/model.h"
#include "json/json.h"

struct mg_submission {
    char order_id[MG_ORDER_ID_MAX + 1]; /* "" if the client gave none */
    char workflow[MG_NAME_MAX + 1];
    int64_t workflow_version; /* 0: the newest */
    struct mg_slice payload;  /* borrowed from the body: the received bytes; "{}" if absent */
    bool is_high;
    int64_t complete_within_ms; /* 0: the workflow's */
    bool wants_step_status;     /* "notify": "steps" */
};

/* `body` must outlive the submission. MG_BAD_INPUT with JSON pointer and reason. */
enum mg_class mg_submission_parse(struct mg_slice body, const struct mg_json_limits *limits,
                                  struct mg_submission *ret_submission, struct mg_err *err) MG_MUSTCHECK;

/* The identity of the content: SHA-256 of the received body bytes. */
void mg_submission_digest(struct mg_slice body, uint8_t ret_digest[MG_SHA256_SIZE]);

#endif
