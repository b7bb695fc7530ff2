/* `alert list|causes|ack`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "verb_table.h"

static enum mg_exit_code verb_alert_list(struct mg_cli *cli)
{
    static const char *const columns[] = {"alert_id", "code", "subject", "opened_at",
                                          "acked_by", "text", NULL};
    const char *params[] = {cli->options.is_all ? "all" : "open", cli->limit};
    return mg_table_list(cli, MG_REPORT_ALERTS, params, 2, columns);
}

static bool alert_id_read(const char *word, long long *ret_id)
{
    char *end = NULL;
    errno = 0;
    *ret_id = strtoll(word, &end, 10);
    return errno == 0 && *end == '\0' && *ret_id > 0;
}

static enum mg_exit_code verb_alert_causes(struct mg_cli *cli)
{
    static const char *const columns[] = {"count",    "code",   "workflow", "step", "error",
                                          "alert_id", "oldest", "acked_by", NULL};
    const char *params[] = {cli->limit};
    return mg_table_list(cli, MG_REPORT_ALERT_CAUSES, params, 1, columns);
}

struct acked {
    struct mg_stored stored;
    int64_t alerts;
};

static void on_acked(void *arg, int64_t alerts, const struct mg_err *err)
{
    struct acked *acked = arg;
    acked->alerts = alerts;
    mg_on_changed(&acked->stored, alerts > 0, err);
}

static enum mg_exit_code ack_print(struct mg_cli *cli, long long alert_id, int64_t alerts)
{
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_int(json, "alert_id", alert_id);
        mg_json_member_bool(json, "acknowledged", true);
        mg_json_member_int(json, "alerts", alerts);
        return mg_answer_print(&answer);
    }
    if (alerts == 1) {
        mg_print(stdout, "alert %lld is acknowledged\n", alert_id);
    } else {
        mg_print(stdout, "%lld alerts of one cause are acknowledged\n", (long long)alerts);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code alert_ack(struct mg_cli *cli, const char *word)
{
    struct acked acked = {.alerts = 0};
    long long alert_id;
    char by[101];
    (void)alert_id_read(word, &alert_id); /* all have been checked */
    mg_cli_by(cli, by, sizeof(by));
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    const struct mg_alert_ack ack = {.alert_id = alert_id, .by = by, .reason = cli->options.reason};
    mg_store_ack_alert(cli->store, &ack, on_acked, &acked);
    code = mg_cli_await_stored(cli, &acked.stored, "%s", "");
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (!acked.stored.is_changed) {
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no open and unacknowledged alert %lld", alert_id);
    }
    return ack_print(cli, alert_id, acked.alerts);
}

static enum mg_exit_code verb_alert_ack(struct mg_cli *cli)
{
    long long unused;
    for (int i = 0; i < cli->words.count; i++) {
        if (!alert_id_read(cli->words.items[i], &unused)) {
            return mg_cli_fail(MG_EXIT_USAGE, "%s: expected an alert's number, as alert list shows it",
                               cli->words.items[i]);
        }
    }
    return mg_cli_each(cli, alert_ack);
}

const struct mg_verb MG_ALERT_VERBS[] = {
    {"alert", "list", "", 0, 0, MG_EXTRA_ALL | MG_EXTRA_LIMIT | MG_EXTRA_LIST, MG_PRINTS_LIST,
     verb_alert_list, "lists open alerts; --all: closed ones, too", 0},
    {"alert", "causes", "", 0, 0, MG_EXTRA_LIMIT | MG_EXTRA_LIST, MG_PRINTS_LIST, verb_alert_causes,
     "lists open alerts by cause, unknown causes first", 0},
    {"alert", "ack", "ALERT...", 1, MG_LIST_MAX, MG_EXTRA_REASON, MG_PRINTS_ONE, verb_alert_ack,
     "acknowledges alerts and all others of their causes, which are then known", 0},
    {0}};
