/* See profile.h. */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"
#include "json/scan.h"
#include "profile_names.h"
#include "workflow/answer_conditions.h"
#include "workflow/step_guard.h"

#define TIME_DEFAULT_MS 100
#define ARENA_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define RATE_MAX        (INT64_C(100000) * 1000) /* a hundred times as many as a machine decides */
#define RATE_DIGITS_MAX 9
#define PAIR_NAME_SIZE  256

const char *mg_setting_name(enum mg_setting setting)
{
    static const char *const NAMES[MG_SETTING_COUNT] = {
        [MG_SETTING_TIME] = "time",     [MG_SETTING_FAIL] = "fail",     [MG_SETTING_REFUSE] = "refuse",
        [MG_SETTING_LOSE] = "lose",     [MG_SETTING_DOWN] = "down",     [MG_SETTING_WHEN] = "when",
        [MG_SETTING_FINISH] = "finish", [MG_SETTING_SIGNAL] = "signal", [MG_SETTING_CHOICE] = "choice",
    };
    return NAMES[setting];
}

struct mg_profile *mg_profile_create(const struct mg_workflow *workflow)
{
    struct mg_profile *profile = calloc(1, sizeof(*profile));
    if (profile == NULL) {
        return NULL;
    }
    profile->arena = mg_arena_create(ARENA_MAX_BYTES);
    profile->workflow = workflow;
    profile->orders = MG_PROFILE_ORDERS;
    profile->rate = INT64_C(50) * 1000;
    profile->seed = 1;
    profile->stop_after_ms = MG_PROFILE_STOP_MS;
    profile->accepted_at_ms = MG_CASE_ACCEPTED_AT_MS;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        profile->when[i] = MG_WHEN_OPEN;
        for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
            profile->habits[i][kind].time = (struct mg_spread){TIME_DEFAULT_MS, TIME_DEFAULT_MS, false};
        }
    }
    if (profile->arena == NULL) {
        mg_profile_destroy(profile);
        return NULL;
    }
    return profile;
}

void mg_profile_destroy(struct mg_profile *profile)
{
    if (profile != NULL) {
        mg_arena_destroy(profile->arena);
        free(profile);
    }
}

/* ---- settings ---- */

/* A value, read once for all steps that it concerns. */
struct value {
    struct mg_spread spread;
    struct mg_arrival arrival;
    uint32_t share;
    int64_t from_ms, until_ms;
};

static enum mg_class value_read(enum mg_setting setting, const char *text, struct value *ret,
                                struct mg_err *err)
{
    switch (setting) {
    case MG_SETTING_TIME:
    case MG_SETTING_FINISH:
        return mg_spread_parse(text, &ret->spread, err);
    case MG_SETTING_DOWN:
        return mg_range_parse(text, &ret->from_ms, &ret->until_ms, err);
    case MG_SETTING_SIGNAL:
        return mg_arrival_parse(text, &ret->arrival, err);
    case MG_SETTING_CHOICE: /* each step has its own: choice_set */
        return MG_OK;
    case MG_SETTING_FAIL:
    case MG_SETTING_REFUSE:
    case MG_SETTING_LOSE:
    case MG_SETTING_WHEN:
    case MG_SETTING_COUNT:
        break;
    }
    return mg_share_parse(text, &ret->share, err);
}

static void habit_set(struct mg_habit *habit, enum mg_setting setting, const struct value *value)
{
    switch (setting) {
    case MG_SETTING_TIME:
        habit->time = value->spread;
        habit->has_time = true;
        break;
    case MG_SETTING_FINISH:
        habit->finish = value->spread;
        habit->has_finish = true;
        break;
    case MG_SETTING_FAIL:
        habit->fail = value->share;
        break;
    case MG_SETTING_REFUSE:
        habit->refuse = value->share;
        break;
    case MG_SETTING_LOSE:
        habit->lose = value->share;
        break;
    case MG_SETTING_DOWN:
    case MG_SETTING_WHEN:
    case MG_SETTING_SIGNAL:
    case MG_SETTING_CHOICE:
    case MG_SETTING_COUNT:
        break;
    }
}

static enum mg_class outage_add(struct mg_profile *profile, int step, const struct value *value,
                                struct mg_err *err)
{
    struct mg_outages *outages = &profile->outages[mg_profile_number(profile->workflow, step)];
    if (outages->count == MG_OUTAGES_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "a service has up to %d outages", MG_OUTAGES_MAX);
    }
    outages->items[outages->count].from_ms = value->from_ms;
    outages->items[outages->count++].until_ms = value->until_ms;
    return MG_OK;
}

/* A verify is asked, and refuses nothing. Only a do and an undo have work that takes time. */
static bool concerns(enum mg_setting setting, int kind)
{
    bool is_of_work = setting == MG_SETTING_REFUSE || setting == MG_SETTING_FINISH;
    return !is_of_work || kind == MG_KIND_DO || kind == MG_KIND_UNDO;
}

static void habits_set(struct mg_profile *profile, enum mg_setting setting,
                       const struct mg_profile_target *target, const struct value *value)
{
    /* Without a kind, work and refusals are those of the do. */
    bool is_of_do = setting == MG_SETTING_REFUSE || setting == MG_SETTING_FINISH;
    for (int step = 0; step < profile->workflow->plan.step_count; step++) {
        for (int kind = 0; kind < MG_KIND_COUNT && (target->steps >> step & 1) != 0; kind++) {
            uint8_t *rank = &profile->ranks[setting][step][kind];
            bool is_meant = target->kind >= 0 ? kind == target->kind : !is_of_do || kind == MG_KIND_DO;
            if (is_meant && target->rank >= *rank) {
                *rank = target->rank;
                habit_set(&profile->habits[step][kind], setting, value);
            }
        }
    }
}

/* ---- signals ---- */

static void signals_set(struct mg_profile *profile, const struct mg_profile_target *target,
                        const struct mg_arrival *arrival)
{
    for (int step = 0; step < profile->workflow->plan.step_count; step++) {
        uint8_t *rank = &profile->ranks[MG_SETTING_SIGNAL][step][MG_KIND_DO];
        if ((target->steps >> step & 1) != 0 && target->rank >= *rank) {
            *rank = target->rank;
            profile->signals[step] = *arrival;
            profile->has_signal[step] = true;
        }
    }
}

/* The payload of one of the step's buttons, or the text itself, which is JSON. */
static enum mg_class payload_find(const struct mg_profile *profile, int step, struct mg_slice text,
                                  struct mg_slice *ret_payload, struct mg_err *err)
{
    const struct mg_workflow_step *of = &profile->workflow->steps[step];
    struct mg_slice quoted, value;
    struct mg_json_walk walk = mg_json_walk_of(of->signal->choices);
    while (of->signal->choices.data != NULL && mg_json_walk_next(&walk, &quoted, &value)) {
        if (mg_json_string_is(quoted, text)) {
            *ret_payload = mg_json_trim(value);
            return MG_OK;
        }
    }
    static const struct mg_json_limits LIMITS = {
        .max_bytes = MG_SIGNAL_PAYLOAD_MAX, .max_depth = 40, .max_members = 100000, .any_number = true};
    if (mg_json_check(text, &LIMITS, err) != MG_OK) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "\"%.*s\" is neither a choice of step \"%s\" nor a payload in JSON; write \"10%% "
                          "Reject\" or \"10%% {\"ok\": false}\"",
                          (int)mg_utf8_cut(text, MG_NAME_MAX), text.data, of->name);
    }
    *ret_payload = mg_json_trim(mg_arena_copy(profile->arena, text));
    return ret_payload->data != NULL ? MG_OK
                                     : mg_err_set(err, MG_TRANSIENT, "could not keep a payload: no memory");
}

/* A payload that is there already has another share from now on. */
static enum mg_class choice_put(struct mg_choices *choices, uint32_t share, struct mg_slice payload,
                                struct mg_err *err)
{
    uint32_t sum = share;
    int at = 0;
    while (at < choices->count && !mg_slice_equal(choices->items[at].payload, payload)) {
        at++;
    }
    for (int i = 0; i < choices->count; i++) {
        sum += i != at ? choices->items[i].share : 0;
    }
    if (at == MG_SIGNAL_CHOICES_MAX || sum > MG_SHARE_ALL) {
        return at == MG_SIGNAL_CHOICES_MAX
                   ? mg_err_set(err, MG_BAD_INPUT, "a step has up to %d choices", MG_SIGNAL_CHOICES_MAX)
                   : mg_err_set(err, MG_BAD_INPUT,
                                "the choices of a step are more than 100%% of its signals");
    }
    choices->items[at].share = share;
    choices->items[at].payload = payload;
    choices->count += at == choices->count ? 1 : 0;
    return MG_OK;
}

/* "10% Reject": a share, and the payload that its signals carry. */
static enum mg_class choices_set(struct mg_profile *profile, const struct mg_profile_target *target,
                                 const char *text, struct mg_err *err)
{
    char word[MG_SHARE_SIZE];
    const char *space = strchr(text, ' ');
    uint32_t share = 0;
    if (space == NULL || space - text >= (long)sizeof(word)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "\"%s\" is no share with a choice; write \"10%% Reject\" or \"10%% {\"ok\": false}\"", text);
    }
    (void)snprintf(word, sizeof(word), "%.*s", (int)(space - text), text);
    enum mg_class class = mg_share_parse(word, &share, err);
    for (int step = 0; step < profile->workflow->plan.step_count && class == MG_OK; step++) {
        uint8_t *rank = &profile->ranks[MG_SETTING_CHOICE][step][MG_KIND_DO];
        struct mg_slice payload;
        if ((target->steps >> step & 1) == 0 || target->rank < *rank) {
            continue;
        }
        profile->choices[step].count = target->rank > *rank ? 0 : profile->choices[step].count;
        *rank = target->rank;
        class = payload_find(profile, step, mg_slice_of(space + 1), &payload, err);
        class = class == MG_OK ? choice_put(&profile->choices[step], share, payload, err) : class;
    }
    return class;
}

/* ---- all settings ---- */

enum mg_class mg_profile_set(struct mg_profile *profile, enum mg_setting setting, const char *name,
                             const char *value_text, struct mg_err *err)
{
    struct mg_profile_target target;
    struct value value = {.share = 0};
    enum mg_class class = mg_profile_target_find(profile->workflow, setting, name, &target, err);
    class = class == MG_OK ? value_read(setting, value_text, &value, err) : class;
    if (class != MG_OK) {
        return class;
    }
    if (target.kind >= 0 && !concerns(setting, target.kind)) {
        return mg_err_set(err, MG_BAD_INPUT, "%s: a verify only asks; name the do or the undo", name);
    }
    if (setting == MG_SETTING_WHEN) {
        profile->when[__builtin_ctzll(target.steps)] = value.share;
    } else if (setting == MG_SETTING_DOWN) {
        return outage_add(profile, __builtin_ctzll(target.steps), &value, err);
    } else if (setting == MG_SETTING_SIGNAL) {
        signals_set(profile, &target, &value.arrival);
    } else if (setting == MG_SETTING_CHOICE) {
        return choices_set(profile, &target, value_text, err);
    } else {
        habits_set(profile, setting, &target, &value);
    }
    return MG_OK;
}

enum mg_class mg_profile_set_pair(struct mg_profile *profile, enum mg_setting setting, const char *pair,
                                  struct mg_err *err)
{
    char name[PAIR_NAME_SIZE];
    const char *equals = strchr(pair, '=');
    if (equals == NULL || equals == pair || equals - pair >= (long)sizeof(name)) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "\"%s\" names no value; write NAME=VALUE, with a step, a service or a signal",
                          pair);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(equals - pair), pair);
    return mg_profile_set(profile, setting, name, equals + 1, err);
}

enum mg_class mg_profile_set_rate(struct mg_profile *profile, const char *text, struct mg_err *err)
{
    static const int PLACES = 3;
    int64_t rate = 0;
    int places = -1, digits = 0;
    const char *at = text;
    for (; digits <= RATE_DIGITS_MAX && ((*at >= '0' && *at <= '9') || (*at == '.' && places < 0)); at++) {
        if (*at == '.') {
            places = 0;
        } else {
            rate = rate * 10 + (*at - '0');
            digits++;
            places += places >= 0 ? 1 : 0;
        }
    }
    bool is_whole = digits > 0 && digits <= RATE_DIGITS_MAX && places <= PLACES && *at == '\0';
    for (places = places < 0 ? 0 : places; places < PLACES; places++) {
        rate *= 10;
    }
    if (!is_whole || rate < 1 || rate > RATE_MAX) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "\"%s\" is no number of orders a second; write \"50\" or \"0.5\", up to %lld", text,
                          (long long)(RATE_MAX / 1000));
    }
    profile->rate = rate;
    return MG_OK;
}

enum mg_class mg_profile_add_claim(struct mg_profile *profile, struct mg_slice text, struct mg_err *err)
{
    if (profile->claim_count == MG_CLAIMS_MAX) {
        return mg_err_set(err, MG_PERMANENT, "a profile has up to %d claims", MG_CLAIMS_MAX);
    }
    struct mg_slice *claim = &profile->claims[profile->claim_count];
    *claim = mg_arena_copy(profile->arena, text);
    profile->claim_count += claim->data != NULL ? 1 : 0;
    return claim->data != NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, "could not keep a claim: no memory");
}

enum mg_class mg_profile_set_results(struct mg_profile *profile, struct mg_slice results, struct mg_err *err)
{
    struct mg_slice name, value;
    if (mg_json_type_of(results) != MG_JSON_OBJECT) {
        return mg_err_set(err, MG_BAD_INPUT, "%s; an object with a member for each step is expected",
                          mg_json_type_name(mg_json_type_of(results)));
    }
    for (struct mg_json_walk walk = mg_json_walk_of(results); mg_json_walk_next(&walk, &name, &value);) {
        int step = mg_workflow_step_index(profile->workflow, (struct mg_slice){name.data + 1, name.len - 2});
        if (step < 0) {
            return mg_err_set(err, MG_BAD_INPUT, "the results name %.*s, which is no step of the workflow",
                              (int)mg_utf8_cut(name, MG_NAME_MAX), name.data);
        }
        profile->results[step] = mg_json_trim(value);
    }
    return MG_OK;
}

/* ---- needs of a simulation ---- */

static enum mg_class payload_check(const struct mg_profile *profile, struct mg_err *err)
{
    const struct mg_render_input input = {.workflow = profile->workflow,
                                          .order_id = "order-1",
                                          .payload = profile->payload,
                                          .accepted_at_ms = profile->accepted_at_ms};
    enum mg_class class = mg_workflow_payload_check(profile->workflow, profile->payload, err);
    class = class == MG_OK ? mg_workflow_admit(&input, err) : class;
    return class == MG_OK || class == MG_TRANSIENT
               ? class
               : mg_err_prefix(err, "an order with this payload is rejected");
}

/* A choice whose meaning nobody can tell would end no wait. */
static enum mg_class choices_check(const struct mg_profile *profile, int step, struct mg_err *err)
{
    const struct mg_choices *choices = &profile->choices[step];
    const struct mg_render_input input = {.workflow = profile->workflow,
                                          .order_id = "order-1",
                                          .payload = profile->payload,
                                          .results = profile->results,
                                          .accepted_at_ms = profile->accepted_at_ms};
    char why[MG_ERROR_TEXT_MAX + 1];
    for (int i = 0; i < choices->count; i++) {
        if (mg_workflow_signal_judge(&input, step, choices->items[i].payload, why) == MG_ANSWER_UNCLEAR) {
            return mg_err_set(err, MG_BAD_INPUT, "the meaning of a choice of step \"%s\" is not clear: %s",
                              profile->workflow->steps[step].name, why);
        }
    }
    return MG_OK;
}

static enum mg_class signals_check(const struct mg_profile *profile, struct mg_err *err)
{
    const struct mg_workflow *workflow = profile->workflow;
    enum mg_class class = MG_OK;
    for (int i = 0; i < workflow->plan.step_count && class == MG_OK; i++) {
        const struct mg_signal_wait *wait = workflow->steps[i].signal;
        if (wait != NULL && !profile->has_signal[i]) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "step \"%s\" waits for signal \"%s\", and nothing says how often it comes; give "
                "--signal \"%s=85%% in 2h..2d\"",
                workflow->steps[i].name, wait->name, wait->name);
        }
        class = choices_check(profile, i, err);
    }
    return class;
}

static enum mg_class lines_check(const struct mg_profile *profile, struct mg_err *err)
{
    bool has_sequence = profile->workflow->plan.sequence != MG_SEQUENCE_NONE;
    if (has_sequence == (profile->lines > 0)) {
        return MG_OK;
    }
    return has_sequence
               ? mg_err_set(err, MG_BAD_INPUT,
                            "orders of %s run one at a time for each key, and nothing says how many "
                            "keys there are; give --lines 200",
                            profile->workflow->name)
               : mg_err_set(err, MG_BAD_INPUT, "lines are given, and %s has no \"sequence\"; leave them out",
                            profile->workflow->name);
}

enum mg_class mg_profile_check(const struct mg_profile *profile, struct mg_err *err)
{
    const struct mg_workflow *workflow = profile->workflow;
    enum mg_class class = signals_check(profile, err);
    class = class == MG_OK ? lines_check(profile, err) : class;
    if (class != MG_OK) {
        return class;
    }
    bool has_payload = profile->payload.data != NULL;
    for (int i = 0; i < workflow->plan.step_count && !has_payload; i++) {
        struct mg_slice expr, text;
        const char *name = workflow->steps[i].name;
        bool has_when = mg_workflow_condition(workflow, i, MG_CONDITION_WHEN, &expr, &text);
        if (has_when && profile->when[i] == MG_WHEN_OPEN) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "step \"%s\" has a condition, and nothing says how often it holds; give --when "
                              "%s=40%%, or the --payload that decides it",
                              name, name);
        }
        if (workflow->plan.steps[i].is_until && !profile->habits[i][MG_KIND_DO].has_time) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "step \"%s\" waits for a moment of the order; give --time %s=2h for the time until "
                "then, or the --payload that has it",
                name, name);
        }
    }
    return has_payload ? payload_check(profile, err) : MG_OK;
}
