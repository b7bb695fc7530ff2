/* See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET   "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define COLUMNS  5 /* of a report of statuses, with these among them */
#define SEQ      2
#define BODY     4
#define ROWS_MAX 16

struct fake_world fake;

static void tell(const char *action, const char *status)
{
    size_t len = strlen(fake.story);
    ck_assert_uint_lt((size_t)snprintf(fake.story + len, sizeof(fake.story) - len, "%s%s:%s",
                                       len > 0 ? " " : "", action, status),
                      sizeof(fake.story) - len);
}

/* The name of a status, from its body. */
static void name_of(struct mg_slice body, char ret_name[16])
{
    struct mg_status_identity identity;
    struct mg_err err;
    if (mg_status_identify(body, &identity, &err) != MG_OK) {
        (void)snprintf(ret_name, 16, "?");
        return;
    }
    (void)snprintf(ret_name, 16, "%.4s%d", identity.order_id, (int)identity.seq);
}

static void body_of(const char *order, int seq, char ret_body[128])
{
    (void)snprintf(ret_body, 128,
                   "{\"v\":1,\"order_id\":\"%.1s\",\"seq\":%d,\"status\":\"%s\",\"at\":\"" FAKE_AT "\"}",
                   order, seq, seq == 0 ? "rejected" : "accepted");
}

uint64_t mg_random_u64(void)
{
    return fake.random;
}

/* ---- broker ---- */

static void on_action(char action, const struct mg_delivery *delivery)
{
    char name[16] = "-";
    if (!delivery->is_oversized) {
        name_of(delivery->body, name);
    }
    tell(action == 'a' ? "ack" : action == 'x' ? "reject" : "requeue", name);
}

void fake_deliver(const char *status)
{
    char body[128] = "no status";
    if (status[0] != '?' && status[0] != '-') {
        body_of(status, (int)strtol(status + 1, NULL, 10), body);
    }
    fake_broker_deliver(&(struct fake_delivery){.body = body, .is_oversized = status[0] == '-'});
}

/* ---- HTTP client ---- */

static void on_call(const struct fake_call *call)
{
    char name[16];
    name_of(mg_slice_of(call->body), name);
    ck_assert_str_eq(call->method, "POST");
    tell(call->is_open ? "send" : "refused", name);
}

static void request_answer(const char *status, struct mg_http_answer answer)
{
    char name[16];
    for (int i = 0; i < fake_http.count; i++) {
        name_of(mg_slice_of(fake_http.calls[i].body), name);
        if (fake_http.calls[i].is_open && strcmp(name, status) == 0) {
            fake_http_answer(i, &answer);
            return;
        }
    }
    ck_abort_msg("no open request of %s", status);
}

void fake_answer_later(const char *status, int http_status, int64_t retry_after_ms)
{
    request_answer(status, (struct mg_http_answer){.status = http_status < 0 ? 0 : http_status,
                                                   .sent = http_status < 0 ? MG_SENT_MAYBE : MG_SENT_YES,
                                                   .retry_after_ms = retry_after_ms});
}

void fake_answer_cut(const char *status, int http_status)
{
    request_answer(status, (struct mg_http_answer){.status = http_status,
                                                   .sent = MG_SENT_MAYBE,
                                                   .retry_after_ms = -1,
                                                   .reason = "answer's head is cut off"});
}

void fake_answer(const char *status, int http_status)
{
    fake_answer_later(status, http_status, -1);
}

const char *fake_header(int call, const char *name)
{
    static char values[2][256];
    static int turn;
    char *value = values[turn++ % 2];
    const char *line = fake_http_header(&fake_http.calls[call], name);
    ck_assert_msg(line != NULL, "no header %s", name);
    (void)snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(line, "\n"), line);
    return value;
}

/* ---- store ---- */

static void on_ask(const struct fake_report *report)
{
    char what[32];
    bool is_of_client = report->report == MG_REPORT_STATUSES_OF_CLIENT;
    ck_assert_int_eq(report->param_count, is_of_client ? 5 : 4);
    ck_assert_str_eq(report->params[0], FAKE_CLIENT);
    (void)snprintf(what, sizeof(what), "%s>%s", report->params[1], report->params[2]);
    tell(is_of_client ? "ask" : "archive", what);
}

void fake_rows(bool has_order, int first, int last)
{
    static char seqs[ROWS_MAX][12], bodies[ROWS_MAX][128];
    const char *cells[ROWS_MAX * COLUMNS] = {NULL}; /* an order without a status: one row of nulls */
    int count = last == 0 ? 0 : last - first + 1;
    ck_assert_int_le(count, ROWS_MAX);
    for (int i = 0; i < count; i++) {
        (void)snprintf(seqs[i], sizeof(seqs[i]), "%d", first + i);
        body_of(fake_reports.open[0].params[1], first + i, bodies[i]);
        cells[i * COLUMNS + SEQ] = seqs[i];
        cells[i * COLUMNS + BODY] = bodies[i];
    }
    const struct mg_rows rows = {!has_order ? 0 : count > 0 ? count : 1, COLUMNS, cells};
    fake_report_answer(0, &rows, NULL);
}

void fake_rows_fail(void)
{
    fake_report_answer(0, NULL, "the database is down");
}

/* ---- the hook ---- */

struct mg_hook_target fake_target(const char *url)
{
    struct mg_hook_target target = {.client = FAKE_CLIENT, .url = strdup(url), .concurrency = 8};
    struct mg_err err;
    ck_assert_int_eq(mg_webhook_secrets_parse(mg_slice_of(SECRET), &target.secrets, &err), MG_OK);
    return target;
}

void fake_start(void)
{
    struct mg_hook_target target = fake_target("https://shop.example.org/");
    struct mg_err err;
    fake_broker_reset();
    fake_http_reset();
    fake_loop_reset();
    fake_reports_reset();
    fake_log = (struct fake_log){0};
    fake_clock = (struct fake_clock){.boot_ms = 1000000, .wall_ms = FAKE_AT_MS + 1000};
    fake_broker.on_action = on_action;
    fake_http.on_call = on_call;
    fake_reports.on_ask = on_ask;
    fake = (struct fake_world){.random = FAKE_LONGEST};
    fake.options =
        (struct mg_gateway_options){.process = &fake.process, .webhook_ca_file = "", .webhooks_file = ""};
    fake.gateway = (struct mg_gateway){.options = &fake.options, .metrics = mg_metrics_create()};
    ck_assert_int_eq(mg_hook_create(&fake.gateway, &target, 0, &fake.hook, &err), MG_OK);
    ck_assert(target.url == NULL && target.secrets.count == 0);
    ck_assert(fake_broker.options.only_consumes && fake_broker.options.consumer_count == 1);
    ck_assert_str_eq(fake_broker.options.consumers[0].queue, "client.shop.webhook");
    ck_assert_int_eq(fake_http.options.max_connections, 64);
}

void fake_end(void)
{
    mg_hook_destroy(fake.hook);
    while (fake_reports.open_count > 0) {
        fake_rows_fail();
    }
    fake_broker_reset();
    mg_metrics_destroy(fake.gateway.metrics);
}

void fake_expect(const char *story)
{
    ck_assert_str_eq(fake.story, story);
    fake.story[0] = '\0';
}
