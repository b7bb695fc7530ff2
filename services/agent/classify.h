/*
 * The meaning of one HTTP call. Pure. The service file's rules come first, then the defaults of the design.
 *
 * Whether it leaves its step maybe: by status in service/answer_rules.c; by the evidence of the call in
 * core/maybe.c; after earlier tries in serving/tries.c; by the workflow's conditions in
 * workflow/answer_conditions.c; while a result is learned in scheduler/settle.c.
 */
#ifndef MG_AGENT_CLASSIFY_H
#define MG_AGENT_CLASSIFY_H

#include "reading.h"
#include "service/service.h"
#include "serving/verdict.h"

/* `reading`: that of the answer's body. `budget_ms` is the time that the call had. A time-out before a
 * connection stood proves little if it was short. */
void mg_classify_answer(const struct mg_service *service, enum mg_kind kind, bool is_pollable,
                        const struct mg_http_answer *answer, const struct mg_reading *reading,
                        int64_t budget_ms, struct mg_verdict_of_try *ret_verdict);

/* For resolving, TCP and TLS: a service that takes no connection in this time is not there. */
#define MG_CONNECT_TIMEOUT_MS 3000

/* The whole answer as a JSON string, in which bytes that are no UTF-8 are mended; "" absent. False: larger
 * than a result may be, or no text. */
bool mg_classify_text_result(const struct mg_service *service, struct mg_slice answer_body,
                             struct mg_buf *ret_result);

#endif
