/* Parsed workflows by name and version. A version never changes, so none is ever read twice; the least
 * recently used makes room. */
#include <stdlib.h>
#include <string.h>

#include "gateway/call.h"
#include "workflow/workflow.h"

#define KEPT_MAX 128

struct mg_kept {
    struct {
        struct mg_workflow *workflow; /* NULL: free */
        uint64_t used;                /* number of the last use */
    } places[KEPT_MAX];
    uint64_t uses;
};

struct mg_kept *mg_kept_create(void)
{
    return calloc(1, sizeof(struct mg_kept));
}

void mg_kept_destroy(struct mg_kept *kept)
{
    for (int i = 0; kept != NULL && i < KEPT_MAX; i++) {
        mg_workflow_destroy(kept->places[i].workflow);
    }
    free(kept);
}

const struct mg_workflow *mg_kept_find(struct mg_kept *kept, const char *name, int64_t version)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        const struct mg_workflow *workflow = kept->places[i].workflow;
        if (workflow != NULL && workflow->version == version && strcmp(workflow->name, name) == 0) {
            kept->places[i].used = ++kept->uses;
            return workflow;
        }
    }
    return NULL;
}

const struct mg_workflow *mg_kept_put(struct mg_kept *kept, struct mg_slice text)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    int place = 0;
    if (mg_workflow_parse(text, NULL, &workflow, &err) != MG_OK) {
        return NULL;
    }
    for (int i = 0; i < KEPT_MAX; i++) {
        place = kept->places[i].used < kept->places[place].used ? i : place;
    }
    mg_workflow_destroy(kept->places[place].workflow);
    kept->places[place].workflow = workflow;
    kept->places[place].used = ++kept->uses;
    return workflow;
}
