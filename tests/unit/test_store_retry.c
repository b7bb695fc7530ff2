/* Writes that the database asks to run again. A fake session stands before the real one: it records the
 * statements and answers on the test's command. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "io/pg/libpq.h"
#include "io/store/store_private.h"
#include "suite.h"

static struct {
    struct mg_pg_options options;
    mg_pg_fn *fn; /* of the call that waits for its answer; NULL: none does */
    void *arg;
    enum mg_pg_fault refused;
    int sent;
    const char *last; /* the name of the last statement sent */
} session;

enum mg_class mg_pg_create(struct mg_loop *loop, const struct mg_pg_options *options, struct mg_pg **ret_pg,
                           struct mg_err *err)
{
    (void)loop;
    (void)err;
    session.options = *options;
    *ret_pg = NULL;
    return MG_OK;
}

static void call_note(mg_pg_fn *fn, void *arg)
{
    ck_assert_ptr_null(session.fn);
    session.fn = fn;
    session.arg = arg;
}

void mg_pg_send(struct mg_pg *pg, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                void *arg)
{
    (void)pg;
    session.last = statements[count - 1].sql->name;
    session.sent++;
    call_note(fn, arg);
}

void mg_pg_refuse(struct mg_pg *pg, enum mg_pg_fault fault, const char *reason, mg_pg_fn *fn, void *arg)
{
    (void)pg;
    (void)reason;
    session.refused = fault;
    call_note(fn, arg);
}

void mg_pg_destroy(struct mg_pg *pg)
{
    (void)pg;
}

void mg_pg_drop(struct mg_pg *pg, const char *reason)
{
    (void)pg;
    ck_abort_msg("the session was dropped: %s", reason);
}

enum mg_class mg_pg_set_dsn(struct mg_pg *pg, const char *dsn, struct mg_err *err)
{
    (void)pg;
    (void)dsn;
    (void)err;
    return MG_OK;
}

int mg_pg_backend_pid(const struct mg_pg *pg)
{
    (void)pg;
    return 0;
}

#define WITNESSED "22P02"

static void answer_as(enum mg_pg_fault fault, const char *sqlstate, const struct mg_rows *rows)
{
    struct mg_err err = {MG_TRANSIENT, "as the test says"};
    if (fault != MG_PG_NONE && strcmp(session.last, "roll_back") == 0 && strcmp(sqlstate, WITNESSED) == 0) {
        (void)snprintf(err.text, sizeof(err.text), "the witness is rolled back");
    }
    struct mg_pg_answer answer = {
        .fault = fault, .sqlstate = sqlstate, .err = fault == MG_PG_NONE ? NULL : &err, .rows = {rows, rows}};
    mg_pg_fn *fn = session.fn;
    session.fn = NULL;
    fn(session.arg, &answer);
}

static void answer(enum mg_pg_fault fault, const struct mg_rows *rows)
{
    answer_as(fault, "", rows);
}

/* ---- the store ---- */

static struct mg_loop *loop;
static struct mg_store *store;
static struct mg_order_record record;
static struct mg_event_record event;
static struct mg_order_write order_write;
static int answers;
static enum mg_class class;

static void on_committed(void *arg, const struct mg_err *err)
{
    (void)arg;
    answers++;
    class = err == NULL ? MG_OK : err->class;
}

/* A server with the required durability. */
static void session_begin(void)
{
    static char name[] = "setting", on[] = "on";
    PGresAttDesc columns[3] = {{.name = name}, {.name = name}, {.name = name}};
    struct mg_rows rows = {PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK)};
    ck_assert_int_eq(PQsetResultAttrs(rows.result, 3, columns), 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(PQsetvalue(rows.result, 0, i, on, 2), 1);
    }
    session.options.on_connected(session.options.arg);
    answer(MG_PG_NONE, &rows);
    PQclear(rows.result);
    ck_assert(mg_store_is_up(store, NULL, 0));
}

static void setup(void)
{
    struct mg_store_options options = {.dsn = "", .is_plaintext_allowed = true, .skips_schema_check = true};
    struct mg_err err;
    loop = mg_loop_create();
    ck_assert_msg(mg_store_create(loop, &options, &store, &err) == MG_OK, "%s", err.text);
    session_begin();
    record = (struct mg_order_record){.order_id = "o-1", .order.version = 2};
    event = (struct mg_event_record){.version = 2};
    order_write =
        (struct mg_order_write){.record = &record, .expected_version = 1, .events = &event, .event_count = 1};
    answers = 0;
    session.sent = 0;
    mg_store_commit(store, &order_write, 1, on_committed, NULL);
    ck_assert_int_eq(session.sent, 1);
}

static void teardown(void)
{
    mg_store_destroy(store);
    mg_loop_destroy(loop);
}

static void look(void *arg)
{
    (void)arg;
    if (session.fn != NULL) {
        mg_loop_stop(loop);
    }
}

/* Until the store sends another statement, or its session reports a failure. */
static void run_to_call(void)
{
    struct mg_timer *timer = mg_timer_create(loop, look, NULL);
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
}

/* Catches: a deadlock that is reported to the caller at once, and a write that is never sent again. */
START_TEST(a_write_is_run_again_in_its_session)
{
    answer_as(MG_PG_RETRY, "40P01", NULL);
    run_to_call();
    ck_assert_int_eq(session.sent, 2);
    answer(MG_PG_NONE, NULL);
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_OK);
    ck_assert_int_eq(order_write.result, MG_WRITE_DONE);
}
END_TEST

/* Catches: a write that goes to a server which has lost the version that was read. After a failover another
 * event may have that number, and the guard would hold. */
START_TEST(a_write_does_not_follow_to_another_session)
{
    answer_as(MG_PG_RETRY, "40P01", NULL);
    session.options.on_lost(session.options.arg, "a failover");
    session_begin();
    int sent = session.sent;
    run_to_call();
    ck_assert_int_eq(session.sent, sent);
    ck_assert_int_eq(session.refused, MG_PG_LOST);
    answer(MG_PG_LOST, NULL);
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_TRANSIENT);
}
END_TEST

/* The write fails because the row of a new order exists; the question for the failed guard then finds
 * none. */
static void answer_exists_no_more(void)
{
    struct mg_rows none = {PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK)};
    answer_as(MG_PG_DATA, "23505", NULL);
    answer(MG_PG_NONE, &none);
    PQclear(none.result);
}

/* Catches: a submission that is redelivered in the moment in which its order leaves for the archive, and is
 * set aside as poisoned. */
START_TEST(a_row_that_is_gone_when_it_is_asked_about_is_written_again)
{
    answer_exists_no_more();
    ck_assert_int_eq(answers, 0);
    run_to_call();
    ck_assert_int_eq(session.sent, 3);
    answer(MG_PG_NONE, NULL);
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_OK);
    ck_assert_int_eq(order_write.result, MG_WRITE_DONE);
}
END_TEST

/* Until the order stands alone and the store asks for its witness. */
static void run_to_witness(void)
{
    int writes = 1;
    answer_exists_no_more();
    for (; strcmp(session.last, "roll_back") != 0 && writes < 20; writes++) {
        run_to_call();
        answer_exists_no_more();
    }
    ck_assert_int_eq(answers, 0);
}

/* Catches: a write that is tried for ever and holds up all others. */
START_TEST(a_row_that_is_never_there_and_always_in_the_way_is_refused)
{
    run_to_witness();
    answer_as(MG_PG_DATA, WITNESSED, NULL);
    ck_assert_int_eq(answers, 0);
    answer_exists_no_more(); /* tried once more */
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_OK);
    ck_assert_int_eq(order_write.result, MG_WRITE_REFUSED);
    ck_assert_int_eq(order_write.refusal, MG_REFUSAL_LASTING);
    ck_assert_str_eq(order_write.text, "as the test says");
}
END_TEST

/* Catches: an order that is judged because a fault of all ended just before its witness. */
START_TEST(an_order_that_is_taken_after_its_witness_is_not_refused)
{
    run_to_witness();
    answer_as(MG_PG_DATA, WITNESSED, NULL);
    answer(MG_PG_NONE, NULL);
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_OK);
    ck_assert_int_eq(order_write.result, MG_WRITE_DONE);
}
END_TEST

/* Catches: an order that is judged although the database takes nothing else either. */
START_TEST(without_a_witness_no_order_is_refused)
{
    run_to_witness();
    answer_as(MG_PG_DATA, "54000", NULL);
    ck_assert_int_eq(answers, 1);
    ck_assert_int_eq(class, MG_TRANSIENT);
    ck_assert_int_eq(order_write.result, MG_WRITE_UNTRIED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store retry");
    TCase *retry = tcase_create("retry");
    tcase_add_checked_fixture(retry, setup, teardown);
    tcase_add_test(retry, a_write_is_run_again_in_its_session);
    tcase_add_test(retry, a_write_does_not_follow_to_another_session);
    tcase_add_test(retry, a_row_that_is_gone_when_it_is_asked_about_is_written_again);
    tcase_add_test(retry, a_row_that_is_never_there_and_always_in_the_way_is_refused);
    tcase_add_test(retry, an_order_that_is_taken_after_its_witness_is_not_refused);
    tcase_add_test(retry, without_a_witness_no_order_is_refused);
    suite_add_tcase(suite, retry);
    return run_suite(suite);
}
