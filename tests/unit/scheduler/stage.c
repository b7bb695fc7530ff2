/*
 * Sets the stage: a scheduler with its fakes, started and stopped for each test, and the messages to it. Time
 * passes only by the fakes of loop and clock.
 */
#include "stage.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct mg_scheduler *stage_scheduler;
const struct mg_span_sink *stage_spans;
const char *stage_traceparent;
size_t stage_memory_bytes = STAGE_MEMORY_BYTES;
int stage_exit_code;

struct mg_scheduler_options stage_options;
static struct mg_metrics *metrics;

static void on_end(void *arg, int exit_code)
{
    (void)arg;
    stage_exit_code = exit_code;
}

void stage_start(void)
{
    stage_start_limited(MG_JSON_LIMITS_DATA);
}

void stage_start_limited(struct mg_json_limits limits)
{
    struct mg_err err;
    fake_loop_reset();
    fake_store_reset();
    fake_store.workflow = STAGE_WORKFLOW;
    fake_store.definition = STAGE_DEFINITION;
    fake_broker_reset();
    stage_exit_code = -1;
    stage_options = (struct mg_scheduler_options){.broker = {.url = "amqp://test"},
                                                  .pg_dsn = "",
                                                  .instance = "test",
                                                  .workflows_dir = "",
                                                  .batch = 16,
                                                  .prefetch = 64,
                                                  .window = 100,
                                                  .memory_bytes = stage_memory_bytes,
                                                  .quiesce_ms = 3000,
                                                  .park_ms = 1000,
                                                  .owed_for_ms = 86400000,
                                                  .drain_timeout_ms = 1000,
                                                  .limits = limits,
                                                  .spans = stage_spans,
                                                  .on_end = on_end};
    metrics = mg_metrics_create();
    ck_assert_int_eq(mg_scheduler_create(NULL, &stage_options, metrics, NULL, &stage_scheduler, &err), MG_OK);
    fake_store.options.on_state(fake_store.options.arg, true, "");
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    stage_settle();
}

void stage_finish(void)
{
    mg_scheduler_destroy(stage_scheduler);
    mg_metrics_destroy(metrics);
    fake_broker_reset();
    fake_store_reset();
}

void stage_settle(void)
{
    for (int turns = 0;; turns++) {
        ck_assert_msg(turns < 10000, "it never comes to rest");
        bool has_run = fake_loop_turn();
        has_run = fake_store_answer() || has_run;
        has_run = (!fake_broker.is_held && fake_broker_confirm()) || has_run;
        if (!has_run) {
            return;
        }
    }
}

void stage_submit_from(const char *order_id, const char *items, const char *reply_to, bool is_again)
{
    char body[512];
    snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"workflow\":\"two\",\"payload\":{\"items\":%s}}",
             order_id, items);
    struct fake_delivery delivery = {.consumer = MG_LANE_NORMAL,
                                     .body = body,
                                     .message_id = order_id,
                                     .reply_to = reply_to,
                                     .correlation_id = "c1",
                                     .traceparent = stage_traceparent,
                                     .is_redelivered = is_again};
    fake_broker_deliver(&delivery);
}

void stage_pass(int64_t ms)
{
    fake_store.ahead_ms += ms;
    mg_far_clock_init(&stage_scheduler->shared.db_clock, mg_clock_wall_ms(), mg_clock_boot_ms());
}

void stage_rest_over(void)
{
    for (struct mg_gate *gate = stage_scheduler->gates.first; gate != NULL; gate = gate->next) {
        gate->queues[0].rest.until_boot_ms = gate->queues[1].rest.until_boot_ms = 0;
    }
    struct mg_silence *silence = &stage_scheduler->outbox.silence;
    for (int i = 0; i < silence->count; i++) {
        silence->queues[i].rest.until_boot_ms = 0;
    }
}

void stage_submit(const char *order_id, bool is_again)
{
    stage_submit_from(order_id, "[14.00]", "client", is_again);
}

void stage_begin(const char *order_id)
{
    stage_submit(order_id, false);
    stage_settle();
}

/* The words of a reply; NULL: there is none. */
struct reply_words {
    const char *kind, *outcome, *executed, *code, *reason, *message, *body, *result, *status, *exchange;
    bool is_over, is_probe, is_again;
    uint32_t delivery_count;
};

/* The next word. Quotes around its value, which may hold blanks, are dropped. NULL: there is none. */
static char *word_next(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    size_t len = strcspn(word, " '");
    if (word[len] == '\'') {
        memmove(&word[len], &word[len + 1], strlen(&word[len]));
        len += strcspn(&word[len], "'");
    }
    *rest = word[len] == '\0' ? &word[len] : &word[len + 1];
    word[len] = '\0';
    return word[0] != '\0' ? word : NULL;
}

static bool is_among(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

static void word_set(const char **ret_member, const char *value)
{
    ck_assert_msg(*ret_member == NULL, "a second word like %s", value);
    *ret_member = value;
}

/* NAME=VALUE. */
static void value_take(struct reply_words *words, char *word, char *value)
{
    const struct {
        const char *name, **member;
    } NAMED[] = {{"outcome", &words->outcome}, {"reason", &words->reason}, {"message", &words->message},
                 {"body", &words->body},       {"result", &words->result}, {"status", &words->status},
                 {"via", &words->exchange}};
    *value++ = '\0';
    for (size_t i = 0; i < sizeof(NAMED) / sizeof(NAMED[0]); i++) {
        if (strcmp(NAMED[i].name, word) == 0) {
            word_set(NAMED[i].member, value);
            return;
        }
    }
    ck_assert_str_eq(word, "delivered");
    words->delivery_count = (uint32_t)strtoul(value, NULL, 10);
}

static void word_take(struct reply_words *words, char *word)
{
    static const char *const KINDS[] = {"do", "undo", "verify", NULL},
                             *const EXECUTED[] = {"yes", "no", "maybe", NULL},
                             *const OUTCOMES[] = {"done",    "accepted", "transient", "permanent",
                                                  "unknown", "absent",   NULL};
    char *value = strchr(word, '=');
    if (value != NULL) {
        value_take(words, word, value);
    } else if (strcmp(word, "over") == 0) {
        words->is_over = true;
    } else if (strcmp(word, "probe") == 0) {
        words->is_probe = true;
    } else if (strcmp(word, "again") == 0) {
        words->is_again = true;
    } else {
        word_set(is_among(word, KINDS)      ? &words->kind
                 : is_among(word, OUTCOMES) ? &words->outcome
                 : is_among(word, EXECUTED) ? &words->executed
                                            : &words->code,
                 word);
    }
}

static const char *or_else(const char *word, const char *otherwise)
{
    return word != NULL ? word : otherwise;
}

/* Members of the reply, each with a comma before it. */
static void reply_rest(const struct reply_words *words, char *ret_text, size_t size)
{
    struct mg_buf text;
    mg_buf_init(&text, size);
    if (words->code != NULL) {
        mg_buf_printf(&text, ",\"error\":{\"code\":\"%s\",", words->code);
        if (words->reason != NULL) {
            mg_buf_printf(&text, "\"reason\":\"%s\",", words->reason);
        }
        mg_buf_printf(&text, "\"text\":\"\",\"message\":\"%s\",\"body\":%s}", or_else(words->message, ""),
                      or_else(words->body, "\"\""));
    }
    if (words->status != NULL) {
        mg_buf_printf(&text, ",\"http_status\":%s", words->status);
    }
    mg_buf_append_text(&text, words->is_over ? ",\"may_still_act\":false" : "");
    mg_buf_append_text(&text, words->is_probe ? ",\"probe\":true" : "");
    ck_assert(!text.failed);
    (void)snprintf(ret_text, size, "%.*s", (int)text.len, text.len > 0 ? text.data : "");
    mg_buf_finish(&text);
}

MG_PRINTF(1, 0) static void reply_deliver(const char *format, va_list arguments)
{
    char line[1500], body[4096], rest[1024], *at = line, *word;
    struct reply_words words = {0};
    ck_assert_int_lt(vsnprintf(line, sizeof(line), format, arguments), (int)sizeof(line));
    ck_assert_ptr_null(strstr(line, "(null)"));
    char *attempt = strchr(word_next(&at), '#');
    ck_assert_msg(attempt != NULL, "no attempt: %s", line);
    *attempt++ = '\0';
    char *step = strrchr(line, '.');
    ck_assert_msg(step != NULL, "no step: %s", line);
    *step++ = '\0';
    while ((word = word_next(&at)) != NULL) {
        word_take(&words, word);
    }
    const char *outcome = or_else(words.outcome, "done");
    bool is_done = strcmp(outcome, "done") == 0 || strcmp(outcome, "accepted") == 0;
    const char *executed = is_done ? "yes" : strcmp(outcome, "unknown") == 0 ? "maybe" : "no";
    reply_rest(&words, rest, sizeof(rest));
    snprintf(body, sizeof(body),
             "{\"v\":1,\"order_id\":\"%s\",\"step\":\"%s\",\"attempt\":%s,\"kind\":\"%s\",\"outcome\":\"%s\","
             "\"executed\":\"%s\",\"result\":%s%s}",
             line, step, attempt, or_else(words.kind, "do"), outcome, or_else(words.executed, executed),
             or_else(words.result, "{\"ref\":7.50}"), rest);
    struct fake_delivery delivery = {.consumer = MG_LANE_REPLIES,
                                     .type = "reply",
                                     .body = body,
                                     .is_redelivered = words.is_again,
                                     .delivery_count = words.delivery_count,
                                     .exchange = words.exchange};
    fake_broker_deliver(&delivery);
}

void stage_reply(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    reply_deliver(format, arguments);
    va_end(arguments);
}

void stage_answer(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    reply_deliver(format, arguments);
    va_end(arguments);
    stage_settle();
}

/* A member of a command, from NAME=VALUE: a value that begins as JSON is JSON, any other is a string. */
static void member_append(struct mg_buf *body, const char *name, const char *value)
{
    bool is_json = strchr("[{\"-0123456789", value[0]) != NULL || strcmp(value, "true") == 0;
    mg_buf_printf(body, is_json ? ",\"%s\":%s" : ",\"%s\":\"%s\"", name, value);
}

MG_PRINTF(1, 0) static void command_deliver(const char *format, va_list arguments)
{
    char line[1500], *at = line, *word;
    struct fake_delivery delivery = {.consumer = MG_LANE_COMMANDS, .type = "command"};
    struct mg_buf body;
    ck_assert_int_lt(vsnprintf(line, sizeof(line), format, arguments), (int)sizeof(line));
    const char *command_id = word_next(&at), *order_id = word_next(&at), *command = word_next(&at);
    ck_assert_ptr_nonnull(command);
    mg_buf_init(&body, sizeof(line) + 256);
    mg_buf_printf(&body, "{\"v\":1,\"command_id\":\"%s\",\"order_id\":\"%s\",\"command\":\"%s\"", command_id,
                  order_id, command);
    while ((word = word_next(&at)) != NULL) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            ck_assert_str_eq(word, "again");
            delivery.is_redelivered = true;
            continue;
        }
        *value++ = '\0';
        if (strcmp(word, "to") == 0) {
            delivery.reply_to = value;
        } else if (strcmp(word, "via") == 0) {
            delivery.exchange = value;
        } else {
            member_append(&body, word, value);
        }
    }
    mg_buf_append_text(&body, "}");
    ck_assert(!body.failed);
    delivery.body = body.data;
    fake_broker_deliver(&delivery);
    mg_buf_finish(&body);
}

void stage_command(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    command_deliver(format, arguments);
    va_end(arguments);
}

void stage_act(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    command_deliver(format, arguments);
    va_end(arguments);
    stage_settle();
}

enum mg_step_state stage_step(const char *order_id, int step)
{
    ck_assert_ptr_nonnull(fake_store_order(order_id));
    return fake_store_order(order_id)->order.steps[step].state;
}

enum mg_order_state stage_order(const char *order_id)
{
    ck_assert_ptr_nonnull(fake_store_order(order_id));
    return fake_store_order(order_id)->order.state;
}
