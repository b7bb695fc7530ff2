/* The parts of an answer over HTTP that its reply carries. Pure. */
#ifndef MG_AGENT_ANSWER_PARTS_H
#define MG_AGENT_ANSWER_PARTS_H

#include "reading.h"
#include "serving/tries.h"

/* Takes the parts for this verdict. They live in the answer, in its reading, and in `words`, which is
 * initialised here and which the caller finishes. A good answer with a body that gives no result, although it
 * is not empty, gets the reason RESULT_UNREADABLE and a text. */
void mg_reply_parts_take(const struct mg_service *service, struct mg_slice answer_body, bool has_text_result,
                         struct mg_reading *reading, struct mg_buf *words, struct mg_verdict_of_try *verdict,
                         struct mg_reply_parts *ret_parts);

#endif
