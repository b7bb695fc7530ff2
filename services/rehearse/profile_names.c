/* See profile_names.h. */
#include "profile_names.h"

#include <string.h>

#include "json/reader.h"

/* ---- names that steps share ---- */

const char *mg_profile_shared_name(const struct mg_workflow *workflow, int step)
{
    const struct mg_signal_wait *signal = workflow->steps[step].signal;
    return !workflow->plan.steps[step].is_wait ? workflow->steps[step].service
           : signal != NULL                    ? signal->name
                                               : NULL;
}

int mg_profile_number(const struct mg_workflow *workflow, int step)
{
    const char *name = mg_profile_shared_name(workflow, step);
    for (int first = 0; first < step && name != NULL; first++) {
        const char *other = mg_profile_shared_name(workflow, first);
        bool is_alike = workflow->plan.steps[first].is_wait == workflow->plan.steps[step].is_wait;
        if (is_alike && other != NULL && strcmp(other, name) == 0) {
            return first;
        }
    }
    return step;
}

/* ---- the name of a setting ---- */

/* Ranks: a service or a signal, a service's kind, a step, a step's kind. */
enum { RANK_SHARED = 1, RANK_KIND = 1, RANK_STEP = 2 };

/* Marks in front of a name that several things have. */
enum mark { MARK_NONE, MARK_STEP, MARK_SERVICE, MARK_SIGNAL, MARK_COUNT };
static const char *const MARKS[MARK_COUNT] = {"", "step:", "service:", "signal:"};

struct named {
    const struct mg_workflow *workflow;
    const char *whole;
    struct mg_slice name; /* without mark and kind */
    enum mark mark;
    int step;                   /* -1: none */
    uint64_t services, signals; /* bits: the steps that call a service of this name, or wait for a signal */
};

/* Settings that are for a step alone, or a service alone: a name that both have is no mistake. */
static bool is_of_one(enum mg_setting setting)
{
    return setting == MG_SETTING_DOWN || setting == MG_SETTING_WHEN;
}

static bool is_of_signals(enum mg_setting setting)
{
    return setting == MG_SETTING_SIGNAL || setting == MG_SETTING_CHOICE;
}

static bool is_call(const struct mg_workflow *workflow, int step)
{
    return !workflow->plan.steps[step].is_wait;
}

static enum mg_class name_split(struct named *named, struct mg_profile_target *ret, struct mg_err *err)
{
    const char *at = named->whole;
    for (int mark = MARK_STEP; mark < MARK_COUNT; mark++) {
        named->mark = strncmp(at, MARKS[mark], strlen(MARKS[mark])) == 0 ? (enum mark)mark : named->mark;
    }
    at += strlen(MARKS[named->mark]);
    const char *dot = strchr(at, '.');
    named->name = dot != NULL ? (struct mg_slice){at, (size_t)(dot - at)} : mg_slice_of(at);
    ret->kind = -1;
    enum mg_kind kind;
    if (dot == NULL) {
        return MG_OK;
    }
    if (!mg_kind_parse(dot + 1, strlen(dot + 1), &kind)) {
        return mg_err_set(err, MG_BAD_INPUT, "%s: \"%s\" is no kind of call; write do, undo or verify",
                          named->whole, dot + 1);
    }
    ret->kind = kind;
    return MG_OK;
}

static void name_look_up(struct named *named)
{
    const struct mg_workflow *workflow = named->workflow;
    bool may_be_step = named->mark == MARK_NONE || named->mark == MARK_STEP;
    named->step = may_be_step ? mg_workflow_step_index(workflow, named->name) : -1;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const char *name = mg_profile_shared_name(workflow, i);
        enum mark mark = is_call(workflow, i) ? MARK_SERVICE : MARK_SIGNAL;
        uint64_t *bits = mark == MARK_SERVICE ? &named->services : &named->signals;
        bool may_be_it = named->mark == MARK_NONE || named->mark == mark;
        *bits |= may_be_it && name != NULL && mg_slice_is(named->name, name) ? UINT64_C(1) << i : 0;
    }
}

static enum mg_class name_unknown(const struct named *named, struct mg_err *err)
{
    const char *names[2 * MG_STEPS_MAX + 1];
    int count = 0;
    for (int i = 0; i < named->workflow->plan.step_count; i++) {
        names[count++] = named->workflow->steps[i].name;
        if (mg_profile_shared_name(named->workflow, i) != NULL) {
            names[count++] = mg_profile_shared_name(named->workflow, i);
        }
    }
    names[count] = NULL;
    const char *nearest = mg_json_nearest(names, named->name);
    return mg_err_set(err, MG_BAD_INPUT, "the workflow has no step, service or signal \"%.*s\"; %s%s%s",
                      (int)mg_utf8_cut(named->name, MG_NAME_MAX), named->name.data,
                      nearest != NULL ? "did you mean \"" : "name one of them",
                      nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* A service alone is down, a step alone has a condition, and signals have no calls. */
static enum mg_class use_check(const struct named *named, enum mg_setting setting, int kind,
                               struct mg_err *err)
{
    const struct mg_workflow_step *steps = named->workflow->steps;
    bool is_step = named->step >= 0;
    const char *what = is_step ? "step" : named->services != 0 ? "service" : "signal";
    if ((is_of_one(setting) || is_of_signals(setting)) && kind >= 0) {
        return mg_err_set(err, MG_BAD_INPUT, "%s: leave out the kind of call", named->whole);
    }
    if (setting == MG_SETTING_DOWN && named->services == 0) {
        bool calls = is_step && is_call(named->workflow, named->step);
        return mg_err_set(err, MG_BAD_INPUT, "%s is a %s, and a service is what can be down%s%s",
                          named->whole, what, calls ? ": name " : "",
                          calls ? steps[named->step].service : "");
    }
    struct mg_slice expr, text;
    if (setting == MG_SETTING_WHEN && !is_step) {
        return mg_err_set(err, MG_BAD_INPUT, "%s is a %s, and a step is what has a condition", named->whole,
                          what);
    }
    bool is_for_calls = !is_of_one(setting) && !is_of_signals(setting) && setting != MG_SETTING_REFUSE;
    if (!is_step && (is_of_signals(setting) ? named->signals == 0 : is_for_calls && named->services == 0)) {
        return mg_err_set(err, MG_BAD_INPUT, "%s is a %s%s", named->whole, what,
                          is_of_signals(setting) ? ", and signals alone come or have choices"
                                                 : ", which is not called; --signal says when it comes");
    }
    if (setting == MG_SETTING_WHEN &&
        !mg_workflow_condition(named->workflow, named->step, MG_CONDITION_WHEN, &expr, &text)) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" has no \"when\"", steps[named->step].name);
    }
    return MG_OK;
}

/* A setting of a step that waits: it has no calls. A signal ends it, or its time, which its definition has or
 * the order. */
static enum mg_class wait_check(const struct mg_workflow *workflow, int step, enum mg_setting setting,
                                int kind, struct mg_err *err)
{
    const struct mg_workflow_step *of = &workflow->steps[step];
    bool has_signal = of->signal != NULL;
    if (setting == MG_SETTING_REFUSE && has_signal && kind < 0) {
        return of->conditions.refused_when != NULL
                   ? MG_OK
                   : mg_err_set(err, MG_BAD_INPUT,
                                "step \"%s\" has no \"refused_when\": no signal refuses it", of->name);
    }
    bool is_moment = workflow->plan.steps[step].is_until && setting == MG_SETTING_TIME && kind < 0;
    if (is_moment || setting == MG_SETTING_WHEN || (has_signal && is_of_signals(setting))) {
        return MG_OK;
    }
    if (is_of_signals(setting)) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" waits for no signal", of->name);
    }
    return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" waits and calls nothing%s", of->name,
                      setting != MG_SETTING_TIME || kind >= 0 ? ""
                      : has_signal                            ? "; --signal has the time of its signal"
                                                              : "; its definition has its time");
}

/* A setting of a step that calls: only some calls may be answered with 202. */
static enum mg_class call_check(const struct mg_workflow *workflow, int step, enum mg_setting setting,
                                int kind, struct mg_err *err)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    const char *name = workflow->steps[step].name;
    if (is_of_signals(setting)) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" waits for no signal", name);
    }
    if (kind >= 0 && !workflow->steps[step].actions[kind].is_present) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" has no %s", name, mg_kind_name((enum mg_kind)kind));
    }
    bool is_polled = (kind == MG_KIND_UNDO ? plan->undo_finish_within_ms : plan->finish_within_ms) > 0;
    if (setting == MG_SETTING_FINISH && !is_polled) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "step \"%s\" has no \"finish_within\": a 202 to its %s is its end", name,
                          kind == MG_KIND_UNDO ? "undo" : "do");
    }
    return MG_OK;
}

/* The steps that share the name, as far as the setting is for them. */
static enum mg_class sharers_find(const struct named *named, enum mg_setting setting, uint64_t *ret_steps,
                                  struct mg_err *err)
{
    *ret_steps = is_of_signals(setting)         ? named->signals
                 : setting != MG_SETTING_REFUSE ? named->services
                                                : named->services | named->signals;
    uint64_t step = named->step >= 0 ? UINT64_C(1) << named->step : 0;
    enum mark mark = (*ret_steps & named->signals) != 0 ? MARK_SIGNAL : MARK_SERVICE;
    bool is_both = setting == MG_SETTING_REFUSE && named->services != 0 && named->signals != 0;
    if ((step == 0 && is_both) || (step != 0 && (*ret_steps & ~step) != 0 && !is_of_one(setting))) {
        return mg_err_set(err, MG_BAD_INPUT, "\"%.*s\" is a %s and a %s of other steps; write %s%s or %s%s",
                          (int)named->name.len, named->name.data, step != 0 ? "step" : "service",
                          mark == MARK_SIGNAL ? "signal" : "service",
                          MARKS[step != 0 ? MARK_STEP : MARK_SERVICE], named->whole, MARKS[mark],
                          named->whole);
    }
    return MG_OK;
}

enum mg_class mg_profile_target_find(const struct mg_workflow *workflow, enum mg_setting setting,
                                     const char *name, struct mg_profile_target *ret, struct mg_err *err)
{
    struct named named = {.workflow = workflow, .whole = name};
    uint64_t sharers = 0;
    enum mg_class class = name_split(&named, ret, err);
    if (class != MG_OK) {
        return class;
    }
    name_look_up(&named);
    if (named.step < 0 && named.services == 0 && named.signals == 0) {
        return name_unknown(&named, err);
    }
    class = use_check(&named, setting, ret->kind, err);
    class = class == MG_OK ? sharers_find(&named, setting, &sharers, err) : class;
    bool is_of_step = named.step >= 0 && setting != MG_SETTING_DOWN;
    ret->steps = is_of_step ? UINT64_C(1) << named.step : sharers;
    ret->rank = (uint8_t)((is_of_step ? 2 * RANK_STEP : 2 * RANK_SHARED) + (ret->kind >= 0 ? RANK_KIND : 0));
    for (int i = 0; i < workflow->plan.step_count && class == MG_OK; i++) {
        bool is_wait = (ret->steps >> i & 1) != 0 && !is_call(workflow, i);
        if (is_wait || (is_of_step && i == named.step)) {
            class = is_wait ? wait_check(workflow, i, setting, ret->kind, err)
                            : call_check(workflow, i, setting, ret->kind, err);
        }
    }
    return class;
}
