/* The parts of an answer over HTTP that its reply carries. Pure. */
#ifndef MG_AGENT_PARTS_H
#define MG_AGENT_PARTS_H

#include "serving/tries.h"

/* Takes the parts for this verdict. They live in the answer and in `words`, which is initialised here and
 * which the caller finishes. */
void mg_reply_parts_take(const struct mg_service *service, const struct mg_verdict_of_try *verdict,
                         struct mg_slice answer_body, bool has_text_result, struct mg_buf *words,
                         struct mg_reply_parts *ret_parts);

#endif
