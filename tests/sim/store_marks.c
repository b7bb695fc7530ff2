/* The small writes: service reports, workflows, and alerts that do not belong to an order's transition. */
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

/* ---- services ---- */

#define SERVICE_STATE_KEPT_MS (60 * 60 * 1000)

static const char *const STATES[] = {"n",         "service",     "instance", "breaker",         "is_ready",
                                     "in_flight", "concurrency", "reason",   "control_version", "process",
                                     "sequence",  "is_prober",   "calls"};

static struct sim_service *service_find(struct sim_service *services, int count,
                                        const struct sim_service *like)
{
    for (int i = 0; i < count; i++) {
        if (mg_slice_equal(services[i].service, like->service) &&
            mg_slice_equal(services[i].instance, like->instance)) {
            return &services[i];
        }
    }
    return NULL;
}

static void service_put(struct sim_tables *tables, const struct sim_service *state)
{
    struct sim_service *row = service_find(tables->services, tables->service_count, state);
    if (row != NULL && state->process != 0 && row->process == state->process &&
        row->sequence >= state->sequence) {
        return;
    }
    if (row == NULL) {
        tables->services = sim_grow(tables->services, tables->service_count, sizeof(*tables->services));
        row = &tables->services[tables->service_count++];
        *row =
            (struct sim_service){.service = sim_text(state->service), .instance = sim_text(state->instance)};
    }
    row->breaker = sim_text_keep(state->breaker, row->breaker);
    row->reason = sim_text_keep(state->reason, row->reason);
    row->is_ready = state->is_ready;
    row->is_prober = state->is_prober;
    row->in_flight = state->in_flight;
    row->concurrency = state->concurrency;
    row->process = state->process;
    row->sequence = state->sequence;
    row->reported_at_ms = state->reported_at_ms;
}

static bool is_breaker(struct mg_slice word)
{
    return mg_slice_is(word, "closed") || mg_slice_is(word, "open") || mg_slice_is(word, "half_open");
}

static bool is_valid(const struct sim_service *row, int64_t now_ms)
{
    return row->reported_at_ms >= now_ms - SIM_REPORT_VALID_MS &&
           row->reported_at_ms <= now_ms + SIM_REPORT_VALID_MS;
}

/* The reports of one call and their verdicts: all are judged before any is written. */
struct said {
    struct sim_service *states; /* one per instance, the last, in the order of arrival */
    bool *is_newcomer, *is_refused, *is_crowded;
    int count;
};

static void said_add(struct said *said, const struct sim_service *state)
{
    struct sim_service *before = service_find(said->states, said->count, state);
    if (before != NULL) {
        said->count--;
        memmove(before, before + 1, (size_t)(said->states + said->count - before) * sizeof(*before));
    }
    said->states = sim_grow(said->states, said->count, sizeof(*said->states));
    said->states[said->count++] = *state;
}

static void said_judge(struct said *said, int index, const struct sim_tables *tables, int64_t now_ms)
{
    const struct sim_service *state = &said->states[index];
    int kept = 0, valid = 0, newcomers = 0, nth = 0;
    for (int i = 0; i < tables->service_count; i++) {
        bool is_of_it = mg_slice_equal(tables->services[i].service, state->service);
        kept += is_of_it;
        valid += is_of_it && is_valid(&tables->services[i], now_ms);
    }
    for (int i = 0; i < said->count; i++) {
        newcomers += said->is_newcomer[i] && mg_slice_equal(said->states[i].service, state->service);
        nth = i == index ? newcomers : nth;
    }
    said->is_refused[index] = said->is_newcomer[index] && nth + valid > MG_SERVICE_INSTANCES_MAX;
    said->is_crowded[index] = newcomers > 0 && kept + newcomers > MG_SERVICE_INSTANCES_MAX;
}

static void said_judge_all(struct said *said, const struct sim_tables *tables, int64_t now_ms)
{
    for (int i = 0; i < said->count; i++) {
        said->is_newcomer = sim_grow(said->is_newcomer, i, sizeof(*said->is_newcomer));
        said->is_newcomer[i] =
            service_find(tables->services, tables->service_count, &said->states[i]) == NULL;
    }
    for (int i = 0; i < said->count; i++) {
        said->is_refused = sim_grow(said->is_refused, i, sizeof(*said->is_refused));
        said->is_crowded = sim_grow(said->is_crowded, i, sizeof(*said->is_crowded));
        said_judge(said, i, tables, now_ms);
    }
}

static bool is_crowded(const struct said *said, struct mg_slice service)
{
    for (int i = 0; i < said->count; i++) {
        if (mg_slice_equal(said->states[i].service, service)) {
            return said->is_crowded[i];
        }
    }
    return false;
}

static void services_forget(struct sim_tables *tables, const struct said *said, int64_t now_ms)
{
    int kept = 0;
    for (int i = 0; i < tables->service_count; i++) {
        const struct sim_service *row = &tables->services[i];
        bool is_gone = row->reported_at_ms < now_ms - SERVICE_STATE_KEPT_MS ||
                       (!is_valid(row, now_ms) && is_crowded(said, row->service));
        if (!is_gone) {
            tables->services[kept++] = *row;
        }
    }
    tables->service_count = kept;
}

/* One row for each service with a refused report. */
static void said_tell_refused(const struct said *said, struct sim_output *output)
{
    sim_output_begin(output, 2);
    for (int i = 0; i < said->count; i++) {
        int before = 0, refused = 0;
        for (int j = 0; j < said->count; j++) {
            bool counts =
                said->is_refused[j] && mg_slice_equal(said->states[j].service, said->states[i].service);
            refused += counts;
            before += counts && j < i;
        }
        if (said->is_refused[i] && before == 0) {
            sim_output_row(output);
            sim_output_text(output, 0, said->states[i].service);
            sim_output_int(output, 1, refused);
        }
    }
}

static void said_put(const struct said *said, struct sim_tables *tables, int64_t now_ms)
{
    for (int i = 0; i < said->count; i++) {
        if (!said->is_refused[i]) {
            service_put(tables, &said->states[i]);
        }
    }
    services_forget(tables, said, now_ms);
}

/* Only the last report of an instance counts. The same statement deletes instances that are silent for long.
 * If a service has too many, it also deletes invalid ones. Rows that it writes stay. */
static void put_service_states(struct sim_input *input, struct sim_output *output)
{
    enum {
        N,
        SERVICE,
        INSTANCE,
        BREAKER,
        IS_READY,
        IN_FLIGHT,
        CONCURRENCY,
        REASON,
        VERSION,
        PROCESS,
        SEQUENCE,
        IS_PROBER,
        CALLS /* no invariant depends on them */
    };
    struct sim_tables *tables = input->transaction->tables;
    int64_t now_ms = input->transaction->now_ms;
    struct said said = {0};
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_service state = {.service = values[SERVICE],
                                    .instance = values[INSTANCE],
                                    .breaker = values[BREAKER],
                                    .reason = values[REASON],
                                    .is_ready = sim_bool(values[IS_READY]),
                                    .is_prober = sim_bool(values[IS_PROBER]),
                                    .in_flight = sim_int(values[IN_FLIGHT]),
                                    .concurrency = sim_int(values[CONCURRENCY]),
                                    .process = sim_int(values[PROCESS]),
                                    .sequence = sim_int(values[SEQUENCE]),
                                    .reported_at_ms = now_ms};
        said_add(&said, &state);
    }
    said_judge_all(&said, tables, now_ms);
    for (int i = 0; i < said.count; i++) {
        if (!said.is_refused[i] && !is_breaker(said.states[i].breaker)) {
            sim_transaction_fail(input->transaction, "23514", "new row violates a check constraint");
        }
    }
    if (input->transaction->sqlstate[0] == '\0') {
        said_tell_refused(&said, output);
        said_put(&said, tables, now_ms);
    }
    free(said.states);
    free(said.is_newcomer);
    free(said.is_refused);
    free(said.is_crowded);
}

/* ---- workflows ---- */

/* $1 name, $2 version, $3 definition */
static void put_workflow(struct sim_input *input, struct sim_output *output)
{
    struct sim_tables *tables = input->transaction->tables;
    struct sim_workflow *found = NULL;
    for (int i = 0; i < tables->workflow_count; i++) {
        if (mg_slice_equal(tables->workflows[i].name, sim_scalar(input, 1)) &&
            tables->workflows[i].version == sim_int(sim_scalar(input, 2))) {
            found = &tables->workflows[i];
        }
    }
    if (found == NULL) {
        tables->workflows = sim_grow(tables->workflows, tables->workflow_count, sizeof(*tables->workflows));
        found = &tables->workflows[tables->workflow_count++];
        *found = (struct sim_workflow){.name = sim_text(sim_scalar(input, 1)),
                                       .version = sim_int(sim_scalar(input, 2)),
                                       .definition = sim_text(sim_scalar(input, 3))};
    }
    sim_output_begin(output, 1);
    sim_output_row(output);
    sim_output_bool(output, 0, mg_slice_equal(found->definition, sim_scalar(input, 3)));
}

/* ---- alerts ---- */

static const char *const ALERTS[] = {"code", "subject", "order_id", "text", "is_closed"};
enum { CODE, SUBJECT, ORDER_ID, TEXT, IS_CLOSED };

static bool take_alert(struct sim_input *input, struct sim_alert *ret_alert)
{
    const struct mg_slice *values = input->values;
    *ret_alert = (struct sim_alert){.subject = values[SUBJECT],
                                    .order_id = values[ORDER_ID],
                                    .text = values[TEXT],
                                    .closed_at_ms = sim_bool(values[IS_CLOSED]) ? 1 : 0};
    bool is_word = mg_alert_word_parse(values[CODE].data, values[CODE].len, &ret_alert->code);
    if (!is_word) {
        sim_transaction_fail(input->transaction, "23514", "value for domain violates its check");
    }
    return is_word;
}

/* All closings come before any opening. Of several equal ones the answer lists the first. */
static void write_alerts(struct sim_input *input, struct sim_output *output)
{
    struct sim_input check = *input;
    struct sim_alert alert;
    sim_output_begin(output, 1);
    while (sim_input_next(&check)) {
        if (!take_alert(&check, &alert)) {
            return;
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        struct sim_input at = *input;
        struct sim_tables *tables = input->transaction->tables;
        while (sim_input_next(&at) && take_alert(&at, &alert)) {
            bool is_closing = alert.closed_at_ms != 0;
            if (is_closing == (pass == 0) &&
                (is_closing ? sim_alert_close(tables, &alert, input->transaction->now_ms)
                            : sim_alert_open(tables, &alert, input->transaction->now_ms))) {
                sim_output_row(output);
                sim_output_int(output, 0, at.row - 1);
            }
        }
    }
}

/* $6 epoch, $7 holder */
static void write_alerts_fenced(struct sim_input *input, struct sim_output *output)
{
    const struct sim_transaction *transaction = input->transaction;
    uint64_t epoch = (uint64_t)sim_int(sim_scalar(input, 6));
    struct mg_slice holder = sim_scalar(input, 7);
    if (transaction->tables->leader.epoch != epoch ||
        !mg_slice_equal(transaction->tables->leader.holder, holder)) {
        sim_output_begin(output, 1);
        return;
    }
    if (transaction->session != NULL) {
        sim_check_led(epoch, sim_text(holder).data);
    }
    write_alerts(input, output);
}

static const char *const STATE_KEYS[] = {"service", "instance"}, *const ALERT_KEYS[] = {"code", "subject"};

const struct sim_statement SIM_MARK_STATEMENTS[] = {
    SIM_STATEMENT("put_service_states", put_service_states, STATES, true),
    SIM_SCALARS("put_workflow", put_workflow, true),
    SIM_STATEMENT("write_alerts_freely", write_alerts, ALERTS, true),
    SIM_STATEMENT("write_alerts_fenced", write_alerts_fenced, ALERTS, true),
    SIM_STATEMENT("put_service_states_keys", sim_no_keys, STATE_KEYS, false),
    SIM_STATEMENT("write_alerts_freely_keys", sim_no_keys, ALERT_KEYS, false),
    SIM_STATEMENT("write_alerts_fenced_keys", sim_no_keys, ALERT_KEYS, false),
    {.name = NULL},
};
