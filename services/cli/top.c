/*
 * `top`: the health of the system on one screen: open orders, services, failures, oldest orders, alerts,
 * queues. It looks once a second.
 *
 * The load on the database stays unnoticeable. Counts over many rows are bounded (store/sql), and the
 * next count waits for a multiple of the last one's duration. A missing database or broker is shown, and the
 * connection is retried. Without a terminal `top` prints everything once.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "io/amqp/topology.h"
#include "top.h"
#include "verb_table.h"

#define PERIOD_MS 1000
/* A count rests for 50 times its duration, so counts take at most a fiftieth of one processor of the server.
 * Behind a stall of the server it rests no longer than a minute, as the figures have become old. */
#define COUNT_REST_FACTOR 50
#define COUNT_REST_MAX_MS 60000
/* A count that takes longer costs too much. It is cancelled; the last one stays on the screen, with its
 * age. */
#define STATEMENT_TIMEOUT "2s"
#define ROWS_SHOWN        "50"
/* The span of the rates. PostgreSQL publishes its counters up to 10 s late. */
#define RATE_LOOKS     16
#define RATE_WINDOW_MS 15000
/* Connecting to a broker that is up takes less; until then `top` does not report it as away. */
#define BROKER_GRACE_MS 3000

struct sample {
    int64_t at_ms, accepted, open;
};

struct top {
    struct mg_cli *cli;
    struct mg_top_view view;
    struct mg_top_place place;
    bool is_on_screen, is_over, is_counting;
    int waiting;      /* pending answers of the current look */
    int queues_asked; /* the number of queues that the broker was asked about */
    bool is_all_seen; /* all of them have answered */
    int64_t began_ms;
    int64_t look_at_ms, read_at_ms, count_at_ms, count_due_ms;
    struct sample samples[RATE_LOOKS]; /* of the counts, the newest first */
    int sample_count;
};

/* ---- reports ---- */

/* The reports of each look, then those of each count. */
static const struct reading {
    enum mg_report report;
    size_t offset; /* of the table in struct mg_top_view */
    const char *params[8];
    int param_count;
    bool is_count;
} READINGS[] = {
    {MG_REPORT_LEADER, offsetof(struct mg_top_view, leader), {NULL}, 0, false},
    {MG_REPORT_PROCESSES, offsetof(struct mg_top_view, processes), {NULL}, 0, false},
    {MG_REPORT_WAITING, offsetof(struct mg_top_view, waiting), {""}, 1, false},
    {MG_REPORT_CONTROLLED, offsetof(struct mg_top_view, services), {NULL}, 0, false},
    {MG_REPORT_ACCEPTED, offsetof(struct mg_top_view, accepted), {NULL}, 0, true},
    {MG_REPORT_FIGURES, offsetof(struct mg_top_view, figures), {"false"}, 1, true},
    {MG_REPORT_SCHEDULE_HEALTH, offsetof(struct mg_top_view, schedules), {NULL}, 0, true},
    {MG_REPORT_OLDEST, offsetof(struct mg_top_view, oldest), {ROWS_SHOWN}, 1, true},
    {MG_REPORT_FAILURE_GROUPS,
     offsetof(struct mg_top_view, failures),
     {"", "", "", "", "", "", ROWS_SHOWN, ""},
     8,
     true},
    {MG_REPORT_ALERT_CAUSES, offsetof(struct mg_top_view, causes), {MG_ALERT_CAUSES_LIMIT}, 1, true},
};
#define READING_COUNT (sizeof(READINGS) / sizeof(READINGS[0]))

static struct mg_table *table_of(struct mg_top_view *view, const struct reading *reading)
{
    return (struct mg_table *)((char *)view + reading->offset);
}

/* Computes orders accepted and ended per second from the counts of the last 15 s. No counter exists for
 * ended orders: they are the accepted ones that are no longer open. */
static void rates_renew(struct top *top)
{
    struct mg_top_view *view = &top->view;
    struct sample now = {mg_clock_boot_ms(), strtoll(mg_table_cell(&view->accepted, 0, "accepted"), NULL, 10),
                         mg_top_open(view)};
    if (top->sample_count > 0 && now.accepted < top->samples[0].accepted) {
        top->sample_count = 0; /* the server has reset its counters */
    }
    int kept = top->sample_count < RATE_LOOKS ? top->sample_count : RATE_LOOKS - 1;
    memmove(top->samples + 1, top->samples, (size_t)kept * sizeof(top->samples[0]));
    top->samples[0] = now;
    top->sample_count = kept + 1;
    while (top->sample_count > 2 && now.at_ms - top->samples[top->sample_count - 2].at_ms >= RATE_WINDOW_MS) {
        top->sample_count--;
    }
    const struct sample *then = &top->samples[top->sample_count - 1];
    double s = (double)(now.at_ms - then->at_ms) / 1000;
    int64_t accepted = now.accepted - then->accepted, ended = accepted - (now.open - then->open);
    view->has_rates = top->sample_count > 1 && s > 0 && now.open < MG_TOP_FIGURES_MAX;
    view->accepted_per_s = view->has_rates ? (double)accepted / s : 0;
    view->ended_per_s = view->has_rates && ended > 0 ? (double)ended / s : 0;
}

static void look_end(struct top *top)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (top->view.read_fault[0] == '\0') {
        top->read_at_ms = now_ms;
    }
    if (top->is_counting) {
        top->count_due_ms =
            now_ms + mg_clock_rest_ms(now_ms - top->look_at_ms, COUNT_REST_FACTOR, COUNT_REST_MAX_MS);
        top->is_counting = false;
        if (top->view.count_fault[0] == '\0') {
            top->count_at_ms = now_ms;
            rates_renew(top);
        }
    }
}

static void ages_renew(struct top *top)
{
    int64_t now_ms = mg_clock_boot_ms();
    top->view.read_age_ms = top->read_at_ms > 0 ? now_ms - top->read_at_ms : -1;
    top->view.count_age_ms = top->count_at_ms > 0 ? now_ms - top->count_at_ms : -1;
}

struct asked {
    struct top *top;
    const struct reading *reading;
};

static void draw(struct top *top);

static void rows_came(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct asked *asked = arg;
    struct top *top = asked->top;
    char *fault = asked->reading->is_count ? top->view.count_fault : top->view.read_fault;
    if (err != NULL) {
        (void)snprintf(fault, MG_TOP_FAULT_SIZE, "%s", err->text);
    } else {
        struct mg_table *table = table_of(&top->view, asked->reading);
        mg_table_free(table);
        if (!mg_table_keep(table, rows, true)) {
            (void)snprintf(fault, MG_TOP_FAULT_SIZE, "no memory for the answers");
        }
    }
    if (--top->waiting == 0) {
        look_end(top);
        draw(top);
    }
}

/* Sends no query while an answer is pending, so a slow server gets no additional load. */
static void look(struct top *top)
{
    static struct asked asked[READING_COUNT]; /* used until the answers or the store's end */
    bool is_up = mg_store_is_up(top->cli->store, top->view.store_fault, sizeof(top->view.store_fault));
    if (!is_up || top->waiting > 0) {
        return;
    }
    top->look_at_ms = mg_clock_boot_ms();
    top->is_counting = top->look_at_ms >= top->count_due_ms;
    top->view.read_fault[0] = '\0';
    if (top->is_counting) {
        top->view.count_fault[0] = '\0';
    }
    for (size_t i = 0; i < READING_COUNT; i++) {
        top->waiting += !READINGS[i].is_count || top->is_counting;
    }
    for (size_t i = 0; i < READING_COUNT; i++) {
        if (!READINGS[i].is_count || top->is_counting) {
            asked[i] = (struct asked){top, &READINGS[i]};
            mg_store_report(top->cli->store, READINGS[i].report, READINGS[i].params, READINGS[i].param_count,
                            rows_came, &asked[i]);
        }
    }
}

/* ---- queues ---- */

static void queue_seen(void *arg, const char *name, int64_t messages, int64_t consumers)
{
    struct top *top = arg;
    struct mg_top_view *view = &top->view;
    int i = 0;
    while (i < view->queue_count && strcmp(view->queues[i].name, name) < 0) {
        i++;
    }
    if (i == view->queue_count || strcmp(view->queues[i].name, name) != 0) {
        if (view->queue_count == MG_TOP_QUEUES_MAX) {
            return;
        }
        memmove(view->queues + i + 1, view->queues + i,
                (size_t)(view->queue_count - i) * sizeof(view->queues[0]));
        view->queue_count++;
        (void)snprintf(view->queues[i].name, sizeof(view->queues[i].name), "%s", name);
    }
    view->queues[i].messages = messages;
    view->queues[i].consumers = consumers;
    top->is_all_seen = view->queue_count >= top->queues_asked;
}

static void queue_watch(struct top *top, const char *queue)
{
    struct mg_err err;
    if (mg_broker_watch_queue(top->cli->broker, queue, PERIOD_MS, queue_seen, top, &err) != MG_OK) {
        (void)snprintf(top->view.broker_fault, sizeof(top->view.broker_fault), "%s", err.text);
    }
    top->queues_asked++;
}

/* Watches the fixed queues and those of the reported services. A queue stays watched when its agents are
 * gone. */
static void queues_watch(struct top *top)
{
    static const char *const fixed[] = {MG_QUEUE_INTAKE,   MG_QUEUE_INTAKE_HIGH, MG_QUEUE_REPLIES,
                                        MG_QUEUE_COMMANDS, MG_QUEUE_SIGNALS,     MG_QUEUE_REJECTED,
                                        MG_QUEUE_DEAD};
    bool is_early = mg_clock_boot_ms() - top->began_ms < BROKER_GRACE_MS;
    top->view.is_broker_up = mg_broker_is_up(top->cli->broker, top->view.broker_fault,
                                             is_early ? 0 : sizeof(top->view.broker_fault));
    top->queues_asked = 0;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        queue_watch(top, fixed[i]);
    }
    const struct mg_table *services = &top->view.services;
    for (int row = 0; row < services->row_count && row < MG_TOP_SERVICES_MAX; row++) {
        char queue[MG_QUEUE_NAME_SIZE];
        mg_topology_request_queue(mg_table_cell(services, row, "service"), false, queue);
        queue_watch(top, queue);
        mg_topology_request_queue(mg_table_cell(services, row, "service"), true, queue);
        queue_watch(top, queue);
    }
}

/* ---- on a terminal ---- */

static void draw(struct top *top)
{
    ages_renew(top);
    mg_top_screen_measure(&top->place);
    mg_top_screen_begin();
    mg_top_lay_out(&top->view, &top->place, mg_top_screen_put, NULL);
    mg_top_screen_end();
}

static void tick(void *arg)
{
    struct top *top = arg;
    look(top);
    queues_watch(top);
    draw(top);
}

static void keys_came(void *arg, int events)
{
    struct top *top = arg;
    enum mg_top_key key = MG_TOP_KEY_NONE;
    (void)events;
    while (!top->is_over && (key = mg_top_screen_key()) != MG_TOP_KEY_NONE) {
        top->is_over = key == MG_TOP_KEY_QUIT;
        mg_top_move(&top->view, &top->place, key);
    }
    if (top->is_over) {
        mg_loop_stop(top->cli->loop);
    } else {
        draw(top);
    }
}

static void resized(void *arg)
{
    struct top *top = arg;
    if (top->is_on_screen) {
        draw(top);
    }
}

static void ended(void *arg)
{
    struct top *top = arg;
    top->is_over = true;
    mg_loop_stop(top->cli->loop);
}

/* Called before the terminal is taken, so that each later signal restores it. Also before the first
 * connection: threads that connect inherit the blocked signals; without that a signal would end the
 * process in them. */
static bool signals_take(struct top *top)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    bool is_taken = mg_loop_on_signal(top->cli->loop, SIGWINCH, resized, top);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        is_taken = is_taken && mg_loop_on_signal(top->cli->loop, ends[i], ended, top);
    }
    return is_taken;
}

/* False: out of memory or descriptors. */
static bool follow(struct top *top)
{
    struct mg_loop *loop = top->cli->loop;
    struct mg_timer *timer = mg_timer_create(loop, tick, top);
    struct mg_watch *keys = mg_watch_create(loop, mg_top_screen_fd(), keys_came, top);
    bool is_ready = timer != NULL && keys != NULL;
    if (is_ready) {
        mg_watch_set(keys, MG_READABLE);
        mg_timer_start(timer, 0, PERIOD_MS);
        mg_loop_run(loop);
    }
    mg_watch_destroy(keys);
    mg_timer_destroy(timer);
    return is_ready;
}

/* ---- once ---- */

static enum mg_exit_code read_once(struct top *top)
{
    for (size_t i = 0; i < READING_COUNT; i++) {
        enum mg_exit_code code = mg_table_read(top->cli, READINGS[i].report, READINGS[i].params,
                                               READINGS[i].param_count, table_of(&top->view, &READINGS[i]));
        if (code != MG_EXIT_DONE) {
            return code;
        }
    }
    queues_watch(top);
    (void)mg_cli_wait(top->cli, &top->is_all_seen, BROKER_GRACE_MS);
    top->view.is_broker_up =
        mg_broker_is_up(top->cli->broker, top->view.broker_fault, sizeof(top->view.broker_fault));
    top->read_at_ms = top->count_at_ms = mg_clock_boot_ms();
    ages_renew(top);
    return MG_EXIT_DONE;
}

static void line_print(void *arg, int row, enum mg_top_tone tone, bool is_chosen, const char *text)
{
    (void)arg;
    (void)is_chosen;
    mg_print(stdout, tone == MG_TOP_TITLE && row > 0 ? "\n%s\n" : "%s\n", text);
}

static void list_write(struct mg_json_writer *json, const char *name, const struct mg_table *table)
{
    mg_json_member_array(json, name);
    for (int row = 0; row < table->row_count; row++) {
        mg_json_element(json);
        mg_table_write_object(json, table, row, NULL);
    }
    mg_json_array_end(json);
}

static enum mg_exit_code print_json(struct mg_cli *cli, struct mg_top_view *view)
{
    char reasons[MG_TOP_WIDTH_MAX];
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    int wrong = mg_top_judge(view, reasons, sizeof(reasons));
    for (int row = 0; row < view->services.row_count; row++) { /* out of memory: reported state */
        (void)mg_table_put(&view->services, row, "state", mg_top_service_state(view, row));
    }
    mg_json_member_bool(json, "is_well", wrong == 0);
    mg_json_member_string(json, "why", reasons);
    list_write(json, "leader", &view->leader);
    list_write(json, "figures", &view->figures);
    list_write(json, "services", &view->services);
    list_write(json, "failures", &view->failures);
    list_write(json, "oldest", &view->oldest);
    list_write(json, "schedules", &view->schedules);
    mg_json_member_array(json, "queues");
    for (int i = 0; i < view->queue_count; i++) {
        const struct mg_top_queue *queue = &view->queues[i];
        mg_json_element_object(json);
        mg_json_member_string(json, "queue", queue->name);
        mg_json_member_int(json, "messages", queue->messages);
        mg_json_member_int(json, "consumers", queue->consumers);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
    return mg_answer_print(&answer);
}

static enum mg_exit_code print_once(struct top *top)
{
    const struct mg_top_place place = {.width = MG_TOP_WIDTH_MAX};
    enum mg_exit_code code = read_once(top);
    if (code == MG_EXIT_DONE && top->cli->is_json) {
        code = print_json(top->cli, &top->view);
    } else if (code == MG_EXIT_DONE) {
        mg_top_lay_out(&top->view, &place, line_print, NULL);
    }
    return code;
}

static enum mg_exit_code verb_top(struct mg_cli *cli)
{
    const struct mg_broker_options broker = {.metrics = NULL};
    struct top *top = calloc(1, sizeof(*top));
    if (top == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    top->cli = cli;
    top->began_ms = mg_clock_boot_ms();
    cli->statement_timeout = STATEMENT_TIMEOUT;
    bool wants_screen = !cli->is_json && mg_top_screen_is_there() && signals_take(top);
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_begin_broker(cli, &broker);
    }
    if (code == MG_EXIT_DONE && wants_screen && !top->is_over && mg_top_screen_open()) {
        top->is_on_screen = true;
        bool has_run = follow(top);
        mg_top_screen_close(); /* this also clears any error text on its screen */
        code = has_run ? MG_EXIT_DONE
                       : mg_cli_fail(MG_EXIT_ERROR, "could not watch the terminal: no memory or descriptors");
    } else if (code == MG_EXIT_DONE) {
        code = print_once(top);
    }
    for (size_t i = 0; i < READING_COUNT; i++) {
        mg_table_free(table_of(&top->view, &READINGS[i]));
    }
    free(top);
    return code;
}

const struct mg_verb MG_TOP_VERBS[] = {
    {"top", NULL, "", 0, 0, 0, MG_PRINTS_ONE, verb_top,
     "shows orders, services, failures, oldest waits, alerts and queues, each second", 0},
    {0}};
