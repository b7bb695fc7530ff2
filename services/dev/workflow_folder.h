/*
 * Workflows of a folder, loaded into the database, and again when a file changes. A file with mistakes
 * changes nothing: its mistakes are printed once, and the versions that are loaded stay. A changed definition
 * gets a version by numbering.h. Each workflow is in one file.
 */
#ifndef MG_DEV_WORKFLOW_FOLDER_H
#define MG_DEV_WORKFLOW_FOLDER_H

#include "base/loop.h"
#include "core/key.h"
#include "io/store/store.h"

struct mg_workflows_options {
    struct mg_loop *loop;
    struct mg_store *store;
    const char *folder;
    const char *const *services; /* those with an agent here; others get a warning */
    int service_count;
    void (*report)(void *arg, const char *line);
    mg_loop_fn *changed; /* called at each end of a round: mg_workflows_are_settled may have become true */
    void *arg;
};

struct mg_workflows;
/* Reads the folder at once. NULL: no memory. */
struct mg_workflows *mg_workflows_create(const struct mg_workflows_options *options);
/* Before the store, or after it. Accepts NULL. */
void mg_workflows_destroy(struct mg_workflows *workflows);
void mg_workflows_set_service_count(struct mg_workflows *workflows,
                                    int count); /* `services` has more of them now */
/* Nothing of the folder waits to be loaded. */
bool mg_workflows_are_settled(const struct mg_workflows *workflows);

/* The first workflow that is loaded; NULL: none. `ret_payload` is a payload for it, as an example
 * (mg_workflow_example). */
const char *mg_workflows_example(const struct mg_workflows *workflows, struct mg_buf *ret_payload);

#endif
