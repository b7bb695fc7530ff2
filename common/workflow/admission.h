/*
 * The refusals of a new order by its workflow, with the reason for its client. The scheduler asks before it
 * stores an order, and the gateway before it posts one, so both refuse the same with the same text.
 */
#ifndef MG_WORKFLOW_ADMISSION_H
#define MG_WORKFLOW_ADMISSION_H

#include "wire/status.h"
#include "wire/submission.h"
#include "workflow/workflow.h"

enum mg_admission_verdict {
    MG_ADMITTED,
    MG_REFUSED_PAYLOAD,     /* its shape, a value that the first steps need, a label or the key of its line */
    MG_REFUSED_REQUIREMENT, /* `require` of the order */
    MG_REFUSED_EXPRESSION,  /* a request's expression has no value for it */
    MG_ADMISSION_NO_MEMORY
};

struct mg_admission {
    enum mg_admission_verdict verdict;
    char reason[MG_STATUS_REASON_MAX + 1];
    struct mg_slice labels[MG_LABELS_MAX]; /* if admitted: see mg_workflow_labels_render */
    struct mg_slice line;                  /* if admitted: the key of its line; absent: it has none */
};

/* Judges a new order: it has no result yet. Labels and key live in `arena`. */
void mg_admission_judge(const struct mg_render_input *input, struct mg_arena *arena,
                        struct mg_admission *ret_admission);

/* The reason of a refusal because no such workflow, or not this version of it, has been loaded. */
void mg_admission_unknown(const struct mg_submission *submission, char ret_reason[MG_STATUS_REASON_MAX + 1]);
/* The reason of a refusal because the line of its key is full; of the code MG_ADMISSION_LINE_FULL. Gateway
 * and scheduler know the line's length by a look at the store, so they ask this themselves. */
#define MG_ADMISSION_LINE_FULL "line_full"
void mg_admission_line_full(const char *workflow, int64_t at_most, struct mg_slice key,
                            char ret_reason[MG_STATUS_REASON_MAX + 1]);
/* The order's id is another order's. */
#define MG_ADMISSION_CONFLICT "conflict: another order has this order_id; give the new one an id of its own"

#endif
