/* See admission.h. */
#include "workflow/admission.h"

#include <inttypes.h>
#include <stdio.h>

/* Missing members that a refusal names: more do not help a person, and a reason is short. */
#define LACKS_NAMED_MAX 8

static void refuse(struct mg_admission *admission, enum mg_admission_verdict verdict,
                   const struct mg_err *err)
{
    admission->verdict = verdict;
    (void)snprintf(admission->reason, sizeof(admission->reason), "%s", err->text);
}

/* A payload with which the first step could not be sent: such an order would only be turned back. */
static void lacks_refuse(const struct mg_workflow *workflow, const struct mg_payload_need *lack,
                         struct mg_slice payload, struct mg_admission *admission)
{
    char *reason = admission->reason;
    size_t size = sizeof(admission->reason);
    size_t len = (size_t)snprintf(reason, size, "payload has no member \"%.300s\"; step \"%s\" needs it",
                                  lack->pointer, workflow->steps[lack->step].name);
    for (int i = 1;
         i < LACKS_NAMED_MAX && len < size && (lack = mg_workflow_lacks_behind(lack, payload)) != NULL; i++) {
        len += (size_t)snprintf(reason + len, size - len, "; nor \"%.100s\", for \"%s\"", lack->pointer,
                                workflow->steps[lack->step].name);
    }
    admission->verdict = MG_REFUSED_PAYLOAD;
}

/* The verdict of a class of mg_workflow_admit. */
static enum mg_admission_verdict verdict_of(enum mg_class class)
{
    return class == MG_TRANSIENT   ? MG_ADMISSION_NO_MEMORY
           : class == MG_PERMANENT ? MG_REFUSED_REQUIREMENT
                                   : MG_REFUSED_EXPRESSION;
}

void mg_admission_judge(const struct mg_render_input *input, struct mg_arena *arena,
                        struct mg_admission *admission)
{
    const struct mg_payload_need *lack;
    struct mg_err err;
    enum mg_class class;
    *admission = (struct mg_admission){.verdict = MG_ADMITTED};
    if (mg_workflow_payload_check(input->workflow, input->payload, &err) != MG_OK) {
        refuse(admission, MG_REFUSED_PAYLOAD, &err);
    } else if ((lack = mg_workflow_lacks(input->workflow, input->payload)) != NULL) {
        lacks_refuse(input->workflow, lack, input->payload, admission);
    } else if ((class = mg_workflow_admit(input, &err)) != MG_OK) {
        refuse(admission, verdict_of(class), &err);
    } else if ((class = mg_workflow_labels_render(input, arena, admission->labels, &err)) != MG_OK) {
        refuse(admission, class == MG_PERMANENT ? MG_REFUSED_PAYLOAD : MG_ADMISSION_NO_MEMORY, &err);
    } else if ((class = mg_workflow_line_key(input, arena, &admission->line, &err)) != MG_OK) {
        refuse(admission, class == MG_PERMANENT ? MG_REFUSED_PAYLOAD : MG_ADMISSION_NO_MEMORY, &err);
    }
}

void mg_admission_unknown(const struct mg_submission *submission, char reason[MG_STATUS_REASON_MAX + 1])
{
    char version[40] = "";
    if (submission->workflow_version != 0) {
        (void)snprintf(version, sizeof(version), " of version %" PRId64, submission->workflow_version);
    }
    (void)snprintf(reason, MG_STATUS_REASON_MAX + 1, "/workflow: no workflow \"%s\"%s has been loaded",
                   submission->workflow, version);
}

void mg_admission_line_full(const char *workflow, int64_t at_most, struct mg_slice key,
                            char reason[MG_STATUS_REASON_MAX + 1])
{
    (void)snprintf(reason, MG_STATUS_REASON_MAX + 1,
                   "line_full: the line of key \"%.*s\" has %" PRId64
                   " orders, as many as workflow \"%s\" allows; submit it again when some of them have ended",
                   (int)key.len, key.data, at_most, workflow);
}
