/* The database behind the console: see servers.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "console/console_parts.h"
#include "core/key.h"
#include "io/pg/dsn.h"
#include "io/pg/libpq.h"
#include "io/store/schedules.h"
#include "operator/option_words.h"
#include "owed.h"
#include "servers.h"

static const struct mg_err AWAY = {.class = MG_TRANSIENT, .text = "the database is <b>away</b> \"\\\x01"};

/* ---- rows ---- */

static const char *const NUMBERS[] = {"alert_id", "n", "looked_at", "now_ms", "version", "attempt", NULL};
static const char *const JSONS[] = {"dossier", "filter", NULL};
const char *const SERVERS_TEXTS[] = {"order_id", "workflow",    "step",    "service",  "state",
                                     "reason",   "kind",        "due_at",  "instance", "error_text",
                                     "breaker",  "by_whom",     "payload", "wake_at",  "oldest",
                                     "text",     "archived_on", "is_full", "username", NULL};

char *servers_cell(int row, const char *column)
{
    int lines = 1, number = row;
    for (const char *at = servers.texts; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    for (int i = 0; strcmp(SERVERS_TEXTS[i], column) != 0; i++) {
        number++;
    }
    const char *line = servers.texts;
    for (number %= lines; number > 0; number--) {
        line = strchr(line, '\n') + 1;
    }
    char *cell = strndup(line, strcspn(line, "\n"));
    FUZZ_REQUIRE(cell != NULL);
    return cell;
}

static char *json_make(const char *text)
{
    json_t *json =
        json_pack("{s:s, s:[], s:{s:{s:s}}}", "text", text, "orders", "workflow", "definition", "text", text);
    char *written = json_dumps(json, JSON_INDENT(1));
    FUZZ_REQUIRE(written != NULL);
    json_decref(json);
    return written;
}

static void cell_set(PGresult *result, int row, int column, const char *text)
{
    char copy[1024];
    size_t len = strlen(text);
    char *value = len < sizeof(copy) ? copy : malloc(len + 1); /* libpq requires a writable value */
    FUZZ_REQUIRE(value != NULL);
    memcpy(value, text, len + 1);
    FUZZ_REQUIRE(PQsetvalue(result, row, column, value, (int)len) != 0);
    if (value != copy) {
        free(value);
    }
}

static int columns_set(PGresult *result)
{
    const char *const *const lists[] = {SERVERS_TEXTS, NUMBERS, JSONS};
    PGresAttDesc columns[64];
    int count = 0;
    memset(columns, 0, sizeof(columns));
    for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++) {
        for (int i = 0; lists[list][i] != NULL; i++) {
            columns[count++].name = strdup(lists[list][i]);
        }
    }
    FUZZ_REQUIRE(PQsetResultAttrs(result, count, columns) != 0);
    for (int i = 0; i < count; i++) {
        free(columns[i].name);
    }
    return count;
}

/* Reports that have one row in any database have one row here. */
static int row_count_of(enum mg_report report)
{
    return report == MG_REPORT_PAGE_OPEN || report == MG_REPORT_PAGE_PARKED || report == MG_REPORT_ORDERS ||
                   report == MG_REPORT_PAGE_DUE || report == MG_REPORT_CLIENT_ORDERS ||
                   report == MG_REPORT_SETTINGS || report == MG_REPORT_FAILURES_LOOKED_AT ||
                   report == MG_REPORT_BULK_CHOICE || report == MG_REPORT_ORDER_SINCE
               ? 1
               : servers.row_count;
}

static PGresult *rows_make(enum mg_report report)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    FUZZ_REQUIRE(result != NULL);
    int count = columns_set(result);
    for (int row = 0; row < row_count_of(report); row++) {
        for (int column = 0; column < count; column++) {
            const char *name = PQfname(result, column);
            if (mg_text_is_listed(NUMBERS, name)) {
                cell_set(result, row, column, "7");
                continue;
            }
            bool is_json = mg_text_is_listed(JSONS, name);
            char *text = servers_cell(row, is_json ? "text" : name);
            char *json = is_json ? json_make(text) : NULL;
            cell_set(result, row, column, is_json ? json : text);
            free(json);
            free(text);
        }
    }
    return result;
}

/* ---- reading ---- */

static bool is_integer(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits > 0 && digits < 19;
}

static bool is_moment(const char *text)
{
    return text[0] == '\0' || is_integer(text + (text[0] == '-'));
}

static bool is_decimal(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    size_t point = text[digits] == '.', more = point > 0 ? strspn(text + digits + 1, "0123456789") : 0;
    return digits + more > 0 && text[digits + point + more] == '\0';
}

static bool is_text(const char *text)
{
    for (size_t left = strlen(text), len = 0; left > 0; text += len, left -= len) {
        len = mg_utf8_len(text, left);
        if (len == 0) {
            return false;
        }
    }
    return true;
}

/* The cast of each parameter: a text, a moment, an integer, an integer or "", or "" or the text before a
 * slash. */
static const char *casts_of(enum mg_report report)
{
    switch ((int)report) { /* those of the console */
    case MG_REPORT_PAGE_OPEN:
        return "ttmmti";
    case MG_REPORT_PAGE_DUE:
        return "ii";
    case MG_REPORT_PAGE_PARKED:
        return "tti";
    case MG_REPORT_ORDERS:
    case MG_REPORT_CLIENT_ORDERS:
        return "ttmm/ilt";
    case MG_REPORT_FAILURES:
        return "ttttmmoil";
    case MG_REPORT_FAILURE_GROUPS:
        return "ttttmmil";
    case MG_REPORT_FAILURES_LOOKED_AT:
        return "mmo";
    case MG_REPORT_ALERTS:
        return "ti";
    case MG_REPORT_ALERT_CAUSES:
        return "i";
    case MG_REPORT_ACTIONS:
        return "mmttoi";
    case MG_REPORT_BULK_LIST:
        return "i";
    case MG_REPORT_FIND:
        return "ti";
    case MG_REPORT_BULK_CHOICE:
        return "ttttmml";
    case MG_REPORT_BULK_ORDERS:
        return "ttoi";
    case MG_REPORT_AWAITING:
        return "ttttii";
    case MG_REPORT_LINE:
        return "tti";
    case MG_REPORT_CALLS:
        return "tt";
    case MG_REPORT_SCHEDULE_RUNS:
        return "ti";
    case MG_REPORT_FIGURES:
    case MG_REPORT_SERVICE_MINUTES:
    case MG_REPORT_WORKFLOW:
    case MG_REPORT_SCHEDULE:
    case MG_REPORT_BULK:
    case MG_REPORT_VERSIONS:
    case MG_REPORT_ORDER:
    case MG_REPORT_ORDER_STEPS:
    case MG_REPORT_ORDER_SINCE:
    case MG_REPORT_DOSSIER:
    case MG_REPORT_ARCHIVED_ORDER:
    case MG_REPORT_ARCHIVED_STEPS:
    case MG_REPORT_ORDER_EVENTS:
    case MG_REPORT_ARCHIVED_EVENTS:
    case MG_REPORT_ARCHIVED_DOSSIER:
        return "t";
    default:
        return "";
    }
}

static bool can_be_cast(const char *param, char cast)
{
    const char *slash = strchr(param, '/');
    char *front = strndup(param, slash != NULL ? (size_t)(slash - param) : 0);
    bool is_good = is_text(param);
    FUZZ_REQUIRE(front != NULL);
    if (cast == 'm') {
        is_good = is_moment(param);
    }
    if (cast == 'i' || (cast == 'o' && param[0] != '\0')) {
        is_good = is_integer(param);
    }
    if (cast == '/' && param[0] != '\0') {
        is_good = is_integer(front);
    }
    free(front);
    return is_good;
}

static void report_answer(struct owed *owed)
{
    mg_store_rows_fn *done = (mg_store_rows_fn *)owed->fn;
    if (servers.is_refusal) {
        done(owed->arg, NULL, &AWAY);
        return;
    }
    struct mg_rows rows = {rows_make(owed->report)};
    done(owed->arg, &rows, NULL);
    PQclear(rows.result);
}

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params,
                     int param_count, mg_store_rows_fn *done, void *arg)
{
    const char *casts = casts_of(report);
    (void)store;
    FUZZ_REQUIRE(param_count == (int)strlen(casts));
    for (int i = 0; i < param_count; i++) {
        FUZZ_REQUIRE(can_be_cast(params[i], casts[i]));
    }
    servers_owe(report_answer, (void (*)(void))done, arg)->report = report;
}

enum mg_class mg_dsn_check(const char *dsn, bool is_plaintext_allowed, struct mg_err *err)
{
    (void)dsn, (void)is_plaintext_allowed, (void)err;
    return MG_OK;
}

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store, struct mg_err *err)
{
    (void)loop, (void)options, (void)err;
    *ret_store = (struct mg_store *)&servers;
    return MG_OK;
}

void mg_store_destroy(struct mg_store *store)
{
    (void)store;
}

enum mg_class mg_store_set_dsn(struct mg_store *store, const char *dsn, struct mg_err *err)
{
    (void)store, (void)dsn, (void)err;
    return MG_OK;
}

bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store;
    (void)snprintf(ret_reason, size, "%s", servers.is_refusal ? AWAY.text : "");
    return !servers.is_refusal;
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    return mg_store_is_ready(store, ret_reason, size);
}

const char *mg_store_standby(const struct mg_store *store)
{
    (void)store;
    return "";
}

void mg_store_beat(struct mg_store *store, const struct mg_beat *beat, mg_store_done_fn *done, void *arg)
{
    (void)store;
    (void)beat;
    done(arg, NULL);
}

void mg_store_probe(struct mg_store *store)
{
    (void)store;
}

bool mg_store_is_well(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store, (void)ret_reason, (void)size;
    return true;
}

int64_t mg_store_reads_fail_ms(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store, (void)ret_reason, (void)size;
    return 0;
}

/* ---- changing ---- */

/* A request makes at most one change, by its authorized person and with a reason. */
static void change_begins(const char *by, const char *reason)
{
    FUZZ_REQUIRE(servers.may_change && strcmp(by, servers.who) == 0);
    FUZZ_REQUIRE(strlen(reason) >= 3 && strlen(reason) <= MG_COMMAND_REASON_MAX && is_text(reason));
    servers.may_change = false;
    servers.changes++;
}

static void note_answer(struct owed *owed)
{
    if (!servers.is_refusal) {
        servers_note();
    }
    ((mg_store_done_fn *)owed->fn)(owed->arg, servers.is_refusal ? &AWAY : NULL);
}

void mg_store_note_action(struct mg_store *store, const struct mg_operator_action *action,
                          mg_store_done_fn *done, void *arg)
{
    json_t *detail = json_loadb(action->detail.data, action->detail.len, JSON_REJECT_DUPLICATES, NULL);
    (void)store;
    FUZZ_REQUIRE(detail != NULL && action->subject[0] != '\0' && is_text(action->subject));
    FUZZ_REQUIRE(is_text(action->verb));
    json_decref(detail);
    change_begins(action->by, action->reason);
    servers_owe(note_answer, (void (*)(void))done, arg);
}

static enum mg_change_result result_of_change(void)
{
    return (enum mg_change_result)(servers.variant % 3);
}

static void change_answer(struct owed *owed)
{
    ((mg_store_setting_fn *)owed->fn)(owed->arg, result_of_change(), 8, servers.is_refusal ? &AWAY : NULL);
}

void mg_store_put_setting(struct mg_store *store, const struct mg_service_setting *setting,
                          mg_store_setting_fn *done, void *arg)
{
    (void)store;
    FUZZ_REQUIRE(mg_name_is_valid(setting->service, strlen(setting->service)) && setting->pause_ms >= 0);
    FUZZ_REQUIRE(setting->concurrency == NULL || is_integer(setting->concurrency));
    FUZZ_REQUIRE(setting->rate_per_s == NULL || is_decimal(setting->rate_per_s));
    change_begins(setting->by, setting->reason);
    servers_owe(change_answer, (void (*)(void))done, arg);
}

/* ---- schedules ---- */

static void schedule_answer(struct owed *owed)
{
    const struct mg_slot_row row = {
        .is_found = servers.variant % 3 != 0,
        .definition = mg_slice_of("{\"schedule\":\"s\",\"workflow\":\"w\",\"every\":\"15m\"}"),
        .version = 7,
        .now_ms = 1750000000000};
    ((mg_store_slot_fn *)owed->fn)(owed->arg, servers.is_refusal ? NULL : &row,
                                   servers.is_refusal ? &AWAY : NULL);
}

void mg_store_load_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, mg_store_slot_fn *done,
                        void *arg)
{
    (void)store, (void)slot_ms;
    FUZZ_REQUIRE(mg_name_is_valid(schedule, strlen(schedule)));
    servers_owe(schedule_answer, (void (*)(void))done, arg);
}

static void workflow_answer(struct owed *owed)
{
    static const char DEFINITION[] =
        "{\"workflow\":\"w\",\"version\":7,\"complete_within\":\"1h\",\"steps\":[{\"step\":\"a\",\"service\":\"shop\","
        "\"complete_within\":\"1s\",\"do\":{\"path\":\"/a/${/payload/id}\"},\"undo\":\"none\"}]}";
    ((mg_store_workflow_fn *)owed->fn)(owed->arg, !servers.is_refusal && servers.variant % 3 != 0, 7,
                                       mg_slice_of(DEFINITION), servers.is_refusal ? &AWAY : NULL);
}

void mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                           mg_store_workflow_fn *done, void *arg)
{
    (void)store, (void)version;
    FUZZ_REQUIRE(mg_name_is_valid(name, strlen(name)));
    servers_owe(workflow_answer, (void (*)(void))done, arg);
}

static void zone_answer(struct owed *owed)
{
    ((mg_store_zone_fn *)owed->fn)(owed->arg, true, 1750000000000, 1750000000000,
                                   servers.is_refusal ? &AWAY : NULL);
}

void mg_store_look_zone(struct mg_store *store, const char *zone, int64_t at_ms, mg_store_zone_fn *done,
                        void *arg)
{
    (void)store, (void)zone, (void)at_ms;
    servers_owe(zone_answer, (void (*)(void))done, arg);
}

static void slots_answer(struct owed *owed)
{
    ((mg_store_slots_fn *)owed->fn)(owed->arg, NULL, 0, servers.is_refusal ? &AWAY : NULL);
}

void mg_store_find_slots(struct mg_store *store, const char *zone, const int64_t *minutes, int count,
                         int64_t after_ms, mg_store_slots_fn *done, void *arg)
{
    (void)store, (void)zone, (void)minutes, (void)count, (void)after_ms;
    servers_owe(slots_answer, (void (*)(void))done, arg);
}

void mg_store_change_schedule(struct mg_store *store, const struct mg_schedule_change *wanted,
                              mg_store_setting_fn *done, void *arg)
{
    (void)store;
    FUZZ_REQUIRE(mg_name_is_valid(wanted->schedule, strlen(wanted->schedule)) && wanted->version > 0);
    change_begins(wanted->by, wanted->reason);
    servers_owe(change_answer, (void (*)(void))done, arg);
}

static void ack_answer(struct owed *owed)
{
    ((mg_store_acked_fn *)owed->fn)(owed->arg, servers.variant % 3, servers.is_refusal ? &AWAY : NULL);
}

void mg_store_ack_alert(struct mg_store *store, const struct mg_alert_ack *ack, mg_store_acked_fn *done,
                        void *arg)
{
    (void)store;
    FUZZ_REQUIRE(ack->alert_id >= 0 && is_text(ack->by) && is_text(ack->reason));
    change_begins(ack->by, ack->reason);
    servers_owe(ack_answer, (void (*)(void))done, arg);
}

static void start_answer(struct owed *owed)
{
    static const struct mg_bulk_started answers[] = {
        {.bulk_id = "0192d3c4-0000-7000-8000-000000000000", .is_new = true, .orders = 7},
        {.bulk_id = "0192d3c4-0000-7000-8000-000000000000", .state = MG_BULK_RUNNING, .orders = 7},
        {.open_bulk = MG_BULK_OPEN_MAX},
        {.orders = 1000}};
    ((mg_store_bulk_started_fn *)owed->fn)(owed->arg, &answers[servers.variant % 4],
                                           servers.is_refusal ? &AWAY : NULL);
}

void mg_store_start_bulk(struct mg_store *store, const struct mg_bulk_start *start,
                         mg_store_bulk_started_fn *done, void *arg)
{
    (void)store;
    FUZZ_REQUIRE(mg_uuid_is_valid(start->bulk_id) && mg_bulk_filter_is_narrow(&start->filter));
    FUZZ_REQUIRE(start->verb == MG_CAUSE_RESUME || start->verb == MG_CAUSE_COMPENSATE ||
                 start->verb == MG_CAUSE_CANCEL);
    FUZZ_REQUIRE(start->canary >= 0 && start->stop_percent >= 0 && start->stop_percent <= 100);
    FUZZ_REQUIRE(is_decimal(start->rate_per_s) && start->orders_max > 0);
    FUZZ_REQUIRE(is_moment(start->filter.since) && is_moment(start->filter.until));
    FUZZ_REQUIRE(is_text(start->filter.error) && is_text(start->filter.workflow));
    change_begins(start->by, start->reason);
    servers_owe(start_answer, (void (*)(void))done, arg);
}

const char *mg_bulk_wish_name(enum mg_bulk_wish wish)
{
    static const char *const names[] = {"pause", "resume", "stop"};
    return names[wish];
}

void mg_store_change_bulk(struct mg_store *store, const struct mg_bulk_change *change,
                          mg_store_bulk_changed_fn *done, void *arg)
{
    (void)store;
    FUZZ_REQUIRE(mg_uuid_is_valid(change->bulk_id));
    change_begins(change->by, change->reason);
    servers_owe(change_answer, (void (*)(void))done, arg);
}
