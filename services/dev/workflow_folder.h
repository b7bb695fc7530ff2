/*
 * Workflows of a folder, loaded into the database, and again when a file changes. A file with mistakes
 * changes nothing: its mistakes are printed once, and the versions that are loaded stay. Each workflow is in
 * one file.
 *
 * A loaded version never changes, because open orders refer to it. So a changed file of the same version is
 * loaded under the next free one.
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

/* Each signal that a step of a loaded workflow waits for; some more than once. */
void mg_workflows_signals(const struct mg_workflows *workflows, void (*found)(void *arg, const char *signal),
                          void *arg);

/* The first workflow that is loaded; NULL: none. `ret_payload` is a payload for it, as an example
 * (mg_workflow_example). */
const char *mg_workflows_example(const struct mg_workflows *workflows, struct mg_buf *ret_payload);

/* The version to load a file under. `written`: the one in the file; `newest`: the newest that is loaded, 0
 * for none; `is_same`: that one differs in nothing but its version. 0: there is nothing to load. -1: no
 * version is free, since that one has the last; another name has all of them. */
int64_t mg_numbering_next(int64_t written, int64_t newest, bool is_same);

/* Writes the checked definition with another version, and every other byte as it is. */
enum mg_class mg_numbering_write(struct mg_slice text, int64_t version, struct mg_buf *ret_text,
                                 struct mg_err *err) MG_MUSTCHECK;

/* Whether two checked definitions differ in nothing but their versions. False also without memory: then the
 * definition is only loaded once more. */
bool mg_numbering_is_same(struct mg_slice a, struct mg_slice b);

#endif
