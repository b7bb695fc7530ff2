/* See payload_check.h. */
#include "operator/payload_check.h"

#include "workflow/workflow.h"

enum mg_class mg_operator_payload_check(struct mg_slice definition, struct mg_slice payload,
                                        struct mg_err *err)
{
    struct mg_workflow *workflow = NULL;
    enum mg_class class = mg_workflow_parse(definition, NULL, &workflow, err);
    if (class == MG_OK) {
        class = mg_workflow_payload_check(workflow, payload, err);
    }
    mg_workflow_destroy(workflow);
    return class;
}
