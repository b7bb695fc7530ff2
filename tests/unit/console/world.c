/* See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "io/amqp/topology.h"
#include "json/json.h"

struct fake_world fake;

static void keep(char *ret_text, size_t size, const char *text)
{
    ck_assert_int_lt(snprintf(ret_text, size, "%s", text), (int)size);
}

/* ---- requests ---- */

const char *mg_http_exchange_method(const struct mg_http_exchange *request)
{
    return request->method;
}

const char *mg_http_exchange_path(const struct mg_http_exchange *request)
{
    return request->path;
}

const char *mg_http_exchange_query_fault(const struct mg_http_exchange *request, const char *names)
{
    (void)request, (void)names;
    return NULL;
}

const char *mg_http_exchange_header(const struct mg_http_exchange *request, const char *name)
{
    const struct {
        const char *name, *value;
    } headers[] = {{"Host", request->host},
                   {"Content-Type", request->type},
                   {"Origin", request->origin},
                   {"Sec-Fetch-Site", request->site},
                   {"X-Makegood-CSRF", request->csrf}};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (strcmp(headers[i].name, name) == 0) {
            return headers[i].value;
        }
    }
    return NULL;
}

unsigned int mg_http_exchange_header_count(const struct mg_http_exchange *request, const char *name)
{
    return mg_http_exchange_header(request, name) != NULL ? 1 : 0;
}

const char *mg_http_exchange_cookie(const struct mg_http_exchange *request, const char *name)
{
    return strcmp(name, request->cookie_name) == 0 ? request->cookie : NULL;
}

struct mg_slice mg_http_exchange_body(const struct mg_http_exchange *request)
{
    return mg_slice_of(request->body);
}

/* Bodies are short here: their bound is a matter of unit.http_memory. */
void mg_http_exchange_body_limit(struct mg_http_exchange *request, size_t max)
{
    (void)request, (void)max;
}

void mg_http_exchange_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg)
{
    ck_assert_uint_eq(request->status, 0);
    request->gone = gone;
    request->gone_arg = arg;
}

void mg_http_answer(struct mg_http_exchange *request, const struct mg_http_response *answer)
{
    ck_assert_msg(request->status == 0, "%s was answered twice: %u %s", request->path, request->status,
                  request->text);
    request->status = answer->status;
    ck_assert_uint_lt(answer->body.len, sizeof(request->text));
    memcpy(request->text, answer->body.data, answer->body.len);
    for (const struct mg_http_header *header = answer->headers; header->name != NULL; header++) {
        if (strcmp(header->name, "Set-Cookie") == 0) {
            keep(request->set_cookie, sizeof(request->set_cookie), header->value);
        } else if (strcmp(header->name, "Retry-After") == 0) {
            keep(request->retry_after, sizeof(request->retry_after), header->value);
        }
    }
}

struct mg_http_exchange fake_get(const char *path)
{
    return (struct mg_http_exchange){
        .method = "GET", .path = path, .host = HOST, .cookie_name = "makegood-9180", .body = ""};
}

struct mg_http_exchange fake_post(const char *path, const char *body)
{
    return (struct mg_http_exchange){.method = "POST",
                                     .path = path,
                                     .host = HOST,
                                     .type = "application/json",
                                     .origin = ORIGIN,
                                     .site = "same-origin",
                                     .cookie_name = "makegood-9180",
                                     .body = body};
}

unsigned int fake_send(struct mg_http_exchange *request)
{
    fake.reached = NULL;
    mg_route_request(&fake.console, request);
    return request->status;
}

void fake_go(struct mg_http_exchange *request)
{
    ck_assert_uint_eq(request->status, 0);
    ck_assert_ptr_nonnull(request->gone);
    request->gone(request->gone_arg);
}

void fake_use(struct mg_http_exchange *request, const struct fake_browser *browser)
{
    request->cookie = browser->cookie;
    request->csrf = browser->csrf;
}

static void member_read(const struct mg_http_exchange *request, const char *pointer, char *ret_text,
                        size_t size)
{
    struct mg_buf text;
    mg_buf_init(&text, size);
    ck_assert(mg_json_string(mg_json_find(mg_slice_of(request->text), pointer), &text));
    keep(ret_text, size, text.len > 0 ? text.data : "");
    mg_buf_finish(&text);
}

struct fake_browser fake_login(const char *token)
{
    struct fake_browser browser = {.cookie = ""};
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"token\": \"%s\"}", token);
    struct mg_http_exchange request = fake_post("/api/v1/login", body);
    ck_assert_msg(fake_send(&request) == 200, "%s: %s", token, request.text);
    const char *value = strchr(request.set_cookie, '=') + 1;
    (void)snprintf(browser.cookie, sizeof(browser.cookie), "%.*s", (int)strcspn(value, ";"), value);
    member_read(&request, "/csrf", browser.csrf, sizeof(browser.csrf));
    return browser;
}

const char *fake_role(const struct fake_browser *browser)
{
    static char role[16];
    struct mg_http_exchange request = fake_get("/api/v1/me");
    request.cookie_name = fake.process.http_cert_file[0] != '\0' ? "__Host-makegood-9180" : "makegood-9180";
    fake_use(&request, browser);
    ck_assert_uint_eq(fake_send(&request), 200);
    member_read(&request, "/role", role, sizeof(role));
    return role;
}

/* ---- pages ---- */

static bool reach(const char *page, const char *id)
{
    fake.reached = page;
    keep(fake.reached_id, sizeof(fake.reached_id), id);
    return true;
}

#define PLAN(name)                                                                                           \
    bool mg_query_##name(struct mg_page *page, struct mg_query *ret_query)                                   \
    {                                                                                                        \
        (void)ret_query;                                                                                     \
        return reach(#name, page->id);                                                                       \
    }
PLAN(orders)
PLAN(calls)
PLAN(failures)
PLAN(alerts)
PLAN(services)
PLAN(workflows)
PLAN(schedules)
PLAN(schedule)
PLAN(bulk_list)
PLAN(bulk)
PLAN(choice)
PLAN(find)
PLAN(waiting)
PLAN(workflow)
PLAN(audit)

bool mg_query_order(struct mg_page *page, struct mg_query *ret_query)
{
    (void)ret_query;
    (void)snprintf(page->refusal, sizeof(page->refusal), "this is no order's id");
    return reach("order", page->id) && strcmp(page->id, "bad") != 0;
}

void mg_query_overview(struct mg_query *ret_query)
{
    (void)ret_query;
    (void)reach("overview", "");
}

void mg_ask_for_request(struct mg_asker *asker, const struct mg_query *query,
                        struct mg_http_exchange *request)
{
    (void)asker;
    (void)query;
    mg_answer_json(request, 200, mg_slice_of("{}"));
}

void mg_asker_forget(struct mg_asker *asker)
{
    (void)asker;
    fake.forgotten++;
}

void mg_live_listen(struct mg_live *live, struct mg_http_exchange *request, const struct mg_visitor *visitor)
{
    (void)live;
    fake.session = visitor->session;
    (void)reach("live", "");
    mg_answer_json(request, 200, mg_slice_of("{}"));
}

void mg_dead_list(struct mg_dead *dead, struct mg_http_exchange *request)
{
    (void)dead;
    (void)reach("dead", "");
    mg_answer_json(request, 200, mg_slice_of("{}"));
}

void mg_asset_answer(struct mg_http_exchange *request)
{
    (void)reach("asset", "");
    mg_answer_json(request, strcmp(request->path, "/") == 0 ? 200 : 404, mg_slice_of("{}"));
}

/* ---- dead letters ---- */

bool mg_dead_queue_is_known(const char *queue)
{
    return strcmp(queue, MG_QUEUE_DEAD) == 0;
}

void mg_dead_settle(struct mg_dead *dead, struct mg_http_exchange *request,
                    const struct mg_dead_settlement *settlement)
{
    (void)dead;
    fake.settled++;
    fake.dead = *settlement;
    keep(fake.queue, sizeof(fake.queue), settlement->queue);
    keep(fake.mark, sizeof(fake.mark), settlement->mark);
    keep(fake.reason, sizeof(fake.reason), settlement->reason);
    if (request != NULL) {
        mg_answer_json(request, 200, mg_slice_of("{}"));
    }
}

/* ---- the store ---- */

static void ask(enum fake_question question, void *arg)
{
    ck_assert_int_eq(fake.question, FAKE_NOTHING);
    fake.question = question;
    fake.arg = arg;
    fake.asked++;
}

void mg_store_note_action(struct mg_store *store, const struct mg_operator_action *action,
                          mg_store_done_fn *done, void *arg)
{
    (void)store;
    keep(fake.by, sizeof(fake.by), action->by);
    keep(fake.verb, sizeof(fake.verb), action->verb);
    keep(fake.subject, sizeof(fake.subject), action->subject);
    keep(fake.reason, sizeof(fake.reason), action->reason);
    keep(fake.detail, sizeof(fake.detail), action->detail.data);
    fake.noted = done;
    ask(FAKE_NOTE, arg);
}

void mg_store_put_setting(struct mg_store *store, const struct mg_service_setting *setting,
                          mg_store_setting_fn *done, void *arg)
{
    (void)store;
    fake.setting = *setting;
    keep(fake.by, sizeof(fake.by), setting->by);
    keep(fake.subject, sizeof(fake.subject), setting->service);
    keep(fake.concurrency, sizeof(fake.concurrency),
         setting->concurrency != NULL ? setting->concurrency : "as is");
    keep(fake.rate, sizeof(fake.rate), setting->rate_per_s != NULL ? setting->rate_per_s : "as is");
    fake.setting_put = done;
    ask(FAKE_SETTING, arg);
}

void mg_store_load_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, mg_store_slot_fn *done,
                        void *arg)
{
    (void)store, (void)slot_ms;
    keep(fake.subject, sizeof(fake.subject), schedule);
    fake.schedule_read = done;
    ask(FAKE_SCHEDULE, arg);
}

/* The clock and the zones are answered at once. */
void mg_store_look_zone(struct mg_store *store, const char *zone, int64_t at_ms, mg_store_zone_fn *done,
                        void *arg)
{
    (void)store, (void)zone, (void)at_ms;
    done(arg, true, 1000, 1000, NULL);
}

void mg_store_find_slots(struct mg_store *store, const char *zone, const int64_t *minutes, int count,
                         int64_t after_ms, mg_store_slots_fn *done, void *arg)
{
    (void)store, (void)zone, (void)minutes, (void)count;
    int64_t slot_ms = after_ms + 1;
    done(arg, &slot_ms, 1, NULL);
}

void mg_store_change_schedule(struct mg_store *store, const struct mg_schedule_change *wanted,
                              mg_store_setting_fn *done, void *arg)
{
    (void)store;
    fake.schedule_change = *wanted;
    keep(fake.by, sizeof(fake.by), wanted->by);
    keep(fake.subject, sizeof(fake.subject), wanted->schedule);
    fake.schedule_changed = done;
    ask(FAKE_SCHEDULE_CHANGE, arg);
}

void mg_store_ack_alert(struct mg_store *store, const struct mg_alert_ack *ack, mg_store_acked_fn *done,
                        void *arg)
{
    (void)store;
    fake.alert_id = ack->alert_id;
    keep(fake.by, sizeof(fake.by), ack->by);
    keep(fake.reason, sizeof(fake.reason), ack->reason);
    fake.acked = done;
    ask(FAKE_ACK, arg);
}

void mg_store_start_bulk(struct mg_store *store, const struct mg_bulk_start *start,
                         mg_store_bulk_started_fn *done, void *arg)
{
    (void)store;
    fake.start = *start;
    keep(fake.bulk_id, sizeof(fake.bulk_id), start->bulk_id);
    keep(fake.by, sizeof(fake.by), start->by);
    keep(fake.rate, sizeof(fake.rate), start->rate_per_s);
    const struct mg_failure_filter *filter = &start->filter;
    ck_assert_int_lt(snprintf(fake.filter, sizeof(fake.filter), "%s/%s/%s/%s%s", filter->workflow,
                              filter->step, filter->error, filter->services, filter->labels),
                     (int)sizeof(fake.filter));
    fake.started = done;
    ask(FAKE_START, arg);
}

const char *mg_bulk_wish_name(enum mg_bulk_wish wish)
{
    static const char *const names[] = {"pause", "resume", "stop"};
    return names[wish];
}

void mg_store_change_bulk(struct mg_store *store, const struct mg_bulk_change *change,
                          mg_store_bulk_changed_fn *done, void *arg)
{
    (void)store;
    fake.bulk_change = *change;
    keep(fake.bulk_id, sizeof(fake.bulk_id), change->bulk_id);
    fake.bulk_changed = done;
    ask(FAKE_BULK, arg);
}

/* ---- the broker ---- */

bool mg_commander_is_up(const struct mg_command_link *commander, char *ret_reason, size_t size)
{
    (void)commander;
    (void)snprintf(ret_reason, size, "it is away");
    return fake.is_broker_up;
}

struct mg_broker *mg_commander_broker(struct mg_command_link *commander)
{
    (void)commander;
    return NULL;
}

bool mg_commander_send(struct mg_command_link *commander, const struct mg_command *command,
                       int64_t timeout_ms, commanded_fn *done, void *arg)
{
    (void)commander;
    ck_assert_int_gt(timeout_ms, 0);
    if (!fake.has_room) {
        return false;
    }
    fake.command = *command;
    fake.commanded = done;
    ask(FAKE_COMMAND, arg);
    return true;
}

/* ---- a console ---- */

void fake_write_tokens(const char *lines)
{
    FILE *file = fopen(fake.path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(lines, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

size_t fake_line(char ret_lines[LINES_SIZE], size_t len, const char *role, const char *name,
                 const char *token)
{
    uint8_t digest[MG_SHA256_SIZE];
    char hex[2 * MG_SHA256_SIZE + 1];
    mg_sha256(mg_slice_of(token), digest);
    *mg_hex_write(digest, sizeof(digest), hex) = '\0';
    len += (size_t)snprintf(ret_lines + len, LINES_SIZE - len, "%s %s %s\n", role, name, hex);
    ck_assert_uint_lt(len, LINES_SIZE);
    return len;
}

enum mg_class fake_reload(struct mg_err *err)
{
    return mg_sessions_reload(fake.console.sessions, err);
}

enum mg_class fake_check(struct mg_err *err)
{
    return mg_tokens_check(&fake.options, err);
}

static void world_clear(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_clock = (struct fake_clock){60 * 60 * 1000, 60 * 60 * 1000};
    fake_log = (struct fake_log){0};
}

static void console_begin(const char *cert_file)
{
    struct mg_err err;
    fake.is_broker_up = fake.has_room = true;
    fake.hosts = (struct mg_list){.items = {"orders.example"}, .count = 1};
    fake.process = (struct mg_process_options){.http_cert_file = cert_file, .http_key_file = cert_file};
    fake.options = (struct mg_console_options){.process = &fake.process,
                                               .tokens_file = fake.path,
                                               .hosts = &fake.hosts,
                                               .proxy = {.user_header = "", .groups_header = ""}};
    fake.console = (struct mg_console){.options = &fake.options};
    fake.console.sessions = mg_sessions_create(&fake.options, &err);
    ck_assert_msg(fake.console.sessions != NULL, "%s", err.text);
}

static void tokens_begin(void)
{
    char lines[LINES_SIZE];
    world_clear();
    keep(fake.path, sizeof(fake.path), "/tmp/makegood-tokens-XXXXXX");
    int fd = mkstemp(fake.path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    (void)fake_line(lines, fake_line(lines, 0, "operator", "otto", TOKEN_OPERATOR), "reader", "rita",
                    TOKEN_READER);
    fake_write_tokens(lines);
}

void fake_begin(void)
{
    tokens_begin();
    console_begin("");
}

void fake_begin_over_tls(void)
{
    tokens_begin();
    console_begin("cert.pem");
}

void fake_begin_without_tokens(void)
{
    world_clear();
    console_begin("");
}

void fake_finish(void)
{
    mg_changes_free(&fake.console);
    mg_sessions_destroy(fake.console.sessions);
    if (fake.path[0] != '\0') {
        (void)unlink(fake.path);
    }
}
