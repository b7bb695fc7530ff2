/* Judges the rows that `top` read: the faults, and the cells of the lists. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "io/amqp/topology.h"
#include "operator/service_state.h"
#include "processes.h"
#include "top.h"

static int64_t number_at(const struct mg_table *table, int row, const char *column)
{
    return strtoll(mg_table_cell(table, row, column), NULL, 10);
}

static bool cell_is(const struct mg_table *table, int row, const char *column, const char *text)
{
    return strcmp(mg_table_cell(table, row, column), text) == 0;
}

void mg_top_write_age(int64_t ms, char *ret_text, size_t size)
{
    long long s = ms > 0 ? (long long)ms / 1000 : 0;
    if (s < 60) {
        (void)snprintf(ret_text, size, "%llds", s);
    } else if (s < 3600) {
        (void)snprintf(ret_text, size, "%lldm%02llds", s / 60, s % 60);
    } else if (s < 86400) {
        (void)snprintf(ret_text, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
    } else {
        (void)snprintf(ret_text, size, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    }
}

/* ---- figures ---- */

/* The sum of a figure's rows with this word ("": all rows), and the age of the oldest. */
static int64_t figure_sum(const struct mg_top_view *view, const char *figure, const char *word,
                          int64_t *ret_oldest_ms)
{
    int64_t sum = 0;
    *ret_oldest_ms = 0;
    for (int row = 0; row < view->figures.row_count; row++) {
        if (cell_is(&view->figures, row, "figure", figure) &&
            (word[0] == '\0' || cell_is(&view->figures, row, "word", word))) {
            int64_t oldest_ms = number_at(&view->figures, row, "oldest_ms");
            sum += number_at(&view->figures, row, "number");
            *ret_oldest_ms = oldest_ms > *ret_oldest_ms ? oldest_ms : *ret_oldest_ms;
        }
    }
    return sum;
}

int64_t mg_top_open_in(const struct mg_top_view *view, const char *state, int64_t *ret_oldest_ms)
{
    return figure_sum(view, "orders", state, ret_oldest_ms);
}

int64_t mg_top_open(const struct mg_top_view *view)
{
    int64_t unused_ms;
    return figure_sum(view, "orders", "", &unused_ms);
}

/* More than there are kinds of alerts; further kinds are not listed. */
#define ALERT_KINDS_MAX 64

/* The rows of open alerts, sorted by kind. The report has no order, and a list must not change its order
 * on the screen. Returns their number. */
static int alert_rows(const struct mg_top_view *view, int ret_rows[ALERT_KINDS_MAX])
{
    int count = 0;
    for (int row = 0; row < view->figures.row_count && count < ALERT_KINDS_MAX; row++) {
        if (!cell_is(&view->figures, row, "figure", "alerts")) {
            continue;
        }
        const char *word = mg_table_cell(&view->figures, row, "word");
        int at = count++;
        for (; at > 0 && strcmp(mg_table_cell(&view->figures, ret_rows[at - 1], "word"), word) > 0; at--) {
            ret_rows[at] = ret_rows[at - 1];
        }
        ret_rows[at] = row;
    }
    return count;
}

/* ---- the verdict ---- */

struct reasons {
    char *text;
    size_t size;
    int count;
};

static void MG_PRINTF(2, 3) reason_add(struct reasons *reasons, const char *format, ...)
{
    size_t len = strlen(reasons->text);
    va_list args;
    va_start(args, format);
    if (reasons->count++ > 0) {
        (void)snprintf(reasons->text + len, reasons->size - len, "; ");
        len = strlen(reasons->text);
    }
    (void)vsnprintf(reasons->text + len, reasons->size - len, format, args);
    va_end(args);
}

static void schedules_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    const struct mg_table *schedules = &view->schedules;
    if (number_at(schedules, 0, "late") > 0) {
        reason_add(reasons, "schedule %s is late", mg_table_cell(schedules, 0, "late_name"));
    }
    if (number_at(schedules, 0, "unloaded") > 0) {
        reason_add(reasons, "schedule %s has no workflow", mg_table_cell(schedules, 0, "unloaded_name"));
    }
}

static void leader_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    const char *holder = mg_table_cell(&view->leader, 0, "holder");
    int64_t age_ms = number_at(&view->leader, 0, "age_ms");
    char age[24];
    if (holder[0] == '\0') {
        reason_add(reasons, "no supervisor leads");
    } else if (age_ms > MG_LEADER_AGE_MAX_MS) {
        mg_top_write_age(age_ms, age, sizeof(age));
        reason_add(reasons, "no supervisor leads: %s was last seen %s ago", holder, age);
    }
}

/* The sum of both request queues; false: not both have answered. */
static bool queues_find(const struct mg_top_view *view, const char *service, struct mg_service_queues *ret)
{
    int seen = 0;
    *ret = (struct mg_service_queues){.consumers = INT64_MAX};
    for (int high = 0; high < 2; high++) {
        char name[MG_QUEUE_NAME_SIZE];
        mg_topology_request_queue(service, high == 1, name);
        for (int i = 0; i < view->queue_count; i++) {
            const struct mg_top_queue *queue = &view->queues[i];
            if (strcmp(queue->name, name) == 0) {
                ret->ready += queue->messages;
                ret->consumers = queue->consumers < ret->consumers ? queue->consumers : ret->consumers;
                seen++;
            }
        }
    }
    return seen == 2;
}

const char *mg_top_service_state(const struct mg_top_view *view, int row)
{
    struct mg_service_queues queues;
    bool is_seen = queues_find(view, mg_table_cell(&view->services, row, "service"), &queues);
    return mg_service_state_find(&view->services, row, is_seen ? &queues : NULL);
}

static bool is_service_well(const struct mg_top_view *view, int row)
{
    return mg_service_state_is_well(mg_top_service_state(view, row));
}

static bool is_of_service(const struct mg_top_queue *queue)
{
    return strncmp(queue->name, "agent.", strlen("agent.")) == 0;
}

static void queues_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    for (int i = 0; i < view->queue_count; i++) {
        const struct mg_top_queue *queue = &view->queues[i];
        bool is_of_people =
            strcmp(queue->name, MG_QUEUE_DEAD) == 0 || strcmp(queue->name, MG_QUEUE_REJECTED) == 0;
        if (queue->consumers < 0 && is_of_service(queue)) {
            continue; /* its service's state reports it, if a workflow uses the service */
        }
        if (queue->consumers < 0) {
            reason_add(reasons, "there is no queue %s", queue->name);
        } else if (strcmp(queue->name, MG_QUEUE_INTAKE) == 0 && queue->consumers == 0) {
            reason_add(reasons, "no scheduler takes orders");
        } else if (!is_of_people && queue->consumers == 0 && queue->messages > 0) {
            reason_add(reasons, "no consumer reads %s", queue->name);
        } else if (strcmp(queue->name, MG_QUEUE_DEAD) == 0 && queue->messages > 0) {
            reason_add(reasons, "%lld dead letters", (long long)queue->messages);
        }
    }
}

static void processes_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    const char *hold = mg_processes_hold(&view->processes);
    if (hold[0] != '\0') {
        reason_add(reasons, "%s", hold);
    }
    for (int row = 0; row < view->processes.row_count; row++) {
        bool is_silent = mg_process_is_silent(&view->processes, row);
        if (is_silent || mg_process_stands(&view->processes, row)) {
            reason_add(reasons, "%s %s %s", mg_table_cell(&view->processes, row, "kind"),
                       mg_table_cell(&view->processes, row, "instance"),
                       is_silent ? "is not seen any more" : "does not move");
        } else if (mg_process_lacks(&view->processes, row)) {
            reason_add(reasons, "%s: %s", mg_table_cell(&view->processes, row, "kind"),
                       mg_table_cell(&view->processes, row, "reason"));
        }
    }
}

static void waiting_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    if (view->waiting.row_count > 0) {
        char text[MG_WAITING_TEXT_SIZE];
        mg_waiting_write(&view->waiting, text, sizeof(text));
        reason_add(reasons, "%s", text);
    }
}

static void services_judge(const struct mg_top_view *view, struct reasons *reasons)
{
    for (int row = 0; row < view->services.row_count; row++) {
        const char *code = mg_table_cell(&view->services, row, "error_code");
        bool is_failing = mg_table_cell(&view->services, row, "since")[0] != '\0' && code[0] != '\0';
        char since[32] = "";
        if (is_failing) {
            mg_top_write_age(number_at(&view->services, row, "since_ms"), since, sizeof(since));
        }
        if (!is_service_well(view, row)) {
            reason_add(reasons, "%s: %s%s%s%s%s", mg_table_cell(&view->services, row, "service"),
                       mg_top_service_state(view, row), is_failing ? " for " : "", since,
                       is_failing ? ", " : "", is_failing ? code : "");
        }
    }
}

int mg_top_judge(const struct mg_top_view *view, char *ret_text, size_t size)
{
    struct reasons reasons = {ret_text, size, 0};
    int64_t oldest_ms;
    ret_text[0] = '\0';
    if (view->store_fault[0] != '\0') {
        reason_add(&reasons, "no database: %s", view->store_fault);
    } else if (view->read_fault[0] != '\0') {
        reason_add(&reasons, "%s", view->read_fault);
    } else if (view->read_age_ms > MG_TOP_READ_AGE_MAX_MS) {
        char age[24];
        mg_top_write_age(view->read_age_ms, age, sizeof(age));
        reason_add(&reasons, "the database has not answered for %s", age);
    } else if (view->count_fault[0] != '\0') {
        reason_add(&reasons, "%s", view->count_fault);
    }
    if (view->read_age_ms >= 0) {
        leader_judge(view, &reasons);
        processes_judge(view, &reasons);
        waiting_judge(view, &reasons);
        schedules_judge(view, &reasons);
    }
    if (view->broker_fault[0] != '\0') {
        reason_add(&reasons, "no broker: %s", view->broker_fault);
    }
    queues_judge(view, &reasons);
    services_judge(view, &reasons);
    struct mg_alert_causes causes;
    mg_alert_causes_count(&view->causes, &causes);
    if (causes.unknown > 0) {
        reason_add(&reasons, "%lld alert%s open", (long long)causes.unknown_alerts,
                   causes.unknown_alerts == 1 ? "" : "s");
    }
    int64_t owed = figure_sum(view, "owed", "", &oldest_ms);
    if (owed > 0 && oldest_ms > MG_CLI_OWED_AGE_MAX_MS) {
        reason_add(&reasons, "%lld statuses have not reached their clients", (long long)owed);
    }
    mg_utf8_mend(ret_text); /* the cut may split a character */
    return reasons.count;
}

/* ---- lists ---- */

#define COLUMNS_MAX 10

static const char *const HEADINGS[MG_TOP_LIST_COUNT][COLUMNS_MAX] = {
    [MG_TOP_SERVICES] = {"SERVICE", "STATE", "SINCE", "CALLS/S", "P95", "FAILED", "WAIT", "AGENTS", "CALLS",
                         "WHY"},
    [MG_TOP_FAILURES] = {"FAILED", "SINCE", "WORKFLOW", "STEP", "SERVICE", "ERROR"},
    [MG_TOP_OLDEST] = {"OPEN FOR", "STATE", "WORKFLOW", "ORDER", "REASON"},
    [MG_TOP_ALERTS] = {"ALERTS", "OLDEST", "ALERT"},
    [MG_TOP_QUEUES] = {"QUEUE", "MESSAGES", "READERS"},
};

const char *mg_top_heading(enum mg_top_list list, int column)
{
    return column < COLUMNS_MAX ? HEADINGS[list][column] : NULL;
}

int mg_top_row_count(const struct mg_top_view *view, enum mg_top_list list)
{
    int rows[ALERT_KINDS_MAX];
    switch (list) {
    case MG_TOP_SERVICES:
        return view->services.row_count;
    case MG_TOP_FAILURES:
        return view->failures.row_count;
    case MG_TOP_OLDEST:
        return view->oldest.row_count;
    case MG_TOP_ALERTS:
        return alert_rows(view, rows);
    case MG_TOP_QUEUES:
        return view->queue_count;
    case MG_TOP_LIST_COUNT:
        break;
    }
    return 0;
}

/* "2"; "1 of 2 apply" while an agent has not applied the settings; "2, 1 open" with open breakers. */
static void agents_write(const struct mg_table *services, int row, char *ret_text, size_t size)
{
    long long agents = number_at(services, row, "agents"), obeying = number_at(services, row, "obeying");
    long long open = number_at(services, row, "breakers_open");
    if (obeying < agents) {
        (void)snprintf(ret_text, size, "%lld of %lld apply", obeying, agents);
    } else if (open > 0) {
        (void)snprintf(ret_text, size, "%lld, %lld open", agents, open);
    } else {
        (void)snprintf(ret_text, size, "%lld", agents);
    }
}

/* Shortens "2026-01-31T12:34:56.789Z" to "01-31 12:34Z". */
static void moment_write(const char *iso, char *ret_text, size_t size)
{
    if (strlen(iso) > strlen("2026-01-31T12:34")) {
        (void)snprintf(ret_text, size, "%.5s %.5sZ", iso + 5, iso + 11);
    } else {
        (void)snprintf(ret_text, size, "-");
    }
}

/* The operator settings, and the last failure of a service that fails. */
static void service_why_write(const struct mg_table *services, int row, char *ret_text, size_t size)
{
    const char *by = mg_table_cell(services, row, "by_whom"),
               *code = mg_table_cell(services, row, "error_code");
    const char *concurrency = mg_table_cell(services, row, "concurrency");
    const char *rate = mg_table_cell(services, row, "rate_per_s");
    const char *until = mg_table_cell(services, row, "paused_until");
    struct reasons why = {ret_text, size, 0};
    char moment[24], slow[MG_SERVICE_SLOW_SIZE];
    ret_text[0] = '\0';
    if (mg_table_cell(services, row, "since")[0] != '\0' && code[0] != '\0' &&
        !cell_is(services, row, "state", MG_SERVICE_PAUSED)) {
        reason_add(&why, "%s: %s", code, mg_table_cell(services, row, "error_text"));
    }
    if (mg_service_slow_write(services, row, slow)) {
        reason_add(&why, "%s", slow);
    }
    if (concurrency[0] != '\0') {
        reason_add(&why, "limit %s at once", concurrency);
    }
    if (rate[0] != '\0') {
        reason_add(&why, "limit %s/s", rate);
    }
    if (until[0] != '\0') {
        moment_write(until, moment, sizeof(moment));
        reason_add(&why, "until %s", moment);
    }
    if (by[0] != '\0') {
        reason_add(&why, "%s: %s", by, mg_table_cell(services, row, "reason"));
    }
}

/* "-" for a number that is not known. */
static void number_cell(const struct mg_table *table, int row, const char *column, const char *unit,
                        char *ret_text, size_t size)
{
    const char *number = mg_table_cell(table, row, column);
    (void)snprintf(ret_text, size, "%s%s", number[0] != '\0' ? number : "-", number[0] != '\0' ? unit : "");
}

static void service_cell(const struct mg_top_view *view, int row, int column, char *ret_text, size_t size)
{
    const struct mg_table *services = &view->services;
    switch (column) {
    case 0:
        (void)snprintf(ret_text, size, "%s", mg_table_cell(services, row, "service"));
        break;
    case 1:
        (void)snprintf(ret_text, size, "%s", mg_top_service_state(view, row));
        break;
    case 2:
        (void)snprintf(ret_text, size, "-");
        if (mg_table_cell(services, row, "since_ms")[0] != '\0') {
            mg_top_write_age(number_at(services, row, "since_ms"), ret_text, size);
        }
        break;
    case 3:
        number_cell(services, row, "calls_per_s", "", ret_text, size);
        break;
    case 4:
        number_cell(services, row, "p95_ms", " ms", ret_text, size);
        break;
    case 5:
        number_cell(services, row, "failed_percent", " %", ret_text, size);
        break;
    case 6:
        number_cell(services, row, "waiting", "", ret_text, size);
        break;
    case 7:
        agents_write(services, row, ret_text, size);
        break;
    case 8:
        (void)snprintf(ret_text, size, "%s/%s", mg_table_cell(services, row, "in_flight"),
                       mg_table_cell(services, row, "capacity"));
        break;
    default:
        service_why_write(services, row, ret_text, size);
        break;
    }
}

static void age_cell(const struct mg_table *table, int row, const char *column, char *ret_text, size_t size)
{
    mg_top_write_age(number_at(table, row, column), ret_text, size);
}

static void failure_cell(const struct mg_table *failures, int row, int column, char *ret_text, size_t size)
{
    static const char *const columns[] = {"count", "oldest", "workflow", "step", "service", "error"};
    const char *text = mg_table_cell(failures, row, columns[column]);
    if (column == 1) {
        moment_write(text, ret_text, size);
    } else {
        (void)snprintf(ret_text, size, "%s", text[0] != '\0' ? text : "-");
    }
}

static void oldest_cell(const struct mg_table *oldest, int row, int column, char *ret_text, size_t size)
{
    static const char *const columns[] = {"age_ms", "state", "workflow", "order_id", "reason"};
    if (column == 0) {
        age_cell(oldest, row, columns[column], ret_text, size);
    } else {
        bool is_none = cell_is(oldest, row, columns[column], mg_reason_name(MG_REASON_NONE));
        const char *step = mg_table_cell(oldest, row, "waits_step");
        if (is_none && step[0] != '\0') {
            (void)snprintf(ret_text, size, "%s waits: %s", step, mg_table_cell(oldest, row, "waits_reason"));
        } else {
            (void)snprintf(ret_text, size, "%s", is_none ? "-" : mg_table_cell(oldest, row, columns[column]));
        }
    }
}

static void alert_cell(const struct mg_top_view *view, int index, int column, char *ret_text, size_t size)
{
    int rows[ALERT_KINDS_MAX], count = alert_rows(view, rows);
    if (index >= count) {
        return;
    }
    if (column == 1) {
        age_cell(&view->figures, rows[index], "oldest_ms", ret_text, size);
    } else {
        (void)snprintf(ret_text, size, "%s",
                       mg_table_cell(&view->figures, rows[index], column == 0 ? "number" : "word"));
    }
}

static void queue_cell(const struct mg_top_queue *queue, int column, char *ret_text, size_t size)
{
    if (column == 0) {
        (void)snprintf(ret_text, size, "%s", queue->name);
    } else if (queue->consumers < 0) {
        (void)snprintf(ret_text, size, "%s", column == 1 ? "-" : "missing");
    } else {
        (void)snprintf(ret_text, size, "%lld", (long long)(column == 1 ? queue->messages : queue->consumers));
    }
}

void mg_top_cell(const struct mg_top_view *view, enum mg_top_list list, int row, int column, char *ret_text,
                 size_t size)
{
    ret_text[0] = '\0';
    if (mg_top_heading(list, column) == NULL || row >= mg_top_row_count(view, list)) {
        return;
    }
    switch (list) {
    case MG_TOP_SERVICES:
        service_cell(view, row, column, ret_text, size);
        break;
    case MG_TOP_FAILURES:
        failure_cell(&view->failures, row, column, ret_text, size);
        break;
    case MG_TOP_OLDEST:
        oldest_cell(&view->oldest, row, column, ret_text, size);
        break;
    case MG_TOP_ALERTS:
        alert_cell(view, row, column, ret_text, size);
        break;
    case MG_TOP_QUEUES:
        queue_cell(&view->queues[row], column, ret_text, size);
        break;
    case MG_TOP_LIST_COUNT:
        break;
    }
    mg_utf8_mend(ret_text); /* the cut may split a character */
}

enum mg_top_tone mg_top_row_tone(const struct mg_top_view *view, enum mg_top_list list, int row)
{
    if (list == MG_TOP_SERVICES && row < view->services.row_count) {
        bool is_noted = strcmp(mg_top_service_state(view, row), MG_SERVICE_PAUSED) == 0 ||
                        mg_table_cell(&view->services, row, "slow_since")[0] != '\0';
        return !is_service_well(view, row) ? MG_TOP_BAD : is_noted ? MG_TOP_NOTE : MG_TOP_PLAIN;
    }
    if (list == MG_TOP_QUEUES && row < view->queue_count && view->queues[row].consumers < 0) {
        return MG_TOP_BAD;
    }
    return MG_TOP_PLAIN;
}

void mg_top_hint(const struct mg_top_view *view, enum mg_top_list list, int row, char *ret_text, size_t size)
{
    bool is_row = row < mg_top_row_count(view, list);
    char remedy[MG_SERVICE_REMEDY_SIZE] = "";
    switch (list) {
    case MG_TOP_SERVICES:
        if (is_row) {
            mg_service_remedy(mg_table_cell(&view->services, row, "service"), mg_top_service_state(view, row),
                              remedy);
        }
        if (remedy[0] == '\0' && is_row) {
            (void)snprintf(remedy, sizeof(remedy), "makegood service show %s",
                           mg_table_cell(&view->services, row, "service"));
        }
        (void)snprintf(ret_text, size, "%s", remedy[0] != '\0' ? remedy : "makegood service list");
        break;
    case MG_TOP_FAILURES:
        (void)snprintf(ret_text, size, "makegood order %s %s", is_row ? "explain" : "list",
                       is_row ? mg_table_cell(&view->failures, row, "example") : "--group-by error");
        break;
    case MG_TOP_OLDEST:
        (void)snprintf(ret_text, size, "makegood order %s%s", is_row ? "explain " : "list",
                       is_row ? mg_table_cell(&view->oldest, row, "order_id") : "");
        break;
    case MG_TOP_ALERTS:
        (void)snprintf(ret_text, size, "makegood alert list");
        break;
    case MG_TOP_QUEUES:
        if (is_row && strcmp(view->queues[row].name, MG_QUEUE_DEAD) == 0) {
            (void)snprintf(ret_text, size, "makegood dead list");
        } else if (is_row && strcmp(view->queues[row].name, MG_QUEUE_REJECTED) == 0) {
            (void)snprintf(ret_text, size, "makegood dead list --queue " MG_QUEUE_REJECTED);
        } else {
            (void)snprintf(ret_text, size, "makegood doctor");
        }
        break;
    case MG_TOP_LIST_COUNT:
        break;
    }
}
