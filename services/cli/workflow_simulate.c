/* `workflow simulate`: many orders through services that fail (rehearse/simulation.h), or every way of one
 * order (rehearse/exploration.h). Here the definition, the profile and the options are read. */
#include <stdlib.h>

#include "definition.h"
#include "json/scan.h"
#include "named_services.h"
#include "rehearse/exploration.h"
#include "rehearse/simulation.h"
#include "simulate_print.h"
#include "verb_table.h"

struct simulating {
    struct mg_cli *cli;
    struct mg_workflow *workflow;
    struct mg_profile *profile;
    struct mg_service_files services;
    char *payload_text, *results_text; /* owned */
};

static enum mg_exit_code profile_read(struct simulating *simulating)
{
    const char *path = simulating->cli->options.profile;
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_err err;
    char *text = NULL;
    size_t len = 0;
    enum mg_exit_code code = mg_cli_read_file(path, MG_PROFILE_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE &&
        mg_profile_read(simulating->profile, (struct mg_slice){text, len}, &mistakes, &err) != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    free(text);
    return code == MG_EXIT_DONE
               ? mg_service_files_read(&simulating->services, path, simulating->profile->services,
                                       simulating->profile->service_count)
               : code;
}

/* ---- options ---- */

static enum mg_exit_code settings_take(struct simulating *simulating)
{
    const struct mg_cli_options *options = &simulating->cli->options;
    const struct mg_list *const lists[MG_SETTING_COUNT] = {
        [MG_SETTING_TIME] = &options->times,      [MG_SETTING_FAIL] = &options->fails,
        [MG_SETTING_REFUSE] = &options->refuses,  [MG_SETTING_LOSE] = &options->loses,
        [MG_SETTING_FINISH] = &options->finishes, [MG_SETTING_DOWN] = &options->downs,
        [MG_SETTING_WHEN] = &options->whens,      [MG_SETTING_SIGNAL] = &options->signals,
        [MG_SETTING_CHOICE] = &options->choices,
    };
    struct mg_err err;
    for (int setting = 0; setting < MG_SETTING_COUNT; setting++) {
        for (int i = 0; i < lists[setting]->count; i++) {
            if (mg_profile_set_pair(simulating->profile, (enum mg_setting)setting, lists[setting]->items[i],
                                    &err) != MG_OK) {
                return mg_cli_fail(MG_EXIT_USAGE, "--%s: %s", mg_setting_name((enum mg_setting)setting),
                                   err.text);
            }
        }
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code data_take(struct simulating *simulating)
{
    const struct mg_cli_options *options = &simulating->cli->options;
    struct mg_slice results = {NULL, 0};
    struct mg_err err;
    enum mg_exit_code code = MG_EXIT_DONE;
    if (mg_option_is_given(options->payload)) {
        code = mg_cli_read_json("--payload", options->payload, &simulating->payload_text,
                                &simulating->profile->payload);
    }
    if (code == MG_EXIT_DONE && simulating->profile->payload.data != NULL &&
        mg_json_type_of(simulating->profile->payload) != MG_JSON_OBJECT) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--payload: %s; an object is expected, as of an order",
                           mg_json_type_name(mg_json_type_of(simulating->profile->payload)));
    }
    if (code == MG_EXIT_DONE && mg_option_is_given(options->results)) {
        code = mg_cli_read_json("--results", options->results, &simulating->results_text, &results);
    }
    if (code == MG_EXIT_DONE && results.data != NULL &&
        mg_profile_set_results(simulating->profile, results, &err) != MG_OK) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--results: %s", err.text);
    }
    return code;
}

static enum mg_exit_code claims_take(struct simulating *simulating)
{
    const struct mg_cli_options *options = &simulating->cli->options;
    struct mg_err err;
    for (int i = 0; i < options->claims.count; i++) {
        if (mg_profile_add_claim(simulating->profile, mg_slice_of(options->claims.items[i]), &err) != MG_OK) {
            return mg_cli_fail(MG_EXIT_USAGE, "--never: %s", err.text);
        }
    }
    return options->claims.count > 0 && !options->explores
               ? mg_cli_fail(MG_EXIT_USAGE, "--never is proved by --explore; give both")
               : MG_EXIT_DONE;
}

static enum mg_exit_code options_take(struct simulating *simulating)
{
    const struct mg_cli_options *options = &simulating->cli->options;
    struct mg_profile *profile = simulating->profile;
    struct mg_err err;
    profile->orders = options->orders > 0 ? options->orders : profile->orders;
    profile->seed = options->seed > 0 ? options->seed : profile->seed;
    profile->lines = options->lines > 0 ? options->lines : profile->lines;
    profile->stop_after_ms = options->stop_after_ms > 0 ? options->stop_after_ms : profile->stop_after_ms;
    if (mg_option_is_given(options->rate) && mg_profile_set_rate(profile, options->rate, &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "--rate: %s", err.text);
    }
    enum mg_exit_code code = settings_take(simulating);
    code = code == MG_EXIT_DONE ? data_take(simulating) : code;
    return code == MG_EXIT_DONE ? claims_take(simulating) : code;
}

/* ---- the verb ---- */

static enum mg_exit_code orders_run(struct simulating *simulating)
{
    struct mg_tally *tally = NULL;
    struct mg_err err;
    if (mg_profile_check(simulating->profile, &err) != MG_OK ||
        mg_simulate(simulating->profile, simulating->services.by_step, &tally, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    enum mg_exit_code code = mg_simulation_print(simulating->cli, simulating->profile, tally);
    free(tally);
    return code;
}

/* A claim with a counter-example is a failure. */
static enum mg_exit_code ways_run(struct simulating *simulating)
{
    struct mg_exploration exploration;
    struct mg_err err;
    if (mg_explore(simulating->profile, MG_EXPLORE_MAX, &exploration, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    enum mg_exit_code code = mg_exploration_print(simulating->cli, simulating->workflow, &exploration);
    for (int i = 0; i < exploration.claim_count && code == MG_EXIT_DONE; i++) {
        code = exploration.claims[i].count > 0 ? MG_EXIT_ERROR : code;
    }
    mg_exploration_finish(&exploration);
    return code;
}

static enum mg_exit_code simulate(struct simulating *simulating)
{
    enum mg_exit_code code = mg_definition_read(simulating->cli->words.items[0], &simulating->workflow);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    simulating->profile = mg_profile_create(simulating->workflow);
    if (simulating->profile == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not simulate: no memory");
    }
    code = mg_option_is_given(simulating->cli->options.profile) ? profile_read(simulating) : code;
    code = code == MG_EXIT_DONE ? options_take(simulating) : code;
    code = code == MG_EXIT_DONE ? mg_service_files_match(&simulating->services, simulating->workflow) : code;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    return simulating->cli->options.explores ? ways_run(simulating) : orders_run(simulating);
}

enum mg_exit_code mg_verb_workflow_simulate(struct mg_cli *cli)
{
    struct simulating simulating = {.cli = cli};
    enum mg_exit_code code = simulate(&simulating);
    mg_profile_destroy(simulating.profile);
    mg_service_files_free(&simulating.services);
    mg_workflow_destroy(simulating.workflow);
    free(simulating.payload_text);
    free(simulating.results_text);
    return code;
}
