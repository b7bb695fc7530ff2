/*
 * `doctor`: checks one by one the conditions under which orders move. It prints a line for each, with the
 * remedy if the check fails. Exit code 1 if any check fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "broker_checks.h"
#include "io/amqp/topology.h"
#include "operator/alert_causes.h"
#include "operator/service_state.h"
#include "processes.h"
#include "service_list.h"
#include "verb_table.h"
#include "wire/reply.h"

/* With a larger difference of clocks agents report that they are not ready. */
#define CLOCK_SKEW_MAX_MS 2000

/* An answer takes milliseconds; under an alarm none comes. */
#define ALARM_WAIT_MS 1000

struct doctor {
    struct mg_cli *cli;
    struct mg_service_list services;
    int wrong, checked;
};

struct service_tables {
    struct mg_table agents; /* MG_REPORT_SERVICES */
    struct mg_service_needs needs;
};

static void finding(struct doctor *doctor, bool is_good, const char *what, const char *detail)
{
    struct mg_cli *cli = doctor->cli;
    doctor->checked++;
    doctor->wrong += !is_good;
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "check", what);
        mg_json_member_bool(json, "ok", is_good);
        mg_json_member_string(json, "detail", detail);
        (void)mg_answer_print(&answer);
    } else {
        mg_hue_print(stdout, &cli->style, is_good ? "ok" : "WRONG", 5);
        mg_print(stdout, " %-12s %s\n", what, detail);
    }
    (void)fflush(stdout); /* a check may wait for a server */
}

/* False: the report could not be read, which is a finding of this check. */
static bool report_read(struct doctor *doctor, const char *check, enum mg_report report,
                        const char *const *params, int count, struct mg_table *ret_table)
{
    char why[MG_CLI_WHY_SIZE];
    bool is_read = mg_table_try_read(doctor->cli, report, params, count, ret_table, why) == MG_EXIT_DONE;
    if (!is_read) {
        finding(doctor, false, check, why);
    }
    return is_read;
}

/* Reports a collation whose version is not that of the data. Makegood's own keys compare bytewise. */
static void collation_check(struct doctor *doctor)
{
    struct mg_table collation = {0};
    char detail[512];
    if (!report_read(doctor, "collation", MG_REPORT_COLLATION, NULL, 0, &collation)) {
        return;
    }
    const char *built = mg_table_cell(&collation, 0, "built"),
               *actual = mg_table_cell(&collation, 0, "actual"), *keys = mg_table_cell(&collation, 0, "keys");
    bool is_changed = built[0] != '\0' && actual[0] != '\0' && strcmp(built, actual) != 0;
    bool is_good = strcmp(keys, "0") == 0;
    (void)snprintf(
        detail, sizeof(detail),
        "the server's is version %.80s, the data have version %.80s; %s key columns depend on it%s "
        "ALTER DATABASE … REFRESH COLLATION VERSION",
        actual, built, is_good ? "no" : keys,
        is_good ? ": build other indexes of yours anew, then"
                : ", so rows may not be found: REINDEX DATABASE, then");
    if (is_changed) {
        finding(doctor, is_good, "collation", detail);
    }
    mg_table_free(&collation);
}

static void settings_check(struct doctor *doctor)
{
    struct mg_table settings = {0};
    char detail[320]; /* mg_schema_serves writes as much */
    if (!report_read(doctor, "settings", MG_REPORT_SETTINGS, NULL, 0, &settings)) {
        return;
    }
    const char *fsync_word = mg_table_cell(&settings, 0, "fsync");
    const char *commit_word = mg_table_cell(&settings, 0, "synchronous_commit");
    bool is_durable = strcmp(fsync_word, "on") == 0 && strcmp(commit_word, "off") != 0;
    (void)snprintf(detail, sizeof(detail), "server %s, encoding %s, fsync %s, synchronous_commit %s%s",
                   mg_table_cell(&settings, 0, "server_version"), mg_table_cell(&settings, 0, "encoding"),
                   fsync_word, commit_word,
                   is_durable ? "" : ": it may lose confirmed orders; set both to on");
    finding(doctor, is_durable, "database", detail);
    if (mg_table_cell(&settings, 0, "standby")[0] != '\0') {
        finding(doctor, false, "database", mg_table_cell(&settings, 0, "standby"));
    }

    bool is_good = mg_schema_serves(strtoll(mg_table_cell(&settings, 0, "schema_version"), NULL, 10),
                                    strtoll(mg_table_cell(&settings, 0, "serves_from"), NULL, 10), detail,
                                    sizeof(detail));
    finding(doctor, is_good, "schema", detail);

    long long skew_ms = mg_clock_wall_ms() - strtoll(mg_table_cell(&settings, 0, "now_ms"), NULL, 10);
    (void)snprintf(detail, sizeof(detail), "this machine's differs from the database's by %lld ms", skew_ms);
    finding(doctor, llabs(skew_ms) <= CLOCK_SKEW_MAX_MS, "clock", detail);
    mg_table_free(&settings);
}

static void leader_check(struct doctor *doctor)
{
    struct mg_table leader = {0};
    char detail[768];
    if (!report_read(doctor, "supervisor", MG_REPORT_LEADER, NULL, 0, &leader)) {
        return;
    }
    if (mg_table_cell(&leader, 0, "seen_at")[0] != '\0') {
        long long age_ms = strtoll(mg_table_cell(&leader, 0, "age_ms"), NULL, 10);
        const char *holder = mg_table_cell(&leader, 0, "holder");
        bool is_led = holder[0] != '\0';
        (void)snprintf(detail, sizeof(detail), "%s leads in epoch %s, %s %lld ms ago",
                       is_led ? holder : "none", mg_table_cell(&leader, 0, "epoch"),
                       is_led ? "seen" : "given up", age_ms);
        const char *held_by = mg_table_cell(&leader, 0, "held_by");
        if (held_by[0] != '\0') {
            (void)snprintf(detail, sizeof(detail), "none leads: the leader %s was seen %lld ms ago; %s",
                           is_led ? holder : "before", age_ms, held_by);
        }
        finding(doctor, is_led && age_ms <= MG_LEADER_AGE_MAX_MS, "supervisor", detail);
    } else {
        finding(doctor, false, "supervisor", "none has ever led; start makegood-supervisor");
    }
    mg_table_free(&leader);
}

/* Schedulers that consume and are not seen are frozen, cut off from the database, or of an older version. */
static void schedulers_check(struct doctor *doctor, const struct mg_table *processes)
{
    struct mg_intake intake;
    char detail[512], orders[96] = "";
    const char *hold = mg_processes_hold(processes);
    int seen = mg_processes_seen(processes, "scheduler");
    bool is_asked = mg_intake_ask(doctor->cli, &intake);
    const char *remedy = "";
    if (is_asked) {
        (void)snprintf(orders, sizeof(orders), ", %lld consume, %lld new orders wait",
                       (long long)intake.consumers, (long long)intake.ready);
    }
    if (is_asked && intake.consumers == 0) {
        remedy = ": no scheduler takes orders; start makegood-scheduler";
    } else if (is_asked && intake.consumers > seen) {
        remedy =
            ": one that consumes is not seen; it is frozen, cut off from the database, or of an older version";
    } else if (!is_asked && seen == 0) {
        remedy = ": start makegood-scheduler";
    }
    (void)snprintf(detail, sizeof(detail), "%d seen%s%s%s%s", seen, orders, remedy,
                   hold[0] != '\0' ? ": " : "", hold);
    finding(doctor, remedy[0] == '\0' && hold[0] == '\0', "scheduler", detail);
}

static void processes_check(struct doctor *doctor)
{
    struct mg_table processes = {0};
    char detail[768];
    if (!report_read(doctor, "processes", MG_REPORT_PROCESSES, NULL, 0, &processes)) {
        return;
    }
    schedulers_check(doctor, &processes);
    for (int row = 0; row < processes.row_count; row++) {
        if (mg_process_is_silent(&processes, row) || mg_process_stands(&processes, row) ||
            mg_process_lacks(&processes, row)) {
            mg_process_write(&processes, row, detail, sizeof(detail));
            finding(doctor, false, mg_table_cell(&processes, row, "kind"), detail);
        }
    }
    mg_table_free(&processes);
}

static void orders_check(struct doctor *doctor)
{
    struct mg_table stuck = {0};
    char detail[256];
    if (!report_read(doctor, "orders", MG_REPORT_STUCK, NULL, 0, &stuck)) {
        return;
    }
    if (stuck.row_count == 0) {
        finding(doctor, true, "orders",
                "every open order that is not set aside has something that will move it");
    } else {
        (void)snprintf(detail, sizeof(detail),
                       "%d open orders have nothing that will move them, the first is %s", stuck.row_count,
                       mg_table_cell(&stuck, 0, "order_id"));
        finding(doctor, false, "orders", detail);
    }
    mg_table_free(&stuck);
}

/* Reports orders that the database keeps waiting, while others go on. */
static void waiting_check(struct doctor *doctor)
{
    struct mg_table waiting = {0};
    const char *all[] = {""};
    char text[MG_WAITING_TEXT_SIZE], detail[MG_WAITING_TEXT_SIZE + 64];
    if (report_read(doctor, "orders", MG_REPORT_WAITING, all, 1, &waiting) && waiting.row_count > 0) {
        mg_waiting_write(&waiting, text, sizeof(text));
        (void)snprintf(detail, sizeof(detail), "%d waiting for the database; %s", waiting.row_count, text);
        finding(doctor, false, "orders", detail);
    }
    mg_table_free(&waiting);
}

/* Reports statuses owed to queues that are missing or full. */
static void statuses_check(struct doctor *doctor)
{
    struct mg_table owed = {0};
    char detail[512];
    if (report_read(doctor, "statuses", MG_REPORT_OWED, NULL, 0, &owed)) {
        const char *number = mg_table_cell(&owed, 0, "number");
        long long oldest_ms = strtoll(mg_table_cell(&owed, 0, "oldest_ms"), NULL, 10);
        if (strcmp(number, "0") == 0) {
            (void)snprintf(detail, sizeof(detail), "all have reached their clients' queues");
        } else {
            (void)snprintf(detail, sizeof(detail),
                           "%s are owed, the oldest for %lld s; %s queues take nothing, the longest %.200s: "
                           "is it there, and has it room?",
                           number, oldest_ms / 1000, mg_table_cell(&owed, 0, "queues"),
                           mg_table_cell(&owed, 0, "queue"));
        }
        finding(doctor, oldest_ms <= MG_CLI_OWED_AGE_MAX_MS, "statuses", detail);
    }
    mg_table_free(&owed);
}

static void alerts_check(struct doctor *doctor)
{
    struct mg_table table = {0};
    struct mg_alert_causes causes;
    char detail[MG_ALERT_KNOWN_SIZE + 256];
    const char *params[] = {MG_ALERT_CAUSES_LIMIT};
    if (report_read(doctor, "alerts", MG_REPORT_ALERT_CAUSES, params, 1, &table)) {
        mg_alert_causes_count(&table, &causes);
        if (causes.unknown > 0) { /* unknown ones come first */
            (void)snprintf(detail, sizeof(detail),
                           "%lld open of %d unknown cause%s, the first %s about %.128s%s%s; see makegood "
                           "alert causes",
                           (long long)causes.unknown_alerts, causes.unknown, causes.unknown == 1 ? "" : "s",
                           mg_table_cell(&table, 0, "code"), mg_table_cell(&table, 0, "subject"),
                           causes.known > 0 ? "; " : "", causes.known_text);
        } else {
            (void)snprintf(detail, sizeof(detail), "%lld open%s%s", (long long)causes.alerts,
                           causes.known > 0 ? ", " : "", causes.known_text);
        }
        finding(doctor, causes.unknown == 0, "alerts", detail);
    }
    mg_table_free(&table);
}

static bool is_reporting(const struct mg_table *services, int row)
{
    return strtoll(mg_table_cell(services, row, "age_ms"), NULL, 10) <= MG_SERVICE_REPORT_VALID_MS;
}

static bool is_serving(const struct mg_table *services, int row)
{
    return strcmp(mg_table_cell(services, row, "breaker"), "closed") == 0 &&
           strcmp(mg_table_cell(services, row, "is_ready"), "t") == 0;
}

/* One agent that ends or has an open breaker does no harm while another agent of its service works. */
static bool is_served(const struct mg_table *services, const char *name)
{
    for (int row = 0; row < services->row_count; row++) {
        if (strcmp(mg_table_cell(services, row, "service"), name) == 0 && is_reporting(services, row) &&
            is_serving(services, row)) {
            return true;
        }
    }
    return false;
}

/* Reports each live agent with its breaker. */
static void agents_check(struct doctor *doctor, const struct mg_table *services)
{
    for (int row = 0; row < services->row_count; row++) {
        const char *name = mg_table_cell(services, row, "service");
        const char *breaker = mg_table_cell(services, row, "breaker");
        char detail[400];
        if (!is_reporting(services, row)) {
            continue; /* the row of an agent that has ended */
        }
        bool is_good = is_serving(services, row);
        (void)snprintf(detail, sizeof(detail), "%s at %s: breaker %s, %s in flight%s%s", name,
                       mg_table_cell(services, row, "instance"), breaker,
                       mg_table_cell(services, row, "in_flight"), is_good ? "" : ": ",
                       is_good ? "" : mg_table_cell(services, row, "reason"));
        finding(doctor, is_served(services, name), "agent", detail);
    }
}

static bool table_has(const struct mg_table *table, const char *service)
{
    for (int row = 0; row < table->row_count; row++) {
        if (strcmp(mg_table_cell(table, row, "service"), service) == 0) {
            return true;
        }
    }
    return false;
}

/* Reports since when no call of a service is answered, and its last failure. While a breaker lets calls
 * through, that is no fault yet. */
static void failing_check(struct doctor *doctor, const struct mg_table *controlled, int row,
                          const char *state)
{
    const char *since = mg_table_cell(controlled, row, "since"),
               *probe = mg_table_cell(controlled, row, "probe_at");
    char detail[1024];
    if (since[0] == '\0' || mg_table_cell(controlled, row, "error_code")[0] == '\0') {
        return;
    }
    (void)snprintf(
        detail, sizeof(detail), "%s answers no call since %s; last: %s, %s, at %s; %s steps wait%s%s",
        mg_table_cell(controlled, row, "service"), since, mg_table_cell(controlled, row, "error_code"),
        mg_table_cell(controlled, row, "error_text"), mg_table_cell(controlled, row, "error_at"),
        mg_table_cell(controlled, row, "waiting"), probe[0] != '\0' ? "; next probe at " : "", probe);
    finding(doctor, mg_service_state_is_well(state), "service", detail);
}

/* Reports faults that no agent can report: a service of a workflow without a queue or without a consumer.
 * It also lists a pause, which is no fault but may have been forgotten. */
static void service_check(struct doctor *doctor, const struct mg_table *controlled, int row, bool is_kept)
{
    const char *name = mg_table_cell(controlled, row, "service");
    const struct mg_service_queues *queues = mg_service_list_find(&doctor->services, name);
    const char *state = mg_service_state_find(controlled, row, queues);
    if (is_kept && (state[0] == '\0' || strcmp(state, MG_SERVICE_NOT_USED) == 0)) {
        state = mg_service_state_of_queues(queues); /* of an older version: not in the report */
    }
    char queue[MG_QUEUE_NAME_SIZE], remedy[MG_SERVICE_REMEDY_SIZE], detail[768];
    if (mg_service_slow_write(controlled, row, detail)) {
        finding(doctor, true, "service", detail); /* its orders move */
    }
    mg_topology_request_queue(name, false, queue);
    mg_service_remedy(name, state, remedy);
    bool has_agent = strtoll(mg_table_cell(controlled, row, "agents"), NULL, 10) > 0;
    if (strcmp(state, MG_SERVICE_NO_QUEUE) == 0) {
        (void)snprintf(detail, sizeof(detail), "%s has %sno queue %s; run: %s%s", name,
                       has_agent ? "" : "no agent and ", queue, remedy,
                       has_agent ? "" : "; then start an agent: makegood-agent --service FILE");
        finding(doctor, false, "service", detail);
    } else if (strcmp(state, MG_SERVICE_NO_AGENT) == 0) {
        (void)snprintf(detail, sizeof(detail), "%s has no agent at queue %s; start one: %s", name, queue,
                       remedy);
        finding(doctor, false, "service", detail);
    } else if (strcmp(state, MG_SERVICE_DEAF) == 0) {
        (void)snprintf(detail, sizeof(detail),
                       "%s has agents that report, and none consumes from queue %s; end them and start them "
                       "again, if this lasts",
                       name, queue);
        finding(doctor, false, "service", detail);
    } else if (strcmp(state, MG_SERVICE_PAUSED) == 0) {
        (void)snprintf(detail, sizeof(detail), "%s is paused by %s since %s: %.300s; %s steps wait", name,
                       mg_table_cell(controlled, row, "by_whom"), mg_table_cell(controlled, row, "since"),
                       mg_table_cell(controlled, row, "reason"), mg_table_cell(controlled, row, "waiting"));
        finding(doctor, true, "service", detail);
    } else if (mg_table_cell(controlled, row, "since")[0] != '\0') {
        failing_check(doctor, controlled, row, state);
    } else if (queues != NULL && !has_agent && strcmp(state, MG_SERVICE_SERVING) == 0) {
        (void)snprintf(detail, sizeof(detail), "%s has %lld consumers at queue %s, which report nothing",
                       name, (long long)queues->consumers, queue);
        finding(doctor, true, "service", detail);
    }
}

static void services_check(struct doctor *doctor, struct service_tables *tables)
{
    struct mg_err err;
    char why[MG_CLI_WHY_SIZE];
    const struct mg_table *controlled = &tables->needs.controlled, *kept = &tables->needs.kept;
    if (!report_read(doctor, "services", MG_REPORT_SERVICES, NULL, 0, &tables->agents)) {
        return;
    }
    if (mg_service_list_add_needs(doctor->cli, &doctor->services, &tables->needs, why) != MG_EXIT_DONE) {
        finding(doctor, false, "services", why);
        return;
    }
    mg_service_list_add_rows(&doctor->services, controlled);
    if (mg_service_list_look(doctor->cli, &doctor->services, &err) != MG_OK) {
        doctor->services.is_seen = false; /* broker_check reports the reason */
    }
    agents_check(doctor, &tables->agents);
    for (int row = 0; row < controlled->row_count; row++) {
        const char *name = mg_table_cell(controlled, row, "service");
        service_check(doctor, controlled, row, table_has(kept, name));
    }
    for (int row = 0; row < kept->row_count; row++) {
        if (!table_has(controlled, mg_table_cell(kept, row, "service"))) {
            service_check(doctor, kept, row, true);
        }
    }
}

static bool is_some(const struct mg_table *table, const char *column)
{
    return strcmp(mg_table_cell(table, 0, column), "0") != 0;
}

/* A pause is no fault, but may have been forgotten. */
static void schedules_check(struct doctor *doctor, const struct mg_table *health)
{
    char detail[512];
    const char *schedules = mg_table_cell(health, 0, "schedules");
    bool is_good = true;
    (void)snprintf(detail, sizeof(detail), "%s, none late, none missed", schedules);
    if (is_some(health, "unloaded")) {
        is_good = false;
        (void)snprintf(detail, sizeof(detail),
                       "%s of %s have no workflow, the first is %s: makegood workflow load the file of %s",
                       mg_table_cell(health, 0, "unloaded"), schedules,
                       mg_table_cell(health, 0, "unloaded_name"),
                       mg_table_cell(health, 0, "unloaded_workflow"));
    } else if (is_some(health, "late")) {
        is_good = false;
        (void)snprintf(
            detail, sizeof(detail),
            "%s of %s are more than a minute late, the first is %s: no scheduler takes its command, "
            "or none can read it",
            mg_table_cell(health, 0, "late"), schedules, mg_table_cell(health, 0, "late_name"));
    } else if (is_some(health, "missed")) {
        is_good = false;
        (void)snprintf(detail, sizeof(detail),
                       "%s of %s made no order for a slot, the first is %s; see makegood schedule show %s",
                       mg_table_cell(health, 0, "missed"), schedules, mg_table_cell(health, 0, "missed_name"),
                       mg_table_cell(health, 0, "missed_name"));
    } else if (is_some(health, "paused")) {
        (void)snprintf(detail, sizeof(detail), "%s of %s are paused, the first is %s",
                       mg_table_cell(health, 0, "paused"), schedules,
                       mg_table_cell(health, 0, "paused_name"));
    }
    if (is_some(health, "schedules")) {
        finding(doctor, is_good, "schedules", detail);
    }
}

/* The secret and the address are options of other processes: only a gateway that is not there is seen. */
static void callbacks_check(struct doctor *doctor, const struct mg_table *health)
{
    struct mg_table processes = {0};
    char detail[512];
    const char *workflow = mg_table_cell(health, 0, "callback_workflow");
    if (workflow[0] == '\0' || !report_read(doctor, "callbacks", MG_REPORT_PROCESSES, NULL, 0, &processes)) {
        return;
    }
    bool is_served = mg_processes_seen(&processes, "gateway") > 0;
    (void)snprintf(detail, sizeof(detail),
                   is_served
                       ? "workflow %s uses ${/callback_url}: each scheduler needs --callback-url and "
                         "--callback-secret-file, each gateway the same secret"
                       : "workflow %s uses ${/callback_url}, and no gateway takes callbacks: start makegood "
                         "gateway with --callback-secret-file",
                   workflow);
    finding(doctor, is_served, "callbacks", detail);
    mg_table_free(&processes);
}

/* Orders that begin by the clock, and steps that end by a message from outside. */
static void outside_check(struct doctor *doctor)
{
    struct mg_table health = {0};
    if (report_read(doctor, "schedules", MG_REPORT_SCHEDULE_HEALTH, NULL, 0, &health)) {
        schedules_check(doctor, &health);
        callbacks_check(doctor, &health);
    }
    mg_table_free(&health);
}

/* Open bulk actions stall if no process drives them. */
static void bulk_check(struct doctor *doctor)
{
    struct mg_table runner = {0};
    char detail[256];
    if (report_read(doctor, "bulk actions", MG_REPORT_BULK_RUNNER, NULL, 0, &runner) &&
        strcmp(mg_table_cell(&runner, 0, "open_bulk"), "0") != 0) {
        bool is_driven = mg_bulk_is_driven(&runner);
        (void)snprintf(detail, sizeof(detail), "%s open, %s%s", mg_table_cell(&runner, 0, "open_bulk"),
                       is_driven ? "driven by "
                                 : "and no process drives them; start makegood console, or makegood bulk run",
                       is_driven ? mg_table_cell(&runner, 0, "holder") : "");
        finding(doctor, is_driven, "bulk actions", detail);
    }
    mg_table_free(&runner);
}

static void line_drop(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

/* A missing queue has already been reported with its service. Services of `--service` are compared in any
 * case. */
static bool is_to_compare(struct doctor *doctor, int index)
{
    const struct mg_list *asked = &doctor->cli->options.services;
    const struct mg_service_queues *queues =
        mg_service_list_find(&doctor->services, doctor->services.names[index]);
    return index < asked->count || queues == NULL || queues->consumers >= 0;
}

/* False: the broker cannot be asked. */
static bool broker_check(struct doctor *doctor)
{
    struct mg_err err;
    bool is_compared;
    const char *names[MG_SERVICES_MAX];
    struct mg_topology_names topology = {.services = names};
    for (int i = 0; i < doctor->services.count; i++) {
        if (is_to_compare(doctor, i)) {
            names[topology.service_count++] = doctor->services.names[i];
        }
    }
    enum mg_class class =
        mg_topology_check(&doctor->cli->options.broker, &topology, line_drop, NULL, &is_compared, &err);
    finding(doctor, class == MG_OK, "broker",
            class != MG_OK ? err.text
            : is_compared  ? "exchanges and queues are as they should be"
                           : "no exchange or queue that this user may look at is missing; it may not compare "
                             "their arguments");
    return class == MG_OK || class == MG_PERMANENT;
}

static void policy_found(void *arg, const char *line)
{
    finding(arg, false, "policy", line);
}

static void on_tried(void *arg, enum mg_publish_outcome outcome)
{
    (void)outcome;
    *(bool *)arg = true;
}

/* The broker reports an alarm only to publishers. So a message is published that no queue gets. */
static void alarm_check(struct doctor *doctor)
{
    struct mg_cli *cli = doctor->cli;
    const struct mg_broker_options nothing_else = {.name = NULL};
    const struct mg_message message = {
        .exchange = MG_EXCHANGE_COMMANDS, .routing_key = "makegood.probe", .type = "probe"};
    struct mg_err err;
    bool is_answered = false;
    if (mg_cli_open_broker(cli, &nothing_else) != MG_EXIT_DONE) {
        finding(doctor, false, "broker", "whether it blocks publishers is not known: it cannot be reached");
        return;
    }
    if (mg_broker_publish(cli->broker, &message, on_tried, &is_answered, &err) == MG_OK) {
        (void)mg_cli_wait(cli, &is_answered, ALARM_WAIT_MS);
    }
    if (mg_broker_is_blocked(cli->broker)) {
        finding(
            doctor, false, "broker",
            "it blocks publishers (memory or disk alarm), so no order moves: rabbitmqctl status names the "
            "alarm; free memory or disk there");
    }
    mg_broker_destroy(cli->broker); /* its callback writes to this function's memory */
    cli->broker = NULL;
}

static void binding_found(void *arg, const char *line)
{
    finding(arg, false, "binding", line);
}

static void bindings_check(struct doctor *doctor)
{
    struct mg_err err;
    const struct mg_broker_address *broker = &doctor->cli->options.broker;
    if (!mg_broker_has_api(broker)) {
        finding(doctor, true, "binding",
                "not read without --amqp-api; makegood broker apply makes a lost one anew");
        return;
    }
    enum mg_class class = mg_broker_bindings_check(broker, binding_found, doctor, &err);
    if (class != MG_PERMANENT) { /* else each has been reported */
        finding(doctor, class == MG_OK, "binding",
                class == MG_OK ? "each exchange is bound as it should be" : err.text);
    }
}

static void policies_check(struct doctor *doctor)
{
    struct mg_err err;
    const struct mg_broker_address *broker = &doctor->cli->options.broker;
    if (!mg_broker_has_api(broker)) {
        finding(doctor, true, "policy", "not read without --amqp-api: another team's may lose messages");
        return;
    }
    enum mg_class class = mg_broker_policies_check(broker, policy_found, doctor, &err);
    if (class != MG_PERMANENT) { /* else each has been reported */
        finding(doctor, class == MG_OK, "policy",
                class == MG_OK ? "none loses or changes messages of our queues" : err.text);
    }
}

static enum mg_exit_code verb_doctor(struct mg_cli *cli)
{
    struct doctor doctor = {.cli = cli};
    struct service_tables tables = {0};
    char why[MG_CLI_WHY_SIZE];
    for (int i = 0; i < cli->options.services.count; i++) {
        mg_service_list_add(&doctor.services, cli->options.services.items[i]);
    }
    if (mg_cli_try_store(cli, false, why) == MG_EXIT_DONE) {
        settings_check(&doctor);
        collation_check(&doctor);
        leader_check(&doctor);
        processes_check(&doctor);
        orders_check(&doctor);
        waiting_check(&doctor);
        statuses_check(&doctor);
        alerts_check(&doctor);
        services_check(&doctor, &tables);
        bulk_check(&doctor);
        outside_check(&doctor);
    } else {
        finding(&doctor, false, "database", why);
    }
    if (broker_check(&doctor)) {
        alarm_check(&doctor);
    }
    bindings_check(&doctor);
    policies_check(&doctor);
    mg_table_free(&tables.agents);
    mg_service_needs_free(&tables.needs);
    if (!cli->is_json) {
        mg_print(stdout, "%d of %d checks good\n", doctor.checked - doctor.wrong, doctor.checked);
    }
    return doctor.wrong == 0 ? MG_EXIT_DONE : MG_EXIT_ERROR;
}

const struct mg_verb MG_DOCTOR_VERBS[] = {
    {"doctor", NULL, "", 0, 0, MG_EXTRA_SERVICE, MG_PRINTS_LIST, verb_doctor,
     "checks everything that orders need: database, broker, supervisor, services, agents", 0},
    {0}};
