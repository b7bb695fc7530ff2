/*
 * The works of the library's agent: the request as a handler sees it, the verdict of each answer, and the
 * threads that run handlers.
 *
 * Would catch: an answer that proves more than it may, a result that no reply holds, a second answer that
 * replaces the first, and a handler that outlives its agent and takes memory with it.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../suite.h"
#include "base/clock.h"
#include "base/log.h"
#include "handling.h"

#define RESULT_MAX_BYTES 64
#define LEVELS_32                                                                                            \
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]" /* as many bytes as a result may have \
                                                                        */

#define MESSAGE                                                                                                    \
    "{\"v\":1,\"order_id\":\"o1\",\"step\":\"greet\",\"service\":\"greeting\",\"attempt\":3,\"kind\":\"do\","      \
    "\"idempotency_key\":\"o1.greet.do\",\"do_key\":\"o1.greet.do\",\"complete_by\":\"2100-01-01T00:00:00.000Z\"," \
    "\"sent_at\":\"2026-01-01T00:00:00.000Z\",\"request\":{\"method\":\"POST\",\"path\":\"/greet\","               \
    "\"body\":{\"name\":\"A\\u00e9\",\"sum\":14.00}}}"

static struct mg_agent agent;
static struct mg_service service;
static struct mg_served served;
static struct mg_delivery delivery;
static struct mg_job job;
static sem_t begun, go;

static void set_up(void)
{
    struct mg_err err;
    memset(&job, 0, sizeof(job));
    memset(&delivery, 0, sizeof(delivery));
    mg_skew_init(&agent.skew, 2000, mg_clock_boot_ms());
    service.result_max_bytes = RESULT_MAX_BYTES;
    service.answer_max_bytes = 1024;
    served.agent = &agent;
    served.service = &service;
    delivery.body = mg_slice_of(MESSAGE);
    job.served = &served;
    job.delivery = &delivery;
    job.arena = mg_arena_create(65536);
    ck_assert_msg(mg_request_parse(delivery.body, job.arena, &job.request, &err) == MG_OK, "%s", err.text);
    job.deadline.until_boot_ms = mg_clock_boot_ms() + 60000;
    (void)sem_init(&begun, 0, 0);
    (void)sem_init(&go, 0, 0);
}

static void tear_down(void)
{
    mg_arena_destroy(job.arena);
}

static void give_none(struct mg_work *work, void *arg)
{
    (void)work;
    (void)arg;
}

static void give_done(struct mg_work *work, void *arg)
{
    (void)mg_work_done(work, arg, NULL);
}

static void give_accepted(struct mg_work *work, void *arg)
{
    (void)mg_work_accepted(work, arg, NULL);
}

static void give_absent(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_absent(work);
    mg_work_permanent(work, "second", NULL, NULL); /* the first answer counts */
    ck_assert_int_eq(mg_work_done(work, NULL, NULL), MG_ERROR_INPUT);
}

static void give_transient(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_transient(work, NULL, "later\n", NULL, 1500);
    mg_work_transient(work, NULL, NULL, "no", 7);
}

static void give_late(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_transient(work, NULL, NULL, NULL, INT64_MAX);
}

static void give_unreached(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_transient(work, "breaker_open", NULL, "no", -1);
}

static void give_wrong_word(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_transient(work, NULL, NULL, "perhaps", -1);
}

static void give_permanent(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_permanent(work, "sold out", "none left", NULL);
}

static void give_permanent_maybe(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_permanent(work, "SOLD", NULL, "maybe");
}

static void give_unknown(struct mg_work *work, void *arg)
{
    (void)arg;
    mg_work_unknown(work, NULL);
}

static const struct {
    mg_work_fn *handler;
    const char *arg;
    enum mg_outcome outcome;
    enum mg_executed executed;
    enum mg_call_health health;
    int64_t retry_after_ms;
    const char *code, *result;
    bool is_cut;
} ANSWERS[] = {
    {give_none, NULL, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, -1, "no_answer", NULL, false},
    {give_done, NULL, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_CALL_HEALTHY, -1, "", NULL, false},
    {give_done, "{\"n\":1.50}", MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_CALL_HEALTHY, -1, "", "{\"n\":1.50}",
     false},
    {give_done, "{", MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, -1, "no_answer", NULL, false},
    {give_done, "\"0123456789012345678901234567890123456789012345678901234567890123\"", MG_OUTCOME_DONE,
     MG_EXECUTED_YES, MG_CALL_HEALTHY, -1, "", NULL, true},
    {give_done, LEVELS_32, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_CALL_HEALTHY, -1, "", NULL, true},
    {give_accepted, "7", MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, MG_CALL_HEALTHY, -1, "", "7", false},
    {give_absent, NULL, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, -1, "", NULL, false},
    {give_transient, NULL, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, 1500, "transient", NULL,
     false},
    {give_late, NULL, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, MG_REPLY_RETRY_AFTER_MAX_MS,
     "transient", NULL, false},
    {give_unreached, NULL, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, MG_CALL_UNREACHABLE, -1, "breaker_open",
     NULL, false},
    {give_wrong_word, NULL, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, -1, "transient", NULL,
     false},
    {give_permanent, NULL, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, -1, "sold_out", NULL,
     false},
    {give_permanent_maybe, NULL, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, MG_CALL_HEALTHY, -1, "SOLD", NULL,
     false},
    {give_unknown, NULL, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_FAILING, -1, "answer_unclear", NULL,
     false},
};

START_TEST(each_answer_has_its_verdict)
{
    void *arg = (void *)(uintptr_t)ANSWERS[_i].arg;
    struct mg_library_work *work = mg_library_work_create(&job, ANSWERS[_i].handler, arg);
    mg_library_work_do(work);
    ck_assert_int_eq(work->verdict.outcome, ANSWERS[_i].outcome);
    ck_assert_int_eq(work->verdict.executed, ANSWERS[_i].executed);
    ck_assert_int_eq(work->verdict.health, ANSWERS[_i].health);
    ck_assert_int_eq(work->verdict.retry_after_ms, ANSWERS[_i].retry_after_ms);
    ck_assert_str_eq(work->verdict.code, ANSWERS[_i].code);
    ck_assert_ptr_null(strchr(work->verdict.text, '\n'));
    ck_assert(!work->verdict.may_still_act);
    ck_assert(work->is_result_cut == ANSWERS[_i].is_cut);
    ck_assert(ANSWERS[_i].result == NULL ? work->result.data == NULL
                                         : mg_slice_is(work->result, ANSWERS[_i].result));
    mg_library_work_free(work);
}
END_TEST

/* Catches: a result with too many elements that leaves its request without an answer, or a reply that its
 * reader refuses. */
START_TEST(a_result_with_too_many_elements_is_left_out)
{
    enum { COUNT = 12000 };
    static char result[2 * COUNT + 2];
    for (int i = 0; i < COUNT; i++) {
        memcpy(result + 2 * (size_t)i, i == 0 ? "[1" : ",1", 2);
    }
    result[sizeof(result) - 2] = ']';
    service.result_max_bytes = service.answer_max_bytes = sizeof(result);
    struct mg_library_work *work = mg_library_work_create(&job, give_none, NULL);
    ck_assert_int_eq(mg_work_done(&work->shown, result, NULL), MG_ERROR_NONE);
    ck_assert(work->is_result_cut);
    ck_assert_ptr_null(work->result.data);
    ck_assert_int_eq(work->verdict.outcome, MG_OUTCOME_DONE);
    mg_library_work_free(work);
}
END_TEST

/* Catches: a copy for each look at the body, and a pointer that is cut and finds another value. */
START_TEST(a_look_up_has_its_bounds)
{
    struct mg_library_work *own = mg_library_work_create(&job, give_none, NULL);
    struct mg_work *work = &own->shown;
    char message[1024], pointer[MG_WORK_POINTER_MAX + 2];
    ck_assert_ptr_eq(mg_work_find(work, ""), work->body);
    memset(pointer, 'k', sizeof(pointer));
    pointer[0] = '/';
    pointer[MG_WORK_POINTER_MAX + 1] = '\0';
    (void)snprintf(message, sizeof(message), "{\"request\":{\"body\":{\"%s\":1,\"%.*s\":2}}}", pointer + 1,
                   MG_WORK_POINTER_MAX - 1, pointer + 1);
    work->message = message;
    work->message_size = strlen(message);
    ck_assert_ptr_null(mg_work_find(work, pointer));
    pointer[MG_WORK_POINTER_MAX] = '\0';
    ck_assert_str_eq(mg_work_find(work, pointer), "2");
    work->message = "{\"request\":{}}";
    work->message_size = strlen(work->message);
    work->body_size = 0;
    ck_assert_ptr_null(mg_work_find(work, ""));
    mg_library_work_free(own);
}
END_TEST

START_TEST(a_handler_sees_the_request)
{
    struct mg_library_work *own = mg_library_work_create(&job, give_none, NULL);
    struct mg_work *work = &own->shown;
    ck_assert_str_eq(work->order_id, "o1");
    ck_assert_str_eq(work->step, "greet");
    ck_assert_str_eq(work->service, "greeting");
    ck_assert_str_eq(work->kind, "do");
    ck_assert_uint_eq(work->attempt, 3);
    ck_assert_str_eq(work->idempotency_key, "o1.greet.do");
    ck_assert_str_eq(work->do_key, "o1.greet.do");
    ck_assert_str_eq(work->path, "/greet");
    ck_assert_str_eq(work->body, "{\"name\":\"A\\u00e9\",\"sum\":14.00}");
    ck_assert_uint_eq(work->body_size, strlen(work->body));
    ck_assert_str_eq(work->traceparent, "");
    ck_assert_str_eq(work->message, MESSAGE);
    ck_assert_str_eq(mg_work_find(work, "/sum"), "14.00");
    ck_assert_str_eq(mg_work_find(work, "/name"), "\"A\\u00e9\"");
    ck_assert_str_eq(mg_work_text(work, "/name"), "A\xc3\xa9");
    ck_assert_ptr_null(mg_work_text(work, "/sum"));
    ck_assert_ptr_null(mg_work_find(work, "/nothing"));
    ck_assert_int_gt(mg_work_left_ms(work), 0);
    own->until_boot_ms = mg_clock_boot_ms() - 1;
    ck_assert_int_eq(mg_work_left_ms(work), 0);
    mg_library_work_free(own);
}
END_TEST

static void wait_for_go(struct mg_work *work, void *arg)
{
    (void)arg;
    (void)sem_post(&begun);
    while (sem_wait(&go) != 0) {
    }
    mg_work_absent(work);
}

START_TEST(so_many_handlers_run_at_once)
{
    int wake_fd = eventfd(0, EFD_CLOEXEC);
    uint64_t count;
    struct mg_pool *pool = mg_pool_create(2, wake_fd);
    struct mg_library_work *works[3], *done;
    for (int i = 0; i < 3; i++) {
        works[i] = mg_library_work_create(&job, wait_for_go, NULL);
        ck_assert(mg_pool_add(pool, works[i]));
    }
    (void)sem_wait(&begun);
    (void)sem_wait(&begun);
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    ck_assert_int_eq(sem_timedwait(&begun, &until), -1); /* no third one begins */
    ck_assert_int_eq(mg_pool_running(pool), 2);
    ck_assert(!mg_pool_withdraw(pool, works[0]));
    ck_assert(mg_pool_withdraw(pool, works[2])); /* it waits for a thread */
    mg_library_work_free(works[2]);

    (void)sem_post(&go);
    ck_assert_int_eq(read(wake_fd, &count, sizeof(count)), (ssize_t)sizeof(count));
    done = mg_pool_take_done(pool);
    ck_assert_ptr_nonnull(done);
    ck_assert_int_eq(done->verdict.outcome, MG_OUTCOME_ABSENT);
    mg_library_work_free(done);
    ck_assert_ptr_null(mg_pool_take_done(pool));

    mg_pool_close(pool); /* one handler still runs; its thread frees the rest */
    (void)sem_post(&go);
    (void)close(wake_fd);
}
END_TEST

/* Catches: agents of one process that an operator's limit takes for one, or an instance without a name. */
START_TEST(each_agent_of_a_process_has_its_instance)
{
    const struct mg_agent_options unnamed = {.url = "amqp://127.0.0.1"},
                                  empty = {.url = "amqp://127.0.0.1", .instance = ""},
                                  named = {.url = "amqp://127.0.0.1", .instance = "till"};
    struct mg_agent *made[3];
    struct mg_error error;
    ck_assert_int_eq(mg_agent_open(&unnamed, &made[0], &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_open(&empty, &made[1], &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_open(&named, &made[2], &error), MG_ERROR_NONE);
    const char *first = made[0]->options->instance;
    ck_assert_ptr_nonnull(strchr(first, ':'));
    ck_assert(strncmp(made[1]->options->instance, first, strlen(first)) == 0);
    ck_assert_str_eq(made[1]->options->instance + strlen(first), ":2");
    ck_assert_str_eq(made[2]->options->instance, "till");
    for (int i = 0; i < 3; i++) {
        mg_agent_close(made[i]);
    }
}
END_TEST

START_TEST(a_wrong_call_is_an_error)
{
    const struct mg_agent_options nowhere = {.url = NULL},
                                  crowded = {.url = "amqp://127.0.0.1", .concurrency = 257},
                                  plain = {.url = "amqp://127.0.0.1"};
    struct mg_agent *made = NULL;
    struct mg_error error;
    ck_assert_int_eq(mg_agent_open(&nowhere, &made, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_agent_open(&crowded, &made, &error), MG_ERROR_INPUT);
    ck_assert_ptr_null(made);
    ck_assert_int_eq(mg_agent_open(&plain, &made, &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_run(made, &error), MG_ERROR_INPUT); /* no service */
    ck_assert_int_eq(mg_agent_serve(made, "Not A Name", NULL, NULL, NULL, NULL, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_agent_serve(made, "greeting", NULL, NULL, NULL, NULL, &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_serve(made, "greeting", NULL, NULL, NULL, NULL, &error), MG_ERROR_INPUT);
    mg_agent_stop(made); /* before the run: it ends at once */
    ck_assert_int_eq(mg_agent_run(made, &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_run(made, &error), MG_ERROR_INPUT); /* only once */
    mg_agent_close(made);
    mg_agent_close(NULL);
}
END_TEST

#define LOGGERS        4
#define LINES_A_LOGGER 25

static int lines, lines_at_once, warnings; /* without a lock of its own: calls come one at a time */

static void line_count(void *arg, enum mg_severity severity, const char *line)
{
    ck_assert_int_eq(++lines_at_once, 1);
    ck_assert_ptr_eq(arg, &lines);
    ck_assert_str_eq(line, "a line");
    lines++;
    warnings += severity == MG_SEVERITY_WARNING;
    (void)sched_yield();
    lines_at_once--;
}

static void *lines_log(void *arg)
{
    for (int i = 0; i < LINES_A_LOGGER; i++) {
        mg_log(MG_LOG_WARN, "a line", MG_LOG_NONE);
        mg_log(MG_LOG_INFO, "a line", MG_LOG_NONE);
        mg_log(MG_LOG_DEBUG, "a line", MG_LOG_NONE);
    }
    return arg;
}

/* Would catch: a function of the program's that two threads enter, one that gets less than it asked for, or
 * one that is called after it was taken back. */
START_TEST(the_program_takes_the_lines_of_the_log)
{
    pthread_t loggers[LOGGERS];
    int end[2];
    char out[512] = "";
    mg_log_redirect(line_count, &lines, MG_SEVERITY_INFO);
    for (int i = 0; i < LOGGERS; i++) {
        ck_assert_int_eq(pthread_create(&loggers[i], NULL, lines_log, NULL), 0);
    }
    for (int i = 0; i < LOGGERS; i++) {
        ck_assert_int_eq(pthread_join(loggers[i], NULL), 0);
    }
    ck_assert_int_eq(lines, 2 * LOGGERS * LINES_A_LOGGER);
    ck_assert_int_eq(warnings, LOGGERS * LINES_A_LOGGER);
    mg_log_redirect(line_count, &lines, MG_SEVERITY_WARNING);
    (void)lines_log(NULL);
    ck_assert_int_eq(lines, 2 * LOGGERS * LINES_A_LOGGER + LINES_A_LOGGER);
    ck_assert_int_eq(pipe(end), 0);
    ck_assert_int_ge(dup2(end[1], STDERR_FILENO), 0);
    mg_log_open("libmakegood", "", MG_LOG_WARN); /* stderr is another one now */
    mg_log_redirect(NULL, NULL, MG_SEVERITY_DEBUG);
    mg_log(MG_LOG_INFO, "a line", MG_LOG_NONE);
    mg_log(MG_LOG_WARN, "another", MG_LOG_NONE);
    ck_assert_int_gt(read(end[0], out, sizeof(out) - 1), 0);
    ck_assert_ptr_nonnull(strstr(out, "\"level\":\"warn\",\"service\":\"libmakegood\""));
    ck_assert_ptr_null(strstr(out, "a line"));
    ck_assert_int_eq(lines, 2 * LOGGERS * LINES_A_LOGGER + LINES_A_LOGGER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library work");
    TCase *some = tcase_create("works");
    tcase_add_checked_fixture(some, set_up, tear_down);
    tcase_add_loop_test(some, each_answer_has_its_verdict, 0, (int)(sizeof(ANSWERS) / sizeof(ANSWERS[0])));
    tcase_add_test(some, a_result_with_too_many_elements_is_left_out);
    tcase_add_test(some, a_look_up_has_its_bounds);
    tcase_add_test(some, a_handler_sees_the_request);
    tcase_add_test(some, each_agent_of_a_process_has_its_instance);
    tcase_add_test(some, so_many_handlers_run_at_once);
    tcase_add_test(some, a_wrong_call_is_an_error);
    tcase_add_test(some, the_program_takes_the_lines_of_the_log);
    suite_add_tcase(suite, some);
    return run_suite(suite);
}
