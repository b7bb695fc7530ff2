/* See simulate_print.h. */
#include "simulate_print.h"

#include <stdio.h>
#include <string.h>

#include "base/print.h"

#define SPAN_SIZE         24
#define WAY_SIZE          (2 * (MG_NAME_MAX + 20) * MG_STEPS_MAX)
#define ENDS_SHOWN        40 /* of an exploration, for people; JSON has all */
#define WHYS_SHOWN        12
#define UNDOS_COLUMNS_MAX 60

/* ---- numbers for people ---- */

/* "850ms", "1.2s", "3.5h": two digits are enough to judge a time. */
static const char *span_text(int64_t ms, char ret[SPAN_SIZE])
{
    static const struct {
        int64_t ms;
        char unit;
    } UNITS[] = {{INT64_C(86400000), 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (ms >= UNITS[i].ms) {
            snprintf(ret, SPAN_SIZE, "%.1f%c", (double)ms / (double)UNITS[i].ms, UNITS[i].unit);
            return ret;
        }
    }
    snprintf(ret, SPAN_SIZE, "%lldms", (long long)ms);
    return ret;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Printed with two places where one would show nothing. */
static const char *percent_text(uint64_t part, uint64_t whole, char ret[SPAN_SIZE])
{
    double share = percent(part, whole);
    snprintf(ret, SPAN_SIZE, share > 0 && share < 0.1 ? "%.2f %%" : "%.1f %%", share);
    return ret;
}

/* With orders at this rate for ever. A run too short for that, or with calls that go on long after the last
 * order, has no more than its busiest second. */
static double calls_per_second(const struct mg_profile *profile, const struct mg_tally *tally, int service)
{
    const struct mg_service_tally *calls = &tally->services[service];
    double rate = (double)profile->rate / 1000;
    double average = tally->orders > 0 ? (double)calls->calls / (double)tally->orders * rate : 0;
    return average < (double)calls->peak ? average : (double)calls->peak;
}

/* ---- a simulation as text ---- */

static void ends_print(const struct mg_tally *tally)
{
    char share[SPAN_SIZE], median[SPAN_SIZE], late[SPAN_SIZE];
    mg_print(stdout, "%-12s %9s %8s %9s %9s\n", "end", "share", "orders", "p50", "p99");
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        const struct mg_ended *end = &tally->ends[i];
        if (end->count > 0) {
            mg_print(stdout, "%-12s %9s %8llu %9s %9s\n", mg_order_state_name((enum mg_order_state)i),
                     percent_text(end->count, tally->orders, share), (unsigned long long)end->count,
                     span_text(mg_quantiles_at(&end->time_ms, 50), median),
                     span_text(mg_quantiles_at(&end->time_ms, 99), late));
        }
    }
    const struct {
        const char *word;
        uint64_t count;
    } OTHERS[] = {{"rejected", tally->rejected}, {"open", tally->open}};
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (OTHERS[i].count > 0) {
            mg_print(stdout, "%-12s %9s %8llu %9s %9s\n", OTHERS[i].word,
                     percent_text(OTHERS[i].count, tally->orders, share), (unsigned long long)OTHERS[i].count,
                     "-", "-");
        }
    }
}

static int name_columns(const struct mg_workflow *workflow)
{
    size_t most = strlen("service");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const char *shared = mg_profile_shared_name(workflow, i);
        size_t len = strlen(workflow->steps[i].name), more = shared != NULL ? strlen(shared) : 0;
        most = len > most ? len : most;
        most = more > most ? more : most;
    }
    return (int)most;
}

static void steps_print(const struct mg_workflow *workflow, const struct mg_tally *tally, int width)
{
    char done[SPAN_SIZE], skipped[SPAN_SIZE], failed[SPAN_SIZE], undone[SPAN_SIZE], attempts[SPAN_SIZE],
        median[SPAN_SIZE], late[SPAN_SIZE];
    mg_print(stdout, "\n%-*s %8s %8s %8s %8s %15s %9s %9s\n", width, "step", "done", "skipped", "failed",
             "undone", "attempts, p99", "time p50", "p99");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step_tally *step = &tally->steps[i];
        snprintf(attempts, sizeof(attempts), "%.2f, %lld", mg_quantiles_mean(&step->attempts),
                 (long long)mg_quantiles_at(&step->attempts, 99));
        mg_print(stdout, "%-*s %8s %8s %8s %8s %15s %9s %9s\n", width, workflow->steps[i].name,
                 percent_text(step->done, tally->orders, done),
                 percent_text(step->skipped, tally->orders, skipped),
                 percent_text(step->failed, tally->orders, failed),
                 percent_text(step->undone, tally->orders, undone), step->attempts.count > 0 ? attempts : "-",
                 step->done > 0 ? span_text(mg_quantiles_at(&step->time_ms, 50), median) : "-",
                 step->done > 0 ? span_text(mg_quantiles_at(&step->time_ms, 99), late) : "-");
    }
}

/* The first step that calls its service, or waits for its signal: it stands for all of them. */
static bool is_first_call(const struct mg_workflow *workflow, int step)
{
    return !workflow->plan.steps[step].is_wait && mg_profile_number(workflow, step) == step;
}

static bool is_first_wait(const struct mg_workflow *workflow, int step)
{
    return workflow->plan.steps[step].is_signal && mg_profile_number(workflow, step) == step;
}

static void services_print(const struct mg_profile *profile, const struct mg_tally *tally, int width)
{
    const struct mg_workflow *workflow = profile->workflow;
    bool is_first = true;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (is_first_call(workflow, i)) {
            if (is_first) {
                mg_print(stdout, "\n%-*s %14s %14s\n", width, "service", "calls/s", "busiest second");
                is_first = false;
            }
            mg_print(stdout, "%-*s %14.1f %14llu\n", width, workflow->steps[i].service,
                     calls_per_second(profile, tally, i), (unsigned long long)tally->services[i].peak);
        }
    }
}

static void signals_print(const struct mg_workflow *workflow, const struct mg_tally *tally, int width)
{
    char done[SPAN_SIZE], refused[SPAN_SIZE], over[SPAN_SIZE], early[SPAN_SIZE], median[SPAN_SIZE],
        late[SPAN_SIZE];
    bool is_first = true;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_signal_tally *signal = &tally->signals[i];
        if (!is_first_wait(workflow, i)) {
            continue;
        }
        if (is_first) {
            mg_print(stdout, "\n%-*s %8s %8s %8s %9s %8s %8s %9s %9s\n", width, "signal", "waits", "done",
                     "refused", "timed out", "early", "late", "wait p50", "p95");
            is_first = false;
        }
        mg_print(stdout, "%-*s %8llu %8s %8s %9s %8s %8llu %9s %9s\n", width, workflow->steps[i].signal->name,
                 (unsigned long long)signal->waited, percent_text(signal->done, signal->waited, done),
                 percent_text(signal->refused, signal->waited, refused),
                 percent_text(signal->timed_out, signal->waited, over),
                 percent_text(signal->early, signal->waited, early), (unsigned long long)signal->late,
                 span_text(mg_quantiles_at(&signal->time_ms, 50), median),
                 span_text(mg_quantiles_at(&signal->time_ms, 95), late));
    }
}

static void lines_print(const struct mg_profile *profile, const struct mg_tally *tally)
{
    const struct mg_line_tally *lines = &tally->lines;
    char share[SPAN_SIZE], median[SPAN_SIZE], late[SPAN_SIZE];
    if (profile->workflow->plan.sequence != MG_SEQUENCE_NONE) {
        mg_print(
            stdout,
            "\n%lld lines; %s of the orders waited in one, p50 %s, p95 %s; the longest had %llu orders\n",
            (long long)profile->lines, percent_text(lines->waited, tally->orders, share),
            span_text(mg_quantiles_at(&lines->time_ms, 50), median),
            span_text(mg_quantiles_at(&lines->time_ms, 95), late), (unsigned long long)lines->longest);
    }
}

/* The word that a person looks for: of the step, where there is one. */
static enum mg_reason reason_of(const struct mg_cause_tally *cause)
{
    return cause->step >= 0 && cause->reason != MG_REASON_NONE ? cause->reason : cause->why;
}

static const char *state_word(const struct mg_cause_tally *cause)
{
    return mg_order_state_is_terminal(cause->state) ? mg_order_state_name(cause->state) : "open";
}

static void whys_print(const struct mg_workflow *workflow, const struct mg_tally *tally)
{
    char share[SPAN_SIZE];
    uint64_t rest = tally->other_causes;
    for (int i = 0; i < tally->cause_count; i++) {
        const struct mg_cause_tally *cause = &tally->causes[i];
        enum mg_reason reason = reason_of(cause);
        if (i >= WHYS_SHOWN) {
            rest += cause->count;
            continue;
        }
        mg_print(stdout, i == 0 ? "\n" : "");
        mg_print(stdout, "%-12s %9s  %s%s%s%s%s\n", state_word(cause),
                 percent_text(cause->count, tally->orders, share),
                 cause->step >= 0 ? workflow->steps[cause->step].name : "the order",
                 cause->step >= 0 ? " " : "", cause->step >= 0 ? mg_step_state_name(cause->at) : "",
                 reason != MG_REASON_NONE ? ": " : "",
                 reason != MG_REASON_NONE ? mg_reason_text(reason) : "");
    }
    if (rest > 0) {
        mg_print(stdout, "and %llu orders for other reasons; -o json has more\n", (unsigned long long)rest);
    }
}

static void simulation_text(const struct mg_profile *profile, const struct mg_tally *tally)
{
    char span[SPAN_SIZE], rate[SPAN_SIZE];
    int width = name_columns(profile->workflow);
    snprintf(rate, sizeof(rate), "%g", (double)profile->rate / 1000);
    mg_print(stdout, "%llu orders of %s, version %lld, %s a second, seed %lld; the last event after %s\n\n",
             (unsigned long long)tally->orders, profile->workflow->name,
             (long long)profile->workflow->version, rate, (long long)profile->seed,
             span_text(tally->stopped_ms, span));
    ends_print(tally);
    steps_print(profile->workflow, tally, width);
    services_print(profile, tally, width);
    signals_print(profile->workflow, tally, width);
    lines_print(profile, tally);
    whys_print(profile->workflow, tally);
}

/* ---- a simulation as JSON ---- */

static void member_number(struct mg_json_writer *json, const char *name, double number)
{
    mg_json_name(json, name);
    mg_buf_printf(json->buf, "%.4f", number);
}

static void quantiles_write(struct mg_json_writer *json, const struct mg_quantiles *quantiles)
{
    mg_json_member_int(json, "p50_ms", mg_quantiles_at(quantiles, 50));
    mg_json_member_int(json, "p99_ms", mg_quantiles_at(quantiles, 99));
}

/* The times of waits. Those of people have a longer tail than those of services, and its end says little. */
static void waits_write(struct mg_json_writer *json, const struct mg_quantiles *quantiles)
{
    mg_json_member_int(json, "p50_ms", mg_quantiles_at(quantiles, 50));
    mg_json_member_int(json, "p95_ms", mg_quantiles_at(quantiles, 95));
}

static void ends_write(struct mg_json_writer *json, const struct mg_tally *tally)
{
    mg_json_member_array(json, "ends");
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        const struct mg_ended *end = &tally->ends[i];
        if (end->count > 0) {
            mg_json_element_object(json);
            mg_json_member_word(json, "end", mg_order_state_name((enum mg_order_state)i));
            mg_json_member_int(json, "orders", (int64_t)end->count);
            member_number(json, "percent", percent(end->count, tally->orders));
            quantiles_write(json, &end->time_ms);
            mg_json_object_end(json);
        }
    }
    mg_json_array_end(json);
}

static void steps_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                        const struct mg_tally *tally)
{
    mg_json_member_array(json, "steps");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step_tally *step = &tally->steps[i];
        mg_json_element_object(json);
        mg_json_member_string(json, "step", workflow->steps[i].name);
        mg_json_member_int(json, "begun", (int64_t)step->begun);
        mg_json_member_int(json, "done", (int64_t)step->done);
        mg_json_member_int(json, "skipped", (int64_t)step->skipped);
        mg_json_member_int(json, "failed", (int64_t)step->failed);
        mg_json_member_int(json, "undone", (int64_t)step->undone);
        mg_json_member_int(json, "undo_failed", (int64_t)step->undo_failed);
        member_number(json, "attempts_mean", mg_quantiles_mean(&step->attempts));
        mg_json_member_int(json, "attempts_p99", mg_quantiles_at(&step->attempts, 99));
        quantiles_write(json, &step->time_ms);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

static void services_write(struct mg_json_writer *json, const struct mg_profile *profile,
                           const struct mg_tally *tally)
{
    const struct mg_workflow *workflow = profile->workflow;
    mg_json_member_array(json, "services");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (is_first_call(workflow, i)) {
            mg_json_element_object(json);
            mg_json_member_string(json, "service", workflow->steps[i].service);
            mg_json_member_int(json, "calls", (int64_t)tally->services[i].calls);
            member_number(json, "calls_per_second", calls_per_second(profile, tally, i));
            mg_json_member_int(json, "busiest_second", (int64_t)tally->services[i].peak);
            mg_json_object_end(json);
        }
    }
    mg_json_array_end(json);
}

static void signals_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                          const struct mg_tally *tally)
{
    mg_json_member_array(json, "signals");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_signal_tally *signal = &tally->signals[i];
        if (is_first_wait(workflow, i)) {
            mg_json_element_object(json);
            mg_json_member_string(json, "signal", workflow->steps[i].signal->name);
            mg_json_member_int(json, "waits", (int64_t)signal->waited);
            mg_json_member_int(json, "done", (int64_t)signal->done);
            mg_json_member_int(json, "refused", (int64_t)signal->refused);
            mg_json_member_int(json, "timed_out", (int64_t)signal->timed_out);
            mg_json_member_int(json, "early", (int64_t)signal->early);
            mg_json_member_int(json, "late", (int64_t)signal->late);
            waits_write(json, &signal->time_ms);
            mg_json_object_end(json);
        }
    }
    mg_json_array_end(json);
}

static void lines_write(struct mg_json_writer *json, const struct mg_profile *profile,
                        const struct mg_tally *tally)
{
    if (profile->workflow->plan.sequence == MG_SEQUENCE_NONE) {
        mg_json_member_null(json, "lines");
        return;
    }
    mg_json_member_object(json, "lines");
    mg_json_member_int(json, "lines", profile->lines);
    mg_json_member_int(json, "waited", (int64_t)tally->lines.waited);
    mg_json_member_int(json, "longest", (int64_t)tally->lines.longest);
    waits_write(json, &tally->lines.time_ms);
    mg_json_object_end(json);
}

static void whys_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                       const struct mg_tally *tally)
{
    mg_json_member_array(json, "reasons");
    for (int i = 0; i < tally->cause_count; i++) {
        const struct mg_cause_tally *cause = &tally->causes[i];
        mg_json_element_object(json);
        mg_json_member_word(json, "end", state_word(cause));
        mg_json_member_string_or_null(json, "step",
                                      cause->step >= 0 ? workflow->steps[cause->step].name : NULL);
        mg_json_member_string_or_null(json, "state", cause->step >= 0 ? mg_step_state_name(cause->at) : NULL);
        mg_json_member_word(json, "reason", mg_reason_name(reason_of(cause)));
        mg_json_member_int(json, "orders", (int64_t)cause->count);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

static enum mg_exit_code simulation_json(struct mg_cli *cli, const struct mg_profile *profile,
                                         const struct mg_tally *tally)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "workflow", profile->workflow->name);
    mg_json_member_int(json, "version", profile->workflow->version);
    mg_json_member_int(json, "seed", profile->seed);
    mg_json_member_int(json, "orders", (int64_t)tally->orders);
    member_number(json, "rate", (double)profile->rate / 1000);
    mg_json_member_int(json, "stopped_ms", tally->stopped_ms);
    mg_json_member_int(json, "open", (int64_t)tally->open);
    mg_json_member_int(json, "rejected", (int64_t)tally->rejected);
    ends_write(json, tally);
    steps_write(json, profile->workflow, tally);
    services_write(json, profile, tally);
    signals_write(json, profile->workflow, tally);
    lines_write(json, profile, tally);
    whys_write(json, profile->workflow, tally);
    mg_json_member_int(json, "other_reasons", (int64_t)tally->other_causes);
    return mg_answer_print(&answer);
}

enum mg_exit_code mg_simulation_print(struct mg_cli *cli, const struct mg_profile *profile,
                                      const struct mg_tally *tally)
{
    if (cli->is_json) {
        return simulation_json(cli, profile, tally);
    }
    simulation_text(profile, tally);
    return MG_EXIT_DONE;
}

/* ---- an exploration ---- */

/* "reserve done, charge refused": the steps that the way reached. */
static const char *way_text(const struct mg_workflow *workflow, const struct mg_order_way *way,
                            bool has_parallel, char ret[WAY_SIZE])
{
    size_t len = 0;
    bool has_failure = false;
    ret[0] = '\0';
    for (int i = 0; i < workflow->plan.step_count && len < WAY_SIZE; i++) {
        enum mg_way_of_step at = (enum mg_way_of_step)way->steps[i];
        has_failure = has_failure || at == MG_STEP_WAY_REFUSED || at == MG_STEP_WAY_UNKNOWN ||
                      at == MG_STEP_WAY_TIMED_OUT;
        if (at != MG_STEP_WAY_NONE) {
            len += (size_t)snprintf(ret + len, WAY_SIZE - len, "%s%s %s", len > 0 ? ", " : "",
                                    workflow->steps[i].name, mg_way_of_step_name(at));
        }
    }
    for (int i = 0; i < workflow->plan.step_count && len < WAY_SIZE; i++) {
        if ((way->refused_undos >> i & 1) != 0) {
            len +=
                (size_t)snprintf(ret + len, WAY_SIZE - len, ", undo of %s refused", workflow->steps[i].name);
        }
    }
    if (has_parallel && has_failure && len < WAY_SIZE) {
        (void)snprintf(ret + len, WAY_SIZE - len, "; failures %s", way->is_failure_first ? "first" : "last");
    }
    return ret;
}

static const char *undos_text(const struct mg_workflow *workflow, const struct mg_explored_end *end,
                              char ret[WAY_SIZE])
{
    size_t len = 0;
    snprintf(ret, WAY_SIZE, "nothing");
    for (int i = 0; i < end->undone_count && len < WAY_SIZE; i++) {
        len += (size_t)snprintf(ret + len, WAY_SIZE - len, "%s%s", i > 0 ? ", " : "",
                                workflow->steps[end->undone[i]].name);
    }
    return ret;
}

static const char *end_word(enum mg_order_state state)
{
    return mg_order_state_is_terminal(state) ? mg_order_state_name(state) : "waiting";
}

static int undos_columns(const struct mg_workflow *workflow, const struct mg_exploration *exploration)
{
    char undos[WAY_SIZE];
    size_t most = strlen("undone, in this order");
    for (int i = 0; i < exploration->end_count && i < ENDS_SHOWN; i++) {
        size_t len = strlen(undos_text(workflow, &exploration->ends[i], undos));
        most = len > most && len <= UNDOS_COLUMNS_MAX ? len : most;
    }
    return (int)most;
}

static void explored_ends_print(const struct mg_workflow *workflow, const struct mg_exploration *exploration)
{
    char undos[WAY_SIZE], way[WAY_SIZE];
    uint64_t rest = exploration->other_ends;
    int width = undos_columns(workflow, exploration);
    mg_print(stdout, "%-12s %8s  %-*s  %s\n", "end", "ways", width, "undone, in this order",
             "the first such way");
    for (int i = 0; i < exploration->end_count; i++) {
        const struct mg_explored_end *end = &exploration->ends[i];
        if (i >= ENDS_SHOWN) {
            rest += end->count;
            continue;
        }
        mg_print(stdout, "%-12s %8llu  %-*s  %s\n", end_word(end->end), (unsigned long long)end->count, width,
                 undos_text(workflow, end, undos),
                 way_text(workflow, &end->first, exploration->has_parallel, way));
    }
    if (rest > 0) {
        mg_print(stdout, "and %llu ways with other ends; -o json has more\n", (unsigned long long)rest);
    }
}

static void claims_print(const struct mg_workflow *workflow, const struct mg_exploration *exploration)
{
    char way[WAY_SIZE];
    for (int i = 0; i < exploration->claim_count; i++) {
        const struct mg_explored_claim *claim = &exploration->claims[i];
        mg_print(stdout, i == 0 ? "\n" : "");
        mg_print(stdout, "never %.*s: ", (int)claim->text.len, claim->text.data);
        if (claim->count == 0 && exploration->is_cut) {
            mg_print(stdout, "no counter-example with at most %d departures\n", exploration->departures);
        } else if (claim->count == 0) {
            mg_print(stdout, "proved\n");
        } else {
            mg_print(stdout, "FALSE in %llu ways\n  %s: %s\n", (unsigned long long)claim->count,
                     way_text(workflow, &claim->first, exploration->has_parallel, way),
                     end_word(claim->first.end));
        }
    }
}

static void exploration_text(const struct mg_workflow *workflow, const struct mg_exploration *exploration)
{
    mg_print(stdout, "%llu ways of an order of %s, version %lld; ", (unsigned long long)exploration->ways,
             workflow->name, (long long)workflow->version);
    if (exploration->is_cut) {
        mg_print(stdout, "all with at most %d departures from the plain way, not all with more\n\n",
                 exploration->departures);
    } else {
        mg_print(stdout, "these are all\n\n");
    }
    explored_ends_print(workflow, exploration);
    claims_print(workflow, exploration);
}

static void way_write(struct mg_json_writer *json, const char *name, const struct mg_workflow *workflow,
                      const struct mg_order_way *way)
{
    mg_json_member_object(json, name);
    mg_json_member_word(json, "end", end_word(way->end));
    mg_json_member_bool(json, "failures_first", way->is_failure_first);
    mg_json_member_object(json, "steps");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (way->steps[i] != MG_STEP_WAY_NONE) {
            mg_json_member_word(json, workflow->steps[i].name,
                                mg_way_of_step_name((enum mg_way_of_step)way->steps[i]));
        }
    }
    mg_json_object_end(json);
    mg_json_member_array(json, "refused_undos");
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if ((way->refused_undos >> i & 1) != 0) {
            mg_json_element_text(json, mg_slice_of(workflow->steps[i].name));
        }
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

static void explored_end_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                               const struct mg_explored_end *end)
{
    mg_json_element_object(json);
    mg_json_member_word(json, "end", end_word(end->end));
    mg_json_member_word(json, "reason", mg_reason_name(end->reason));
    mg_json_member_int(json, "ways", (int64_t)end->count);
    mg_json_member_array(json, "undone");
    for (int i = 0; i < end->undone_count; i++) {
        mg_json_element_text(json, mg_slice_of(workflow->steps[end->undone[i]].name));
    }
    mg_json_array_end(json);
    way_write(json, "first", workflow, &end->first);
    mg_json_object_end(json);
}

static enum mg_exit_code exploration_json(struct mg_cli *cli, const struct mg_workflow *workflow,
                                          const struct mg_exploration *exploration)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "workflow", workflow->name);
    mg_json_member_int(json, "version", workflow->version);
    mg_json_member_int(json, "ways", (int64_t)exploration->ways);
    mg_json_member_bool(json, "is_whole", !exploration->is_cut);
    mg_json_member_int(json, "departures", exploration->departures);
    mg_json_member_array(json, "explored");
    for (int i = 0; i < exploration->end_count; i++) {
        explored_end_write(json, workflow, &exploration->ends[i]);
    }
    mg_json_array_end(json);
    mg_json_member_int(json, "other_ways", (int64_t)exploration->other_ends);
    mg_json_member_array(json, "never");
    for (int i = 0; i < exploration->claim_count; i++) {
        const struct mg_explored_claim *claim = &exploration->claims[i];
        mg_json_element_object(json);
        mg_json_member_text(json, "claim", claim->text);
        mg_json_member_int(json, "counter_examples", (int64_t)claim->count);
        if (claim->count > 0) {
            way_write(json, "first", workflow, &claim->first);
        } else {
            mg_json_member_null(json, "first");
        }
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
    return mg_answer_print(&answer);
}

enum mg_exit_code mg_exploration_print(struct mg_cli *cli, const struct mg_workflow *workflow,
                                       const struct mg_exploration *exploration)
{
    if (cli->is_json) {
        return exploration_json(cli, workflow, exploration);
    }
    exploration_text(workflow, exploration);
    return MG_EXIT_DONE;
}
