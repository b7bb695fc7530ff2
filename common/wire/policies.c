/* See policies.h. */
#include "wire/policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "json/scan.h"

#define NAME_SIZE       256 /* of a queue, policy or pattern in a line; a longer one is cut */
#define LINE_SIZE       2048
#define VALUE_MAX       64 /* shown of a value */
#define EXCHANGES       "makegood."
#define CONSUMER_MIN_MS 1800000 /* deploy/rabbitmq/rabbitmq.conf gives the reason */

static const struct mg_json_limits LISTS = {
    .max_bytes = MG_POLICY_LISTS_MAX_BYTES, .max_depth = 16, .max_members = 1000000, .any_number = true};

enum target { QUEUES, EXCHANGES_OF_OURS };

/* The effect of a key, where its value does harm. */
static const struct rule {
    const char *key, *effect;
    enum target target;
} RULES[] = {
    {"expires", "the broker deletes the queue with its messages when nothing has consumed for so long (ms)",
     QUEUES},
    {"message-ttl", "messages that wait for longer (ms) leave the queue", QUEUES},
    {"overflow", "a full queue drops messages instead of refusing new ones", QUEUES},
    {"delivery-limit", "messages leave the queue after so many returns", QUEUES},
    {"consumer-timeout", "messages in hand for longer (ms) are delivered again", QUEUES},
    {"federation-upstream", "the queue takes messages of another broker", QUEUES},
    {"federation-upstream-set", "the queue takes messages of other brokers", QUEUES},
    {"alternate-exchange", "messages for a missing queue go there instead of back to their sender",
     EXCHANGES_OF_OURS},
};

/* All matches of one policy and key. */
struct match {
    const struct rule *rule;
    struct mg_slice value;
    int count;
    char first[NAME_SIZE];
};

/* True if the value does harm to a queue with this delivery limit. */
static bool is_harmful(const struct rule *rule, struct mg_slice value, int64_t limit)
{
    bool is_number = mg_json_type_of(value) == MG_JSON_NUMBER;
    int64_t number = is_number ? strtoll(value.data, NULL, 10) : 0; /* a member's value has a '}' after it */
    if (strcmp(rule->key, "overflow") == 0) {
        return !mg_json_string_is(value, mg_slice_of("reject-publish"));
    }
    if (strcmp(rule->key, "delivery-limit") == 0) {
        return is_number && number >= 0 && number < limit;
    }
    if (strcmp(rule->key, "consumer-timeout") == 0) {
        return is_number && number < CONSUMER_MIN_MS;
    }
    return true;
}

/* The member's text as a plain line; "" if there is none. */
static void text_of(struct mg_slice object, const char *pointer, char *ret_text, size_t size)
{
    struct mg_slice value = mg_json_find(object, pointer);
    struct mg_buf text;
    mg_buf_init(&text, MG_POLICY_LISTS_MAX_BYTES);
    ret_text[0] = '\0';
    if (value.data != NULL && (mg_json_string(value, &text) || mg_json_type_of(value) == MG_JSON_NUMBER)) {
        mg_text_copy_plain(text.len > 0 ? mg_buf_slice(&text) : value, ret_text, size);
    }
    mg_buf_finish(&text);
}

static bool is_text_equal(struct mg_slice object, const char *pointer, struct mg_slice value)
{
    struct mg_slice own = mg_json_find(object, pointer);
    return own.data != NULL && value.data != NULL && mg_slice_equal(own, value);
}

/* Counts the objects of the list to which the policy applies, and on which the key does harm. */
static void match_count(struct match *match, struct mg_slice list, const char *member, struct mg_slice policy,
                        const struct mg_policy_judge *judge)
{
    struct mg_slice none, object;
    struct mg_slice name = mg_json_find(policy, "/name");
    for (struct mg_json_walk walk = mg_json_walk_of(list); mg_json_walk_next(&walk, &none, &object);) {
        char own[NAME_SIZE];
        if (!is_text_equal(object, member, name)) {
            continue;
        }
        text_of(object, "/name", own, sizeof(own));
        bool is_exchange = match->rule->target == EXCHANGES_OF_OURS;
        int64_t limit = is_exchange ? 0 : judge->limit_of(mg_slice_of(own));
        bool is_ours = is_exchange ? strncmp(own, EXCHANGES, strlen(EXCHANGES)) == 0 : limit >= 0;
        if (is_ours && is_harmful(match->rule, match->value, limit) && match->count++ == 0) {
            memcpy(match->first, own, sizeof(own));
        }
    }
}

static void match_report(const struct match *match, struct mg_slice policy, bool is_operators,
                         const struct mg_policy_judge *judge)
{
    char line[LINE_SIZE], name[NAME_SIZE], pattern[NAME_SIZE], priority[32], more[48] = "";
    text_of(policy, "/name", name, sizeof(name));
    text_of(policy, "/pattern", pattern, sizeof(pattern));
    text_of(policy, "/priority", priority, sizeof(priority));
    if (match->count > 1) {
        (void)snprintf(more, sizeof(more), " and %d more", match->count - 1);
    }
    const char *kind = is_operators ? "operator policy" : "policy";
    (void)snprintf(line, sizeof(line),
                   "%s %s (pattern %s, priority %s) sets %s %.*s on %s%s: %s; run: rabbitmqctl clear_%s -p "
                   "%.255s %s%s",
                   kind, name, pattern, priority, match->rule->key,
                   (int)(match->value.len < VALUE_MAX ? match->value.len : VALUE_MAX), match->value.data,
                   match->first, more, match->rule->effect, is_operators ? "operator_policy" : "policy",
                   judge->vhost, name,
                   is_operators || match->rule->target == EXCHANGES_OF_OURS
                       ? ""
                       : ", or give policy " MG_POLICY_NAME " a higher priority");
    judge->found(judge->arg, line);
}

static void policy_judge(const struct mg_policy_lists *lists, struct mg_slice policy, bool is_operators,
                         const struct mg_policy_judge *judge)
{
    const char *member = is_operators ? "/operator_policy" : "/policy";
    struct mg_slice definition = mg_json_find(policy, "/definition");
    for (size_t i = 0; definition.data != NULL && i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        char pointer[64];
        (void)snprintf(pointer, sizeof(pointer), "/%s", RULES[i].key);
        struct match match = {.rule = &RULES[i], .value = mg_json_find(definition, pointer)};
        bool is_exchange = RULES[i].target == EXCHANGES_OF_OURS;
        if (match.value.data == NULL) {
            continue;
        }
        match_count(&match, is_exchange ? lists->exchanges : lists->queues, member, policy, judge);
        if (match.count > 0) {
            match_report(&match, policy, is_operators, judge);
        }
    }
}

enum mg_class mg_policy_list_check(struct mg_slice list, const char *name, struct mg_err *err)
{
    enum mg_class class = mg_json_check(list, &LISTS, err);
    if (class == MG_OK && mg_json_type_of(mg_json_trim(list)) != MG_JSON_ARRAY) {
        class = mg_err_set(err, MG_TRANSIENT, "not an array");
    }
    if (class != MG_OK) {
        (void)mg_err_prefix(err, "could not read the broker's list of %s", name);
        return err->class = MG_TRANSIENT;
    }
    return MG_OK;
}

static enum mg_class lists_check(const struct mg_policy_lists *lists, struct mg_err *err)
{
    enum mg_class class = mg_policy_list_check(lists->queues, "queues", err);
    if (class == MG_OK) {
        class = mg_policy_list_check(lists->exchanges, "exchanges", err);
    }
    if (class == MG_OK) {
        class = mg_policy_list_check(lists->policies, "policies", err);
    }
    return class == MG_OK ? mg_policy_list_check(lists->operator_policies, "operator policies", err) : class;
}

enum mg_class mg_policies_judge(const struct mg_policy_lists *lists, const struct mg_policy_judge *judge,
                                struct mg_err *err)
{
    enum mg_class class = lists_check(lists, err);
    for (int is_operators = 0; is_operators < 2 && class == MG_OK; is_operators++) {
        struct mg_slice none, policy;
        struct mg_json_walk walk = mg_json_walk_of(is_operators ? lists->operator_policies : lists->policies);
        while (mg_json_walk_next(&walk, &none, &policy)) {
            policy_judge(lists, policy, is_operators != 0, judge);
        }
    }
    return class;
}

enum mg_class mg_policy_write(struct mg_slice policies, struct mg_buf *ret_body, struct mg_err *err)
{
    struct mg_slice none, policy, definition = mg_slice_of(MG_POLICY_DEFINITION);
    enum mg_class class = mg_policy_list_check(policies, "policies", err);
    if (class != MG_OK) {
        return class;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(policies); mg_json_walk_next(&walk, &none, &policy);) {
        if (mg_json_string_is(mg_json_find(policy, "/name"), mg_slice_of(MG_POLICY_NAME))) {
            definition = mg_json_find(policy, "/definition");
        }
    }
    mg_buf_append_text(ret_body,
                       "{\"apply-to\":\"queues\",\"priority\":" MG_POLICY_PRIORITY_TEXT ",\"pattern\":");
    mg_buf_append_json(ret_body, mg_slice_of(MG_POLICY_PATTERN));
    mg_buf_append_text(ret_body, ",\"definition\":");
    mg_buf_append_slice(ret_body, definition);
    mg_buf_append_text(ret_body, "}");
    return ret_body->failed ? mg_err_set(err, MG_TRANSIENT, "could not write the policy: no memory") : MG_OK;
}
