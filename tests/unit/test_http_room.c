/*
 * Memory for answers: many large ones at once against servers on loopback. Each test names the failure that
 * it would catch.
 */
#include <semaphore.h>

#include "http_fixture.h"
#include "suite.h"

#define SERVERS    8
#define BODY_BYTES 90000
#define ROOM_BYTES ((size_t)200000)
/* libcurl passes on so much at a time, of the answers that have room and of the one that goes on without. */
#define PIECES_BYTES ((size_t)2 * 16384)

static struct server servers[SERVERS];
static struct outcome outcomes[SERVERS];
static struct mg_http_call *calls[SERVERS];
static struct mg_http_room *room;
static char body[BODY_BYTES];
static size_t most_held;
static int done_count, halves_wait_ms;
static atomic_int halves;
static sem_t rest_wanted; /* of the bodies: one for each server */
static struct mg_timer *watcher;
static const int *small_status; /* of a call alongside them; NULL: there is none */
static bool gives_up;           /* half of the calls, while they wait */

/* Half of the body, and the rest on the test's command. */
static void serve_halves(struct server *server, int fd, int number)
{
    (void)number;
    char head[128];
    if (!read_request(server, fd)) {
        return;
    }
    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY_BYTES);
    if (!http_send(fd, head, strlen(head)) || !http_send(fd, body, BODY_BYTES / 2)) {
        return;
    }
    atomic_fetch_add(&halves, 1);
    (void)sem_wait(&rest_wanted);
    (void)http_send(fd, body + BODY_BYTES / 2, BODY_BYTES - BODY_BYTES / 2);
}

static void release_all(void)
{
    for (int i = 0; i < SERVERS; i++) {
        ck_assert_int_eq(sem_post(&rest_wanted), 0);
    }
}

static void on_room_done(void *arg, const struct mg_http_answer *answer)
{
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->answer = *answer;
    calls[outcome - outcomes] = NULL;
    if (answer->sent == MG_SENT_YES) {
        ck_assert_uint_eq(answer->body.len, BODY_BYTES);
        ck_assert_int_eq(memcmp(answer->body.data, body, BODY_BYTES), 0);
    }
    if (++done_count == SERVERS) {
        mg_loop_stop(loop);
    }
}

/* All halves are there, and a while has passed in which they could be read. */
static void watch(void *arg)
{
    (void)arg;
    size_t held = mg_http_room_held(room);
    most_held = held > most_held ? held : most_held;
    if (atomic_load(&halves) != SERVERS || ++halves_wait_ms != 100) {
        return;
    }
    for (int i = 0; gives_up && i < SERVERS / 2; i++) {
        mg_http_call_cancel(calls[i]);
        done_count++;
    }
    release_all();
}

static void open_room(size_t max_bytes, size_t max_body_bytes)
{
    struct mg_http_client_options options = limits;
    mg_http_client_destroy(client);
    room = mg_http_room_create(loop, max_bytes);
    ck_assert_ptr_nonnull(room);
    options.room = room;
    options.max_connections = SERVERS + 1;
    options.max_body_bytes = max_body_bytes;
    client_open(&options);
}

static void start_all(int64_t timeout_ms)
{
    most_held = 0;
    done_count = halves_wait_ms = 0;
    atomic_store(&halves, 0);
    ck_assert_int_eq(sem_init(&rest_wanted, 0, 0), 0);
    for (size_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (char)('a' + i % 23);
    }
    for (int i = 0; i < SERVERS; i++) {
        struct mg_err err;
        char url[64];
        server_start(&servers[i], serve_halves, NULL);
        struct mg_http_request request = post_to(servers[i].port, url);
        request.timeout_ms = timeout_ms;
        outcomes[i] = (struct outcome){0};
        ck_assert_int_eq(mg_http_client_call(client, &request, on_room_done, &outcomes[i], &calls[i], &err),
                         MG_OK);
    }
    watcher = mg_timer_create(loop, watch, NULL);
    mg_timer_start(watcher, 1, 1);
}

static void finish_all(void)
{
    ck_assert_uint_eq(mg_http_room_held(room), 0);
    mg_timer_destroy(watcher);
    mg_http_client_destroy(client);
    client = NULL;
    mg_http_room_destroy(room);
    release_all();
    for (int i = 0; i < SERVERS; i++) {
        server_stop(&servers[i]);
    }
}

static void expect_all(enum mg_sent sent)
{
    for (int i = 0; i < SERVERS; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert_int_eq(outcomes[i].answer.sent, sent);
    }
}

/* Catches: a process that ends because of many large answers at once; one that stalls because each of
 * them waits for the others' room. */
START_TEST(answers_come_whole_within_the_room)
{
    open_room(ROOM_BYTES, BODY_MAX_BYTES);
    start_all(PATIENT_TIMEOUT_MS);
    mg_loop_run(loop);
    expect_all(MG_SENT_YES);
    ck_assert_uint_gt(most_held, ROOM_BYTES / 2);
    ck_assert_uint_le(most_held, ROOM_BYTES + BODY_BYTES);
    finish_all();
}
END_TEST

/* Catches: an answer that can never be read, because it alone exceeds the room. */
START_TEST(without_room_they_come_one_after_the_other)
{
    open_room(1, BODY_MAX_BYTES);
    start_all(PATIENT_TIMEOUT_MS);
    mg_loop_run(loop);
    expect_all(MG_SENT_YES);
    ck_assert_uint_le(most_held, BODY_BYTES + PIECES_BYTES);
    finish_all();
}
END_TEST

/* Catches: a call without an end, where the part of its answer that libcurl had kept is beyond its bound. */
START_TEST(a_waiting_answer_is_still_cut_off_at_its_bound)
{
    open_room(1, 20000);
    start_all(PATIENT_TIMEOUT_MS);
    mg_loop_run(loop);
    expect_all(MG_SENT_MAYBE);
    finish_all();
}
END_TEST

/* Catches: room that is never given back by calls that were given up; calls that wait without an end. */
START_TEST(those_that_are_given_up_leave_their_room)
{
    open_room(1, BODY_MAX_BYTES);
    gives_up = true;
    start_all(PATIENT_TIMEOUT_MS);
    mg_loop_run(loop);
    gives_up = false;
    for (int i = SERVERS / 2; i < SERVERS; i++) {
        ck_assert_int_eq(outcomes[i].answer.sent, MG_SENT_YES);
    }
    finish_all();
}
END_TEST

static void on_small_done(void *arg, const struct mg_http_answer *answer)
{
    *(int *)arg = answer->status;
    release_all();
}

/* All halves are there, the room is full, and a service answers something small. */
static void watch_small(void *arg)
{
    struct server *small = arg;
    static int status;
    if (atomic_load(&halves) != SERVERS || ++halves_wait_ms != 100) {
        return;
    }
    struct mg_err err;
    struct mg_http_call *call;
    char url[64];
    struct mg_http_request request = post_to(small->port, url);
    small_status = &status;
    request.timeout_ms = PATIENT_TIMEOUT_MS;
    ck_assert_int_eq(mg_http_client_call(client, &request, on_small_done, &status, &call, &err), MG_OK);
}

/* Catches: small answers that wait for as long as large ones stall. */
START_TEST(small_answers_need_no_room)
{
    static struct server small;
    open_room(1, BODY_MAX_BYTES);
    start_all(PATIENT_TIMEOUT_MS);
    server_start(&small, serve_answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    mg_timer_destroy(watcher);
    watcher = mg_timer_create(loop, watch_small, &small);
    mg_timer_start(watcher, 1, 1);
    mg_loop_run(loop);
    ck_assert_int_eq(*small_status, 200);
    expect_all(MG_SENT_YES);
    finish_all();
    server_stop(&small);
}
END_TEST

/* Catches: a call that waits for room beyond its time. */
START_TEST(waiting_for_room_ends_with_the_calls_time)
{
    open_room(1, BODY_MAX_BYTES);
    start_all(SENT_TIMEOUT_MS);
    atomic_store(&halves, -SERVERS); /* the rest never comes */
    mg_loop_run(loop);
    expect_all(MG_SENT_MAYBE);
    for (int i = 0; i < SERVERS; i++) {
        ck_assert(outcomes[i].answer.is_timed_out);
    }
    finish_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_room");
    TCase *tests = tcase_create("http_room");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, answers_come_whole_within_the_room);
    tcase_add_test(tests, without_room_they_come_one_after_the_other);
    tcase_add_test(tests, a_waiting_answer_is_still_cut_off_at_its_bound);
    tcase_add_test(tests, those_that_are_given_up_leave_their_room);
    tcase_add_test(tests, small_answers_need_no_room);
    tcase_add_test(tests, waiting_for_room_ends_with_the_calls_time);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
