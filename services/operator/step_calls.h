/*
 * The requests of a step and the answers to them. No request is stored: it is built again from the payload,
 * the results and the definition, as the scheduler builds it (law 8, derived identities). The digest that is
 * stored with a key proves that these are the bytes which have gone out. The headers of the service file,
 * with all secrets, and those that the agent adds to each call (agent/headers.c), are not here.
 */
#ifndef MG_OPERATOR_STEP_CALLS_H
#define MG_OPERATOR_STEP_CALLS_H

#include "base/json_write.h"
#include "operator/table.h"

/* Requests that are listed, the newest ones: a step that is polled for weeks has many. */
#define MG_CALLS_LISTED_MAX 100

/* Reports of one order, with their bytes unchanged. */
struct mg_step_calls_facts {
    const struct mg_table *order, *steps, *events;
    const struct mg_table *calls; /* MG_REPORT_CALLS; of an archived order it has no rows */
    struct mg_slice definition;
};

/* Writes one object; false, and nothing is written: the workflow has no such step, or cannot be read.
 *
 * | object  | members                                                                                       |
 * |---------|-----------------------------------------------------------------------------------------------|
 * | whole   | step service requests: [request, …] attempts: [attempt, …]                                    |
 * |         | result error_code error_text error_message error_body                                         |
 * | request | kind idempotency_key method path headers content_type body is_proved curl fault               |
 * | attempt | attempt kind sent_at ended_at took_ms cause answer state |
 *
 * Each kind that the step can have has one request. `body` is the text that goes out, or null. `is_proved`:
 * true, it has the stored digest; false, it has another, as after a repair of the payload; null, nothing is
 * stored. `curl` is the same call in a shell, whose variable URL is the service's address. `fault`: why it
 * cannot be built; then its members are null.
 */
bool mg_step_calls_write(struct mg_json_writer *json, const struct mg_step_calls_facts *facts,
                         const char *step);

#endif
