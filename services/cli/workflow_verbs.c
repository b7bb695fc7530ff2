/* `workflow check|load|list|states`, and the table of all verbs of `workflow`. */
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "core/describe.h"
#include "definition.h"
#include "json/reader.h"
#include "service_list.h"
#include "verb_table.h"
#include "workflow/proof.h"

/* ---- services without a queue: most often misspelled names ---- */

#define DOUBT_SIZE 512

struct named_services {
    struct mg_service_list list;
    struct mg_table controlled; /* owns the names in the list that the definitions do not */
    char why[MG_CLI_WHY_SIZE];  /* why the queues are unknown; "" if they were read */
};

static bool has_no_queue(struct named_services *services, const char *name)
{
    const struct mg_service_queues *queues = mg_service_list_find(&services->list, name);
    return queues != NULL && queues->consumers < 0;
}

static void look(struct mg_cli *cli, struct named_services *services)
{
    struct mg_err err;
    services->why[0] = '\0';
    if (mg_service_list_look(cli, &services->list, &err) != MG_OK) {
        (void)snprintf(services->why, sizeof(services->why), "%s", err.text);
    }
}

static bool is_any_missing(const struct named_services *services)
{
    for (int i = 0; i < services->list.count && services->list.is_seen; i++) {
        if (services->list.queues[i].consumers < 0) {
            return true;
        }
    }
    return false;
}

/* Reads the queues from the broker, and, if one is missing, the other services' names from the database.
 * The definitions must outlive `ret`; NULL entries are skipped. */
static void services_find(struct mg_cli *cli, struct mg_workflow *const *workflows, int count,
                          struct named_services *ret)
{
    char why[MG_CLI_WHY_SIZE];
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < count; i++) {
        for (int step = 0; workflows[i] != NULL && step < workflows[i]->plan.step_count; step++) {
            if (!workflows[i]->plan.steps[step].is_wait) {
                mg_service_list_add(&ret->list, workflows[i]->steps[step].service);
            }
        }
    }
    if (ret->list.count > 0) {
        look(cli, ret);
    }
    if (is_any_missing(ret) && (cli->store != NULL || mg_cli_try_store(cli, false, why) == MG_EXIT_DONE) &&
        mg_table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &ret->controlled) == MG_EXIT_DONE) {
        mg_service_list_add_rows(&ret->list, &ret->controlled);
        look(cli, ret);
    }
}

static void services_free(struct named_services *services)
{
    mg_table_free(&services->controlled);
}

static bool is_named_before(const struct mg_workflow *workflow, int step)
{
    for (int i = 0; i < step; i++) {
        if (strcmp(workflow->steps[i].service, workflow->steps[step].service) == 0) {
            return true;
        }
    }
    return false;
}

/* The next step after `step` (-1: the first) with a service without a queue; -1: none. Each service comes
 * once. */
static int services_next(struct named_services *services, const struct mg_workflow *workflow, int step)
{
    for (int i = step + 1; i < workflow->plan.step_count; i++) {
        if (!workflow->plan.steps[i].is_wait && has_no_queue(services, workflow->steps[i].service) &&
            !is_named_before(workflow, i)) {
            return i;
        }
    }
    return -1;
}

/* Writes "service \"travle\" has no queue; …", with the nearest name that has one. */
static void services_doubt(struct named_services *services, const char *name, char ret_text[DOUBT_SIZE])
{
    const char *served[MG_SERVICES_MAX + 1];
    int count = 0;
    for (int i = 0; i < services->list.count; i++) {
        if (!has_no_queue(services, services->list.names[i])) {
            served[count++] = services->list.names[i];
        }
    }
    served[count] = NULL;
    const char *nearest = mg_json_nearest(served, mg_slice_of(name));
    (void)snprintf(ret_text, DOUBT_SIZE,
                   "service \"%s\" has no queue; %s%s%srun: makegood broker apply --service %s", name,
                   nearest != NULL ? "did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"? If not, " : "", name);
}

/* ---- check and load ---- */

static void hint_write(void *arg, const char *pointer, const char *text)
{
    char line[DOUBT_SIZE];
    (void)snprintf(line, sizeof(line), "%s: %s", pointer, text);
    mg_json_element_text(arg, mg_slice_of(line));
}

static enum mg_exit_code definition_print(struct mg_cli *cli, const char *path,
                                          const struct mg_workflow *workflow, struct named_services *services,
                                          const char *text, const char *word)
{
    char doubt[DOUBT_SIZE];
    struct mg_answer answer;
    if (!cli->is_json) {
        mg_print(stdout, "%s: workflow %s, version %lld: %s\n", path, workflow->name,
                 (long long)workflow->version, text);
        return MG_EXIT_DONE;
    }
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "file", path);
    mg_json_member_string(json, "workflow", workflow->name);
    mg_json_member_int(json, "version", workflow->version);
    mg_json_member_word(json, "verdict", word);
    mg_json_member_array(json, "warnings");
    for (int step = services_next(services, workflow, -1); step >= 0;
         step = services_next(services, workflow, step)) {
        services_doubt(services, workflow->steps[step].service, doubt);
        mg_json_element_text(json, mg_slice_of(doubt));
    }
    mg_workflow_hints(workflow, hint_write, json);
    mg_json_array_end(json);
    return mg_answer_print(&answer);
}

struct hinting {
    struct mg_mistake_printer *printer;
    const struct mg_workflow *workflow;
};

static void hint_print(void *arg, const char *pointer, const char *text)
{
    struct hinting *hinting = arg;
    mg_mistake_print(hinting->printer, mg_json_place_at(hinting->workflow->text, pointer), pointer, text);
}

/* A warning, because orders wait for such a service until its queue is declared. */
static int doubts_print(const char *path, const struct mg_workflow *workflow, struct named_services *services)
{
    struct mg_mistake_printer printer = {.path = path};
    struct hinting hinting = {&printer, workflow};
    char doubt[DOUBT_SIZE], pointer[48];
    for (int step = services_next(services, workflow, -1); step >= 0;
         step = services_next(services, workflow, step)) {
        services_doubt(services, workflow->steps[step].service, doubt);
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/service", step);
        mg_mistake_print(&printer, mg_json_place_at(workflow->text, pointer), pointer, doubt);
    }
    mg_workflow_hints(workflow, hint_print, &hinting);
    return printer.count;
}

/* Reads the queues of all files' services. With --strict an unknown service is an error, and so is an
 * unreachable broker. */
static enum mg_exit_code services_check(struct mg_cli *cli, struct mg_workflow *const *workflows,
                                        struct named_services *ret_services)
{
    int count = 0;
    services_find(cli, workflows, cli->words.count, ret_services);
    for (int i = 0; i < cli->words.count; i++) {
        count += workflows[i] != NULL ? doubts_print(cli->words.items[i], workflows[i], ret_services) : 0;
    }
    if (ret_services->why[0] != '\0' && cli->options.is_strict) {
        return mg_cli_fail(MG_EXIT_UNAVAILABLE, "whether each service has a queue is not known: %s",
                           ret_services->why);
    }
    if (ret_services->why[0] != '\0') {
        mg_cli_note("all else is checked; whether each service has a queue was not looked at: %s",
                    ret_services->why);
    }
    return count > 0 && cli->options.is_strict ? MG_EXIT_USAGE : MG_EXIT_DONE;
}

static void workflows_free(const struct mg_cli *cli, struct mg_workflow **workflows)
{
    for (int i = 0; i < cli->words.count; i++) {
        mg_workflow_destroy(workflows[i]);
    }
}

/* Reads all definitions; NULL for one with mistakes, which are printed. */
static enum mg_exit_code definitions_read(struct mg_cli *cli, struct mg_workflow **ret_workflows)
{
    enum mg_exit_code worst = MG_EXIT_DONE;
    for (int i = 0; i < cli->words.count; i++) {
        enum mg_exit_code code = mg_definition_read(cli->words.items[i], &ret_workflows[i]);
        worst = code != MG_EXIT_DONE ? code : worst;
    }
    return worst;
}

static enum mg_exit_code verb_workflow_check(struct mg_cli *cli)
{
    struct mg_workflow *workflows[MG_LIST_MAX] = {NULL};
    struct named_services services;
    enum mg_exit_code worst = definitions_read(cli, workflows);
    enum mg_exit_code code = services_check(cli, workflows, &services);
    for (int i = 0; i < cli->words.count; i++) {
        if (workflows[i] != NULL) {
            enum mg_exit_code printed =
                definition_print(cli, cli->words.items[i], workflows[i], &services, "good", "good");
            code = code != MG_EXIT_DONE ? code : printed;
        }
    }
    services_free(&services);
    workflows_free(cli, workflows);
    return worst != MG_EXIT_DONE ? worst : code;
}

static enum mg_exit_code definition_store(struct mg_cli *cli, const char *path,
                                          const struct mg_workflow *workflow, struct named_services *services)
{
    struct mg_stored storing = {.is_over = false};
    mg_store_put_workflow(cli->store, workflow->name, workflow->version, workflow->text, mg_on_stored,
                          &storing);
    if (!mg_cli_wait(cli, &storing.is_over, cli->options.timeout_ms)) {
        return mg_cli_fail(MG_EXIT_TIMED_OUT, "%s: the database did not answer in time", path);
    }
    if (storing.is_failed) {
        return mg_cli_fail(storing.err.class == MG_TRANSIENT ? MG_EXIT_UNAVAILABLE : MG_EXIT_CONFLICT,
                           "%s: %s", path, storing.err.text);
    }
    return definition_print(cli, path, workflow, services, "is stored", "stored");
}

/* Checks all files before it stores the first: a mistake in one file stores none. */
static enum mg_exit_code verb_workflow_load(struct mg_cli *cli)
{
    struct mg_workflow *workflows[MG_LIST_MAX] = {NULL};
    struct named_services services = {.why = ""};
    enum mg_exit_code code = definitions_read(cli, workflows);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code == MG_EXIT_DONE) {
        code = services_check(cli, workflows, &services);
    }
    for (int i = 0; i < cli->words.count && code == MG_EXIT_DONE; i++) {
        code = definition_store(cli, cli->words.items[i], workflows[i], &services);
    }
    services_free(&services);
    workflows_free(cli, workflows);
    return code;
}

static enum mg_exit_code verb_workflow_list(struct mg_cli *cli)
{
    return mg_table_list(cli, MG_REPORT_WORKFLOWS, NULL, 0, NULL);
}

static void text_put(void *arg, const char *text)
{
    (void)fputs(text, arg);
}

static enum mg_exit_code verb_workflow_states(struct mg_cli *cli)
{
    if (cli->options.is_mermaid == cli->options.is_csv) {
        return mg_cli_fail(MG_EXIT_USAGE, "choose --mermaid or --csv");
    }
    if (cli->options.is_mermaid) {
        mg_describe_mermaid(text_put, stdout);
    } else {
        mg_describe_csv(text_put, stdout);
    }
    return MG_EXIT_DONE;
}

const struct mg_verb MG_WORKFLOW_VERBS[] = {
    {"workflow", "check", "FILE...", 1, MG_LIST_MAX, MG_EXTRA_STRICT, MG_PRINTS_LIST, verb_workflow_check,
     "lists all mistakes in definitions, warns of services without a queue, stores nothing", 0},
    {"workflow", "load", "FILE...", 1, MG_LIST_MAX, MG_EXTRA_STRICT, MG_PRINTS_LIST, verb_workflow_load,
     "checks and stores definitions", 0},
    {"workflow", "list", "", 0, 0, MG_EXTRA_LIST, MG_PRINTS_LIST, verb_workflow_list,
     "lists stored definitions and their open orders", 0},
    {"workflow", "show", "NAME [VERSION]", 1, 2, 0, MG_PRINTS_TEXT, mg_verb_workflow_show,
     "prints a stored definition as it was loaded, the newest version if none is given", 0},
    {"workflow", "draw", "FILE", 1, 1, MG_EXTRA_DRAW | MG_EXTRA_APART | MG_EXTRA_ALONE, MG_PRINTS_TEXT,
     mg_verb_workflow_draw, "prints the picture of a definition's steps", 0},
    {"workflow", "describe", "FILE|NAME [VERSION]", 1, 2, 0, MG_PRINTS_ONE, mg_verb_workflow_describe,
     "prints a definition in sentences", 0},
    {"workflow", "diff", "A B | NAME VERSION VERSION", 2, 3, 0, MG_PRINTS_ONE, mg_verb_workflow_diff,
     "prints the changes between two definitions by meaning; exit code 1 if there are any", 0},
    {"workflow", "test", "FILE CASES", 2, 2, MG_EXTRA_TEST | MG_EXTRA_APART, MG_PRINTS_ONE,
     mg_verb_workflow_test, "runs a definition against cases, without servers", 0},
    {"workflow", "simulate", "FILE", 1, 1, MG_EXTRA_SIMULATE | MG_EXTRA_APART, MG_PRINTS_ONE,
     mg_verb_workflow_simulate,
     "runs many orders of a definition through services that fail, without servers", 0},
    {"workflow", "states", "", 0, 0, MG_EXTRA_STATES, MG_PRINTS_TEXT, verb_workflow_states,
     "prints the tables of states, as diagrams or CSV", 0},
    {0}};
