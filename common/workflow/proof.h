/*
 * Further checks of a definition, for its author: by the tool, before it is loaded. Schedulers and gateways
 * read stored definitions without them, so that one of an older version still runs.
 */
#ifndef MG_WORKFLOW_PROOF_H
#define MG_WORKFLOW_PROOF_H

#include "json/json.h"
#include "workflow/workflow.h"

/* Proves references into the payload by `input`: members that it lacks, and optional ones that nothing asks
 * for by has(). MG_BAD_INPUT after all mistakes were passed to `mistakes` (NULL: the first is in err). */
enum mg_class mg_workflow_prove(const struct mg_workflow *workflow, const struct mg_mistakes *mistakes,
                                struct mg_err *err) MG_MUSTCHECK;

/* Calls `seen` for texts that look like references and are not. No mistake: they may be meant. `pointer`
 * leads to the text in the definition; both live until `seen` returns. */
typedef void mg_workflow_hint_fn(void *arg, const char *pointer, const char *text);
void mg_workflow_hints(const struct mg_workflow *workflow, mg_workflow_hint_fn *seen, void *arg);

#endif
