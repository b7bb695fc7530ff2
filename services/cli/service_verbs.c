/*
 * `service list|show|pause|resume|limit|forget`: the states of remote services, and the operator settings of
 * one. The settings are a row that schedulers read and that the leading supervisor sends to the agents. The
 * row has a version: if two operators act at once, the second gets a conflict.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "core/key.h"
#include "operator/option_words.h"
#include "operator/service_state.h"
#include "service/service.h"
#include "service_list.h"
#include "verb_table.h"
#include "wire/command.h"
#include "wire/service_control.h"

#define SEE_LIST "; see makegood service list"

static enum mg_exit_code verb_service_list(struct mg_cli *cli)
{
    static const char *const columns[] = {
        "service",        "state",           "since",      "calls_per_s", "p50_ms", "p95_ms",
        "failed_percent", "refused_percent", "slow_since", "waiting",     "agents", "in_flight",
        "concurrency",    "rate_per_s",      "by_whom",    "reason",      NULL};
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_CONTROLLED, NULL, 0, &table);
    if (code == MG_EXIT_DONE) {
        mg_service_queues_put(cli, &table);
        code = mg_table_print(cli, &table, columns);
    }
    mg_table_free(&table);
    return code;
}

struct settled {
    uint64_t version;        /* of the current settings */
    int64_t agents, obeying; /* that report, and of these those that have applied them */
};

static enum mg_exit_code service_read(struct mg_cli *cli, const char *service, struct settled *ret)
{
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &table);
    *ret = (struct settled){.version = 0};
    for (int row = 0; row < table.row_count; row++) {
        if (strcmp(mg_table_cell(&table, row, "service"), service) == 0) {
            ret->version = strtoull(mg_table_cell(&table, row, "version"), NULL, 10);
            ret->agents = strtoll(mg_table_cell(&table, row, "agents"), NULL, 10);
            ret->obeying = strtoll(mg_table_cell(&table, row, "obeying"), NULL, 10);
        }
    }
    mg_table_free(&table);
    return code;
}

/* Agents apply a setting within a second, if a supervisor leads. */
#define OBEY_MAX_MS    3000
#define OBEY_PERIOD_MS 100

/* After the command of a pause no call is expected. Waits until the agents make none, and notes it if
 * some still may. */
static void pause_await(struct mg_cli *cli, const char *service)
{
    struct settled settled = {.agents = 0};
    int64_t until_boot_ms = mg_clock_boot_ms() + OBEY_MAX_MS;
    enum mg_exit_code code;
    do {
        (void)mg_cli_pause(cli, OBEY_PERIOD_MS);
        code = service_read(cli, service, &settled);
    } while (code == MG_EXIT_DONE && settled.obeying < settled.agents && mg_clock_boot_ms() < until_boot_ms);
    if (settled.obeying < settled.agents) {
        mg_cli_note("%lld of its %lld agents have applied the pause so far" SEE_LIST,
                    (long long)settled.obeying, (long long)settled.agents);
    }
}

static enum mg_exit_code setting_send(struct mg_cli *cli, const struct mg_service_setting *setting,
                                      uint64_t *ret_version)
{
    struct mg_stored change = {.is_over = false};
    mg_store_put_setting(cli->store, setting, mg_on_versioned, &change);
    enum mg_exit_code code = mg_cli_await_stored(cli, &change, SEE_LIST);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    switch (change.result) {
    case MG_CHANGE_DONE:
        break;
    case MG_CHANGE_CONFLICT:
        return mg_cli_fail(
            MG_EXIT_CONFLICT,
            "service %s: its settings are no longer at version %llu; see makegood service list",
            setting->service, (unsigned long long)setting->version);
    case MG_CHANGE_NOT_FOUND:
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no service %s: no workflow and no agent names it",
                           setting->service);
    }
    *ret_version = change.version;
    return MG_EXIT_DONE;
}

static enum mg_exit_code name_check(const char *service)
{
    return mg_name_is_valid(service, strlen(service))
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE, "%s: expected a service's name", service);
}

static enum mg_exit_code setting_do(struct mg_cli *cli, struct mg_service_setting *setting, const char *what)
{
    char by[MG_COMMAND_BY_MAX + 1];
    struct settled before = {.version = 0};
    uint64_t version = 0;
    mg_cli_by(cli, by, sizeof(by));
    setting->service = cli->words.items[0];
    setting->by = by;
    setting->reason = cli->options.reason;
    enum mg_exit_code code = name_check(setting->service);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code == MG_EXIT_DONE) {
        code = service_read(cli, setting->service, &before);
    }
    if (code == MG_EXIT_DONE) {
        setting->version = cli->options.version != 0 ? (uint64_t)cli->options.version : before.version;
        code = setting_send(cli, setting, &version);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (setting->verb == MG_SETTING_PAUSE) {
        pause_await(cli, setting->service);
    }
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "service", setting->service);
        mg_json_member_int(json, "version", (int64_t)version);
        code = mg_answer_print(&answer);
    } else {
        mg_print(stdout, "service %s: version %llu, %s\n", setting->service, (unsigned long long)version,
                 what);
    }
    int64_t concurrency = setting->concurrency != NULL ? strtoll(setting->concurrency, NULL, 10) : 0;
    if (concurrency > 0 && concurrency < before.agents) {
        mg_cli_note(
            "%lld agents of it report, and each makes at least one call at a time; stop some for less",
            (long long)before.agents);
    }
    return code;
}

static enum mg_exit_code verb_service_pause(struct mg_cli *cli)
{
    struct mg_service_setting setting = {.verb = MG_SETTING_PAUSE, .pause_ms = cli->options.pause_ms};
    return setting_do(
        cli, &setting,
        "paused; its steps wait and use up no attempt, the orders' own complete_within goes on");
}

static enum mg_exit_code verb_service_resume(struct mg_cli *cli)
{
    struct mg_service_setting setting = {.verb = MG_SETTING_RESUME};
    return setting_do(cli, &setting, "no longer paused");
}

static enum mg_exit_code verb_service_limit(struct mg_cli *cli)
{
    struct mg_service_setting setting = {.verb = MG_SETTING_LIMIT};
    const struct mg_cli_options *options = &cli->options;
    if (!mg_option_is_given(options->concurrency) && !mg_option_is_given(options->rate)) {
        return mg_cli_fail(MG_EXIT_USAGE, "name a limit: --concurrency N, --rate N, or none for either");
    }
    if (!mg_limit_parse(options->concurrency, true, MG_SERVICE_CONCURRENCY_MAX, &setting.concurrency)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--concurrency %s: expected none or 1 to %d", options->concurrency,
                           MG_SERVICE_CONCURRENCY_MAX);
    }
    if (!mg_limit_parse(options->rate, false, MG_SERVICE_RATE_MAX, &setting.rate_per_s)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--rate %s: expected none, or calls a second above 0 and up to %d",
                           options->rate, MG_SERVICE_RATE_MAX);
    }
    return setting_do(cli, &setting,
                      "other limits, for all its agents together; none exceeds that of its service file");
}

struct forgetting {
    struct mg_stored stored;
    enum mg_forget_result result;
    char why[512];
};

static void forget_answered(void *arg, enum mg_forget_result result, const char *why,
                            const struct mg_err *err)
{
    struct forgetting *forgetting = arg;
    forgetting->result = result;
    (void)snprintf(forgetting->why, sizeof(forgetting->why), "%s", why);
    mg_on_stored(&forgetting->stored, err);
}

static enum mg_exit_code forget_print(struct mg_cli *cli, const char *service,
                                      const struct forgetting *forgetting)
{
    switch (forgetting->result) {
    case MG_FORGET_DONE:
        break;
    case MG_FORGET_IN_USE:
        return mg_cli_fail(MG_EXIT_CONFLICT, "service %s is not forgotten: %s", service, forgetting->why);
    case MG_FORGET_NOT_FOUND:
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is nothing to delete of service %s", service);
    }
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "service", service);
        mg_json_member_bool(json, "is_forgotten", true);
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "service %s: forgotten; the next report of an agent makes it known again\n", service);
    return MG_EXIT_DONE;
}

static enum mg_exit_code verb_service_forget(struct mg_cli *cli)
{
    const char *service = cli->words.items[0];
    struct forgetting forgetting = {.why = ""};
    char by[MG_COMMAND_BY_MAX + 1];
    mg_cli_by(cli, by, sizeof(by));
    enum mg_exit_code code = name_check(service);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    mg_store_forget_service(cli->store, service, cli->options.reason, by, forget_answered, &forgetting);
    code = mg_cli_await_stored(cli, &forgetting.stored, SEE_LIST);
    return code == MG_EXIT_DONE ? forget_print(cli, service, &forgetting) : code;
}

#define CHANGES_SERVICE (MG_EXTRA_REASON | MG_EXTRA_VERSION)

const struct mg_verb MG_SERVICE_VERBS[] = {
    {"service", "list", "", 0, 0, MG_EXTRA_LIST, MG_PRINTS_LIST, verb_service_list,
     "lists services: since when they fail, how quickly they answer, how many steps wait", 0},
    {"service", "show", "SERVICE", 1, 1, MG_EXTRA_LIST, MG_PRINTS_ONE, mg_verb_service_show,
     "prints a service: since when it fails, its last error, its calls of the last hour, its agents", 0},
    {"service", "pause", "SERVICE", 1, 1, CHANGES_SERVICE | MG_EXTRA_PAUSE, MG_PRINTS_ONE, verb_service_pause,
     "stops all calls of a service; its steps wait and use up no attempt", 0},
    {"service", "resume", "SERVICE", 1, 1, CHANGES_SERVICE, MG_PRINTS_ONE, verb_service_resume,
     "ends the pause of a service", 0},
    {"service", "limit", "SERVICE", 1, 1, CHANGES_SERVICE | MG_EXTRA_LIMITS, MG_PRINTS_ONE,
     verb_service_limit, "sets limits for the calls of all its agents together", 0},
    {"service", "forget", "SERVICE", 1, 1, MG_EXTRA_REASON, MG_PRINTS_ONE, verb_service_forget,
     "deletes the reports, pause, limits and alert of a removed service", 0},
    {"service", "test", "URL", 1, 1, MG_EXTRA_AUDIT | MG_EXTRA_APART, MG_PRINTS_ONE, mg_verb_service_test,
     "calls a running service as an agent would, with real effects, and prints the promises that it keeps",
     0},
    {0}};
