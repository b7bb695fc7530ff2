/*
 * The meaning of an HTTP status: rules of the service file first (an exact status before a range), then the
 * defaults. Only a documented refusal proves that nothing happened. Every other failure after sending is
 * maybe.
 */
#include <string.h>

#include "service/file_reader.h"

static const char *const RULE_NAMES[] = {"outcome", "executed", "kinds", NULL};

/* "409" or "5xx". */
static bool read_range(struct mg_slice quoted, struct mg_answer_rule *rule)
{
    if (quoted.len != 5) {
        return false;
    }
    const char *text = quoted.data + 1;
    if (text[0] < '1' || text[0] > '5') {
        return false;
    }
    int hundreds = (text[0] - '0') * 100;
    if (text[1] == 'x' && text[2] == 'x') {
        rule->status_from = hundreds;
        rule->status_to = hundreds + 99;
        return true;
    }
    if (text[1] < '0' || text[1] > '9' || text[2] < '0' || text[2] > '9') {
        return false;
    }
    rule->status_from = rule->status_to = hundreds + (text[1] - '0') * 10 + (text[2] - '0');
    return true;
}

static void read_kinds(const struct mg_json_object *object, struct mg_answer_rule *rule)
{
    struct mg_slice kinds = mg_json_get_typed(object, "kinds", MG_OPTIONAL, MG_JSON_ARRAY);
    struct mg_slice none, value;
    int count = 0;

    if (kinds.data == NULL) {
        return;
    }
    memset(rule->for_kind, 0, sizeof(rule->for_kind));
    for (struct mg_json_walk walk = mg_json_walk_of(kinds); mg_json_walk_next(&walk, &none, &value);
         count++) {
        int kind = -1;
        if (mg_json_type_of(value) == MG_JSON_STRING) {
            kind = mg_json_word_of(object, "kinds", value, MG_WORDS_KIND, MG_BAD_INPUT);
        } else {
            mg_json_member_fault(object, MG_BAD_INPUT, "kinds",
                                 "%s; \"do\", \"undo\" or \"verify\" is expected",
                                 mg_json_type_name(mg_json_type_of(value)));
        }
        if (kind >= 0) {
            rule->for_kind[kind] = true;
        }
    }
    if (count == 0) {
        mg_json_member_fault(object, MG_BAD_INPUT, "kinds", "empty; name kinds, or leave it out for all");
    }
}

static void read_rule(const struct mg_json_object *answers, const char *pointer, struct mg_slice value,
                      struct mg_answer_rule *rule)
{
    struct mg_json_object object = {.faults = answers->faults, .names = RULE_NAMES};
    int outcome = -1, executed = -1;

    for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
        rule->for_kind[kind] = true;
    }
    if (mg_json_type_of(value) == MG_JSON_STRING) {
        /* The short form is only the outcome's word; faults name the place of the whole rule. */
        struct mg_json_object parent = {.faults = answers->faults, .pointer = "/answers"};
        outcome =
            mg_json_word_of(&parent, pointer + strlen("/answers/"), value, MG_WORDS_OUTCOME, MG_BAD_INPUT);
    } else if (mg_json_type_of(value) != MG_JSON_OBJECT) {
        mg_json_fault(answers->faults, MG_BAD_INPUT, pointer,
                      "%s; an outcome's word or {\"outcome\": …} is expected",
                      mg_json_type_name(mg_json_type_of(value)));
    } else if (mg_json_object_open(&object, answers->faults, value, pointer, RULE_NAMES,
                                   MG_JSON_UNKNOWN_REFUSED)) {
        outcome = mg_json_get_word(&object, "outcome", MG_REQUIRED, MG_WORDS_OUTCOME, MG_BAD_INPUT, -1);
        executed = mg_json_get_word(&object, "executed", MG_OPTIONAL, MG_WORDS_EXECUTED, MG_BAD_INPUT, -1);
        read_kinds(&object, rule);
    }
    if (outcome < 0) {
        return;
    }
    rule->outcome = (enum mg_outcome)outcome;
    rule->executed = executed >= 0 ? (enum mg_executed)executed : mg_maybe_answered(rule->outcome);
}

void mg_service_read_answers(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_slice answers = mg_json_get_typed(object, "answers", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_slice name, value;
    int count = 0;

    for (struct mg_json_walk walk = mg_json_walk_of(answers); mg_json_walk_next(&walk, &name, &value);
         count++) {
        char pointer[MG_JSON_POINTER_SIZE];
        if (count >= MG_SERVICE_RULES_MAX) {
            mg_json_member_fault(object, MG_BAD_INPUT, "answers",
                                 "more than %d rules; use ranges such as \"5xx\"", MG_SERVICE_RULES_MAX);
            return;
        }
        struct mg_answer_rule *rule = &service->rules[count];
        mg_json_pointer_join("/answers", (struct mg_slice){name.data + 1, name.len - 2}, pointer);
        if (!read_range(name, rule)) {
            mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                          "not an HTTP status; write \"409\", or \"4xx\" for a range");
        }
        read_rule(object, pointer, value, rule);
        service->rule_count = count + 1;
    }
}

/* ---- classifying ---- */

static const struct mg_answer_rule *find_rule(const struct mg_service *service, enum mg_kind kind, int status,
                                              bool is_exact)
{
    for (int i = 0; i < service->rule_count; i++) {
        const struct mg_answer_rule *rule = &service->rules[i];
        if ((rule->status_from == rule->status_to) != is_exact || !rule->for_kind[kind]) {
            continue;
        }
        if (status >= rule->status_from && status <= rule->status_to) {
            return rule;
        }
    }
    return NULL;
}

static enum mg_outcome default_outcome(enum mg_kind kind, int status)
{
    if (status == 202) {
        return MG_OUTCOME_ACCEPTED;
    }
    if (status >= 200 && status <= 299) {
        return MG_OUTCOME_DONE;
    }
    if (status >= 300 && status <= 399) {
        return MG_OUTCOME_PERMANENT; /* not followed; the URL is wrong until changed */
    }
    if (status == 408 || status == 409 || status == 425 || status == 429) {
        return MG_OUTCOME_TRANSIENT;
    }
    if (status >= 500 && status <= 599) {
        return MG_OUTCOME_TRANSIENT;
    }
    if ((status == 404 || status == 410) && kind != MG_KIND_DO) {
        return MG_OUTCOME_ABSENT;
    }
    if (status >= 400 && status <= 499) {
        return MG_OUTCOME_PERMANENT;
    }
    return MG_OUTCOME_UNKNOWN;
}

bool mg_service_has_rule(const struct mg_service *service, enum mg_kind kind, int http_status)
{
    return find_rule(service, kind, http_status, true) != NULL ||
           find_rule(service, kind, http_status, false) != NULL;
}

struct mg_maybe mg_service_classify(const struct mg_service *service, enum mg_kind kind, int http_status,
                                    bool is_pollable)
{
    const struct mg_answer_rule *rule = find_rule(service, kind, http_status, true);
    if (rule == NULL) {
        rule = find_rule(service, kind, http_status, false);
    }
    enum mg_outcome outcome = rule != NULL ? rule->outcome : default_outcome(kind, http_status);
    if (outcome == MG_OUTCOME_ACCEPTED && !is_pollable) {
        return mg_maybe_of(MG_SEEN_UNPOLLED, kind);
    }
    if (rule == NULL && http_status >= 300 && http_status <= 399) {
        return mg_maybe_of(MG_SEEN_REDIRECT, kind);
    }
    return (struct mg_maybe){outcome, rule != NULL ? rule->executed : mg_maybe_answered(outcome), false};
}
