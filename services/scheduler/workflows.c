/*
 * Definitions by name and version. A version never changes, so it is cached for good (within a bound). The
 * number of the newest version is read again after a second. At the start the files of --workflows are read,
 * checked in full, and stored before anything is consumed.
 */
#include "workflows.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"

#define MG_WORKFLOWS_MAX        512  /* parsed definitions kept; the least recently used makes room */
#define MG_NEWEST_MAX           1024 /* names with a cached newest version */
#define MG_DEFINITION_MAX_BYTES (1024 * 1024) /* 64 steps with generous bodies are a tenth of it */
#define MG_DEFINITION_RETRY_MS  500

/* ---- the cache ---- */

static void entry_destroy(struct mg_workflow_entry *entry)
{
    mg_workflow_destroy(entry->workflow);
    free(entry);
}

/* Drops the least recently used entry; never one of the batch in hand. */
static void cache_shrink(struct mg_workflows *workflows)
{
    struct mg_workflow_entry **oldest = NULL;
    for (struct mg_workflow_entry **at = &workflows->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->used_in != workflows->batch && (oldest == NULL || (*at)->used_in < (*oldest)->used_in)) {
            oldest = at;
        }
    }
    if (oldest != NULL) {
        struct mg_workflow_entry *entry = *oldest;
        *oldest = entry->next;
        workflows->count--;
        entry_destroy(entry);
    }
}

/* Takes ownership of the workflow. */
static void cache_add(struct mg_workflows *workflows, struct mg_workflow *workflow)
{
    struct mg_workflow_entry *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        mg_workflow_destroy(workflow);
        return;
    }
    if (workflows->count >= MG_WORKFLOWS_MAX) {
        cache_shrink(workflows);
    }
    entry->workflow = workflow;
    entry->used_in = workflows->batch;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const char *service = workflow->steps[i].service; /* a wait has none */
        entry->gates[i] = service[0] != '\0' ? mg_gates_of(workflows->gates, service) : NULL;
    }
    mg_workflow_metrics_init(entry->entered, workflows->shared->metrics, workflow->name);
    entry->next = workflows->first;
    workflows->first = entry;
    workflows->count++;
}

static void newest_note(struct mg_workflows *workflows, const char *name, int64_t version)
{
    struct mg_newest *newest = workflows->newest;
    while (newest != NULL && strcmp(newest->name, name) != 0) {
        newest = newest->next;
    }
    if (newest == NULL) {
        newest = workflows->newest_count < MG_NEWEST_MAX ? calloc(1, sizeof(*newest)) : NULL;
        if (newest == NULL) {
            return;
        }
        snprintf(newest->name, sizeof(newest->name), "%s", name);
        newest->next = workflows->newest;
        workflows->newest = newest;
        workflows->newest_count++;
    }
    newest->version = version;
    newest->read_at_boot_ms = mg_clock_boot_ms();
}

struct mg_workflow_entry *mg_workflows_find(struct mg_workflows *workflows, const char *name, int64_t version,
                                            int64_t max_age_ms)
{
    if (version == 0) {
        for (const struct mg_newest *newest = workflows->newest; newest != NULL; newest = newest->next) {
            if (strcmp(newest->name, name) == 0 &&
                mg_clock_boot_ms() - newest->read_at_boot_ms <= max_age_ms) {
                version = newest->version;
            }
        }
    }
    for (struct mg_workflow_entry *entry = workflows->first; entry != NULL; entry = entry->next) {
        if (entry->workflow->version == version && strcmp(entry->workflow->name, name) == 0) {
            entry->used_in = workflows->batch;
            return entry;
        }
    }
    return NULL;
}

/* Puts a definition into the cache, if it is the one that was asked for. */
static enum mg_fetch_outcome definition_take(struct mg_workflows *workflows, const char *name,
                                             int64_t version, struct mg_slice definition)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err why;
    if (mg_workflow_parse(definition, NULL, &workflow, &why) != MG_OK) {
        mg_log(MG_LOG_WARN, "a stored workflow cannot be read", MG_LOG_TEXT("workflow", name),
               MG_LOG_NUMBER("version", version), MG_LOG_TEXT("why", why.text));
        return mg_json_check(definition, &MG_JSON_LIMITS_DEFAULT, &why) == MG_BAD_INPUT ? MG_FETCH_DAMAGED
                                                                                        : MG_FETCH_UNREADABLE;
    }
    if (workflow->version != version || strcmp(workflow->name, name) != 0) {
        mg_workflow_destroy(workflow);
        return MG_FETCH_DAMAGED;
    }
    cache_add(workflows, workflow);
    bool is_cached = mg_workflows_find(workflows, name, version, 0) != NULL;
    return is_cached ? MG_FETCH_FOUND : MG_FETCH_UNREADABLE;
}

static void on_fetched(void *arg, bool found, int64_t version, struct mg_slice definition,
                       const struct mg_err *err)
{
    struct mg_want *want = arg;
    struct mg_workflows *workflows = want->workflows;
    want->outcome = MG_FETCH_UNKNOWN;
    if (err == NULL && found) {
        want->outcome = MG_FETCH_FOUND;
        if (want->asked == 0) {
            newest_note(workflows, want->name, version);
        }
        if (mg_workflows_find(workflows, want->name, version, 0) == NULL) {
            want->outcome = definition_take(workflows, want->name, version, definition);
        }
        want->version = version;
    }
    want->done(want->arg, want, err);
}

void mg_workflows_fetch(struct mg_want *want)
{
    mg_store_get_workflow(want->workflows->shared->store, want->name, want->asked, on_fetched, want);
}

void mg_workflows_finish(struct mg_workflows *workflows)
{
    while (workflows->first != NULL) {
        struct mg_workflow_entry *entry = workflows->first;
        workflows->first = entry->next;
        entry_destroy(entry);
    }
    while (workflows->newest != NULL) {
        struct mg_newest *newest = workflows->newest;
        workflows->newest = newest->next;
        free(newest);
    }
    mg_definitions_destroy(workflows->definitions);
    workflows->definitions = NULL;
}

/* ---- files ---- */

static enum mg_class definition_read(char *file, struct mg_definition **list, struct mg_err *err)
{
    struct mg_buf text;
    mg_buf_init(&text, MG_DEFINITION_MAX_BYTES);
    struct mg_workflow *workflow = NULL;
    enum mg_class class = mg_file_text(file, false, &text, err);
    if (class == MG_OK) {
        struct mg_mistake_printer printer = {.path = file, .skips_first = true};
        const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
        class = mg_workflow_parse(mg_buf_slice(&text), &mistakes, &workflow, err);
        if (class != MG_OK) {
            mg_err_prefix(err, "%s", file);
        }
    }
    mg_buf_finish(&text);
    struct mg_definition *definition = class == MG_OK ? calloc(1, sizeof(*definition)) : NULL;
    if (definition == NULL) {
        mg_workflow_destroy(workflow);
        free(file);
        return class != MG_OK ? class
                              : mg_err_set(err, MG_TRANSIENT, "could not read definitions: no memory");
    }
    definition->workflow = workflow;
    definition->file = file;
    definition->next = *list;
    *list = definition;
    return MG_OK;
}

static int is_definition(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

enum mg_class mg_definitions_read(const char *directory, struct mg_definition **ret_definitions,
                                  struct mg_err *err)
{
    struct dirent **names = NULL;
    int count = scandir(directory, &names, is_definition, alphasort);
    if (count < 0) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read the directory of workflows %s: %s", directory,
                          strerror(errno));
    }
    struct mg_definition *list = NULL;
    enum mg_class worst = MG_OK; /* all files are read, to report all mistakes at once */
    for (int i = 0; i < count; i++) {
        char *file = NULL;
        struct mg_err one;
        enum mg_class class = MG_TRANSIENT;
        if (asprintf(&file, "%s/%s", directory, names[i]->d_name) >= 0) {
            class = definition_read(file, &list, &one);
        } else {
            (void)mg_err_set(&one, MG_TRANSIENT, "could not read definitions: no memory");
        }
        if (class != MG_OK && worst == MG_OK) {
            worst = class;
            *err = one;
        } else if (class != MG_OK) {
            mg_print(stderr, "%s\n", one.text);
        }
        free(names[i]);
    }
    free(names);
    if (worst != MG_OK) {
        mg_definitions_destroy(list);
        return worst;
    }
    *ret_definitions = list;
    return MG_OK;
}

void mg_definitions_destroy(struct mg_definition *definitions)
{
    while (definitions != NULL) {
        struct mg_definition *next = definitions->next;
        mg_workflow_destroy(definitions->workflow);
        free(definitions->file);
        free(definitions);
        definitions = next;
    }
}

/* ---- from the files into the store ---- */

static void on_stored(void *arg, const struct mg_err *err)
{
    struct mg_workflows *workflows = arg;
    struct mg_definition *definition = workflows->definitions;
    workflows->is_definition_in_hand = false;
    if (err != NULL && err->class == MG_PERMANENT) { /* other content under the same version */
        mg_log(MG_LOG_ERROR, "cannot load a workflow", MG_LOG_TEXT("file", definition->file),
               MG_LOG_TEXT("why", err->text));
        mg_scheduler_end(workflows->shared, 2);
        return;
    }
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not load a workflow; loading is retried",
               MG_LOG_TEXT("file", definition->file), MG_LOG_TEXT("why", err->text));
        mg_timer_start(workflows->shared->store_retry, MG_DEFINITION_RETRY_MS, 0);
        return;
    }
    workflows->definitions = definition->next;
    definition->next = NULL;
    if (mg_workflows_find(workflows, definition->workflow->name, definition->workflow->version, 0) == NULL) {
        cache_add(workflows, definition->workflow);
        definition->workflow = NULL;
    }
    mg_definitions_destroy(definition);
    mg_definitions_store(workflows);
}

void mg_definitions_store(struct mg_workflows *workflows)
{
    const struct mg_definition *definition = workflows->definitions;
    if (definition == NULL) {
        if (!workflows->is_loaded) {
            workflows->is_loaded = true;
            mg_scheduler_wake(workflows->shared);
        }
    } else if (workflows->shared->is_store_up && !workflows->is_definition_in_hand &&
               !mg_timer_is_active(workflows->shared->store_retry)) {
        workflows->is_definition_in_hand = true;
        mg_store_put_workflow(workflows->shared->store, definition->workflow->name,
                              definition->workflow->version, definition->workflow->text, on_stored,
                              workflows);
    }
}
