/* See profile_names.h. */
#include "profile_names.h"

#include <string.h>

#include "json/reader.h"

/* Ranks: a service, a service's kind, a step, a step's kind. */
enum { RANK_SERVICE = 1, RANK_KIND = 1, RANK_STEP = 2 };

/* Marks in front of a name that is both. */
static const char STEP_MARK[] = "step:", SERVICE_MARK[] = "service:";

struct named {
    const struct mg_workflow *workflow;
    const char *whole;
    struct mg_slice name; /* without mark and kind */
    bool is_step_only, is_service_only;
    int step;          /* -1: none */
    uint64_t services; /* bits: the steps that call a service of this name */
};

static bool is_call(const struct mg_workflow *workflow, int step)
{
    return !workflow->plan.steps[step].is_wait;
}

static enum mg_class name_split(struct named *named, struct mg_profile_target *ret, struct mg_err *err)
{
    const char *at = named->whole;
    named->is_step_only = strncmp(at, STEP_MARK, strlen(STEP_MARK)) == 0;
    named->is_service_only = strncmp(at, SERVICE_MARK, strlen(SERVICE_MARK)) == 0;
    at += named->is_step_only ? strlen(STEP_MARK) : named->is_service_only ? strlen(SERVICE_MARK) : 0;
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
    named->step = named->is_service_only ? -1 : mg_workflow_step_index(workflow, named->name);
    for (int i = 0; i < workflow->plan.step_count && !named->is_step_only; i++) {
        bool is_it = is_call(workflow, i) && mg_slice_is(named->name, workflow->steps[i].service);
        named->services |= is_it ? UINT64_C(1) << i : 0;
    }
}

static enum mg_class name_unknown(const struct named *named, struct mg_err *err)
{
    const char *names[2 * MG_STEPS_MAX + 1];
    int count = 0;
    for (int i = 0; i < named->workflow->plan.step_count; i++) {
        names[count++] = named->workflow->steps[i].name;
        if (is_call(named->workflow, i)) {
            names[count++] = named->workflow->steps[i].service;
        }
    }
    names[count] = NULL;
    const char *nearest = mg_json_nearest(names, named->name);
    return mg_err_set(err, MG_BAD_INPUT, "the workflow has no step or service \"%.*s\"; %s%s%s",
                      (int)mg_utf8_cut(named->name, MG_NAME_MAX), named->name.data,
                      nearest != NULL ? "did you mean \"" : "name one of them",
                      nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* A service alone is down, and a step alone has a condition. */
static enum mg_class use_check(const struct named *named, enum mg_setting setting, int kind,
                               struct mg_err *err)
{
    const struct mg_workflow_step *steps = named->workflow->steps;
    bool is_whole = setting == MG_SETTING_DOWN || setting == MG_SETTING_WHEN;
    if (is_whole && kind >= 0) {
        return mg_err_set(err, MG_BAD_INPUT, "%s: leave out the kind of call", named->whole);
    }
    if (setting == MG_SETTING_DOWN && named->services == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "%s is a step, and a service is what can be down%s%s",
                          named->whole, is_call(named->workflow, named->step) ? ": name " : "",
                          is_call(named->workflow, named->step) ? steps[named->step].service : "");
    }
    struct mg_slice expr, text;
    if (setting == MG_SETTING_WHEN && named->step < 0) {
        return mg_err_set(err, MG_BAD_INPUT, "%s is a service, and a step is what has a condition",
                          named->whole);
    }
    if (setting == MG_SETTING_WHEN &&
        !mg_workflow_condition(named->workflow, named->step, MG_CONDITION_WHEN, &expr, &text)) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" has no \"when\"", steps[named->step].name);
    }
    return MG_OK;
}

/* A setting of a step alone: a wait has no calls, and only some calls may be answered with 202. */
static enum mg_class step_check(const struct mg_workflow *workflow, int step, enum mg_setting setting,
                                int kind, struct mg_err *err)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    const char *name = workflow->steps[step].name;
    bool is_moment = plan->is_until && setting == MG_SETTING_TIME && kind < 0;
    if (plan->is_wait && !is_moment && setting != MG_SETTING_WHEN) {
        return mg_err_set(err, MG_BAD_INPUT, "step \"%s\" waits and calls nothing%s", name,
                          setting == MG_SETTING_TIME && kind < 0 ? "; its definition has its time" : "");
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

enum mg_class mg_profile_target_find(const struct mg_workflow *workflow, enum mg_setting setting,
                                     const char *name, struct mg_profile_target *ret, struct mg_err *err)
{
    struct named named = {.workflow = workflow, .whole = name};
    enum mg_class class = name_split(&named, ret, err);
    if (class != MG_OK) {
        return class;
    }
    name_look_up(&named);
    if (named.step < 0 && named.services == 0) {
        return name_unknown(&named, err);
    }
    class = use_check(&named, setting, ret->kind, err);
    if (class != MG_OK) {
        return class;
    }
    uint64_t step = named.step >= 0 ? UINT64_C(1) << named.step : 0;
    bool is_either = setting == MG_SETTING_DOWN || setting == MG_SETTING_WHEN;
    if (step != 0 && named.services != 0 && named.services != step && !is_either) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "\"%.*s\" is a step and a service of other steps; write step:%s or service:%s",
                          (int)named.name.len, named.name.data, name, name);
    }
    bool is_of_step = step != 0 && setting != MG_SETTING_DOWN;
    ret->steps = is_of_step ? step : named.services;
    ret->rank = (uint8_t)((is_of_step ? 2 * RANK_STEP : 2 * RANK_SERVICE) + (ret->kind >= 0 ? RANK_KIND : 0));
    return is_of_step ? step_check(workflow, named.step, setting, ret->kind, err) : MG_OK;
}
