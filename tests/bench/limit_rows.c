/*
 * Row writes for the limit program: Makegood's rows for each cause, in Makegood's own tables, with the
 * plainest statements possible. One batch of all that has arrived is one pipeline, one transaction and one
 * wait for the disk. Nothing is read, guarded or checked.
 */
#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "limit.h"

#define SESSIONS_MAX 16
#define BATCH_MAX    4096
#define QUEUE_SIZE   BENCH_WINDOW
enum { TYPE_BIGINT = 20, TYPE_TEXT = 25 };

/* A one-dimensional array in binary, as array_recv reads it. */
struct array {
    struct bench_buf bytes;
    uint32_t type, count;
};

struct session {
    struct bench_source source;
    PGconn *conn;
    int event_count; /* 0: no batch under way */
    struct limit_event events[BATCH_MAX];
    struct array arrays[8];
};

static struct session *sessions;
static struct limit_event *queue;
static size_t queue_from, queue_to;
static uint64_t commits, events_stored;
static void (*on_committed)(const struct limit_event *event);
static char *payload;

#define TRANSITIONS                                                                                                    \
    "'[{\"step\":\"reserve\",\"from\":\"running\",\"to\":\"done\",\"attempt\":1,\"kind\":\"do\",\"reason\":\"none\"}," \
    "{\"step\":\"charge\",\"from\":\"pending\",\"to\":\"running\",\"attempt\":1,\"kind\":\"do\",\"reason\":\"none\"}]'"

enum { INSERT_PROCESS, INSERT_ORDER, UPDATE_PROCESS, UPDATE_STEP, INSERT_STEP, INSERT_EVENT, STATEMENTS };
static const struct {
    const char *name, *text;
} statements[STATEMENTS] = {
    [INSERT_PROCESS] =
        {"insert_process",
         "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
         " failure_count, locked_by, complete_by, wake_at, workflow, workflow_version, revision, reply_to,"
         " correlation_id, is_high, wants_step_status)"
         " SELECT i, 'processing', 'processed', 'none', 1, 1, 0, 0, 'machine:12345:1700000000',"
         " now() + interval '15 min', now() + interval '1 min', 'bench', 1, 1,"
         " 'amq.gen-0123456789abcdefghijkl', i, false, false FROM unnest($1::text[]) i"},
    [INSERT_ORDER] =
        {"insert_order",
         "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)"
         " SELECT i, 1, 'bench', 1, p, sha256(i::bytea), false"
         " FROM unnest($1::text[], $2::text[]) u(i, p)"},
    [UPDATE_PROCESS] =
        {"update_process",
         "UPDATE order_process p SET process_state = CASE WHEN i.stage = 3 THEN 'processed'"
         " ELSE 'processing' END, version = i.stage + 1, seq = CASE WHEN i.stage = 3 THEN 2 ELSE 1 END,"
         " wake_at = CASE WHEN i.stage = 3 THEN NULL ELSE wake_at END, updated_at = clock_timestamp()"
         " FROM unnest($1::text[], $2::bigint[]) i(id, stage) WHERE p.order_id = i.id"},
    [UPDATE_STEP] = {"update_step",
                     "UPDATE order_step s SET state = 'done', complete_by = NULL, due_at = NULL,"
                     " result = '{\"id\":\"remote-1\",\"state\":\"done\"}'"
                     " FROM unnest($1::text[], $2::bigint[]) i(id, stage) WHERE s.order_id = i.id"
                     " AND s.step = (ARRAY['reserve', 'charge', 'book'])[i.stage]"},
    [INSERT_STEP] =
        {"insert_step",
         "INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe,"
         " is_undo_dispatched, is_refused, is_accepted, attempt, failure_count, cool_down_count, generation,"
         " complete_by, cause, do_digest)"
         " SELECT i.id, (ARRAY['reserve', 'charge', 'book'])[i.stage + 1], i.stage, 'bench', 'running', 'do',"
         " 'none', false, false, false, false, 1, 0, 0, 0, now() + interval '1 min',"
         " i.id || '.reserve.1.do:reply', sha256(i.id::bytea)"
         " FROM unnest($1::text[], $2::bigint[]) i(id, stage)"},
    [INSERT_EVENT] =
        {"insert_event",
         "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, step, attempt, reason,"
         " transitions, statuses, owed)"
         " SELECT i.id, i.stage + 1, CASE WHEN i.stage = 0 THEN 'submitted' ELSE 'reply' END,"
         " i.id || '.reserve.1.do:reply', 'machine:12345:1700000000', 'reserve', 1, NULL,"
         " " TRANSITIONS "::json, CASE WHEN i.stage IN (0, 3) THEN"
         " '[{\"v\":1,\"order_id\":\"0192d3c4-7f00-7abc-8def-001122334455\",\"seq\":1,"
         "\"status\":\"accepted\",\"at\":\"2026-01-31T12:34:56.789Z\"}]'::json END, false"
         " FROM unnest($1::text[], $2::bigint[]) i(id, stage)"},
};

/* ---- arrays ---- */

static void array_begin(struct array *array, uint32_t type)
{
    array->bytes.len = array->count = 0;
    array->type = type;
    const uint32_t head[] = {htobe32(1), 0, htobe32(type), 0, htobe32(1)};
    bench_buf_add(&array->bytes, head, sizeof(head));
}

static void array_add(struct array *array, const void *data, size_t len)
{
    uint32_t count = htobe32(++array->count);
    bench_buf_add_u32(&array->bytes, (uint32_t)len);
    bench_buf_add(&array->bytes, data, len);
    memcpy(array->bytes.data + 12, &count, sizeof(count));
}

static void array_add_number(struct array *array, int64_t number)
{
    uint64_t wire = htobe64((uint64_t)number);
    array_add(array, &wire, sizeof(wire));
}

/* ---- batches ---- */

static void send_statement(struct session *session, int statement, const struct array *first,
                           const struct array *second)
{
    if (first->count == 0) {
        return;
    }
    const char *values[] = {first->bytes.data, second == NULL ? NULL : second->bytes.data};
    const int lengths[] = {(int)first->bytes.len, second == NULL ? 0 : (int)second->bytes.len},
              formats[] = {1, 1};
    if (PQsendQueryPrepared(session->conn, statements[statement].name, second == NULL ? 1 : 2, values,
                            lengths, formats, 1) != 1) {
        bench_fail("%s: %s", statements[statement].name, PQerrorMessage(session->conn));
    }
}

static void session_begin(struct session *session)
{
    enum { NEW_IDS, PAYLOADS, OLD_IDS, OLD_STAGES, RUNNING_IDS, RUNNING_STAGES, ALL_IDS, ALL_STAGES };
    struct array *arrays = session->arrays;
    for (int i = 0; i < 8; i++) {
        array_begin(&arrays[i],
                    i == OLD_STAGES || i == RUNNING_STAGES || i == ALL_STAGES ? TYPE_BIGINT : TYPE_TEXT);
    }
    session->event_count = 0;
    while (queue_from < queue_to && session->event_count < limit_options.batch) {
        const struct limit_event *event = &queue[queue_from++ % QUEUE_SIZE];
        session->events[session->event_count++] = *event;
        const char *id = limit_order_id(event->order);
        size_t len = BENCH_ID_SIZE - 1;
        array_add(&arrays[ALL_IDS], id, len);
        array_add_number(&arrays[ALL_STAGES], event->stage);
        if (event->stage == 0) {
            array_add(&arrays[NEW_IDS], id, len);
            array_add(&arrays[PAYLOADS], payload, (size_t)limit_options.payload_bytes);
        } else {
            array_add(&arrays[OLD_IDS], id, len);
            array_add_number(&arrays[OLD_STAGES], event->stage);
        }
        if (event->stage < LIMIT_STEPS) {
            array_add(&arrays[RUNNING_IDS], id, len);
            array_add_number(&arrays[RUNNING_STAGES], event->stage);
        }
    }
    send_statement(session, INSERT_PROCESS, &arrays[NEW_IDS], NULL);
    send_statement(session, INSERT_ORDER, &arrays[NEW_IDS], &arrays[PAYLOADS]);
    send_statement(session, UPDATE_PROCESS, &arrays[OLD_IDS], &arrays[OLD_STAGES]);
    send_statement(session, UPDATE_STEP, &arrays[OLD_IDS], &arrays[OLD_STAGES]);
    send_statement(session, INSERT_STEP, &arrays[RUNNING_IDS], &arrays[RUNNING_STAGES]);
    send_statement(session, INSERT_EVENT, &arrays[ALL_IDS], &arrays[ALL_STAGES]);
    if (PQpipelineSync(session->conn) != 1) {
        bench_fail("%s", PQerrorMessage(session->conn));
    }
    bench_watch(&session->source, PQflush(session->conn) > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void session_end(struct session *session)
{
    int count = session->event_count;
    session->event_count = 0;
    commits++;
    events_stored += (uint64_t)count;
    for (int i = 0; i < count; i++) {
        on_committed(&session->events[i]);
    }
}

static void on_ready(void *arg, uint32_t events)
{
    struct session *session = arg;
    (void)events;
    if (PQconsumeInput(session->conn) != 1) {
        bench_fail("lost the database: %s", PQerrorMessage(session->conn));
    }
    bench_watch(&session->source, PQflush(session->conn) > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    while (session->event_count > 0 && !PQisBusy(session->conn)) {
        PGresult *result = PQgetResult(session->conn);
        ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC) {
            session_end(session);
        } else if (result != NULL && status != PGRES_COMMAND_OK) {
            bench_fail("the database: %s", PQerrorMessage(session->conn));
        }
    }
}

void limit_rows_open(void (*committed)(const struct limit_event *event))
{
    on_committed = committed;
    if (limit_options.batch > BATCH_MAX || limit_options.sessions > SESSIONS_MAX) {
        bench_fail("at most %d events in a batch and %d sessions", BATCH_MAX, SESSIONS_MAX);
    }
    queue = bench_alloc(QUEUE_SIZE * sizeof(*queue));
    payload = bench_alloc((size_t)limit_options.payload_bytes + 1);
    for (long i = 0; i < limit_options.payload_bytes; i++) {
        payload[i] = (char)('a' + i % 26);
    }
    sessions = bench_alloc((size_t)limit_options.sessions * sizeof(*sessions));
    for (long i = 0; i < limit_options.sessions; i++) {
        PGconn *conn = PQconnectdb(limit_options.dsn);
        if (PQstatus(conn) != CONNECTION_OK) {
            bench_fail("could not connect: %s", PQerrorMessage(conn));
        }
        for (int j = 0; j < STATEMENTS; j++) {
            PGresult *result = PQprepare(conn, statements[j].name, statements[j].text, 0, NULL);
            if (PQresultStatus(result) != PGRES_COMMAND_OK) {
                bench_fail("%s", PQerrorMessage(conn));
            }
            PQclear(result);
        }
        if (PQsetnonblocking(conn, 1) != 0 || PQenterPipelineMode(conn) != 1) {
            bench_fail("no pipeline mode");
        }
        sessions[i].conn = conn;
        sessions[i].source =
            (struct bench_source){.fd = PQsocket(conn), .on_ready = on_ready, .arg = &sessions[i]};
        bench_watch(&sessions[i].source, EPOLLIN);
    }
}

void limit_rows_add(const struct limit_event *event)
{
    if (queue_to - queue_from == QUEUE_SIZE) {
        bench_fail("too many rows wait");
    }
    queue[queue_to++ % QUEUE_SIZE] = *event;
}

void limit_rows_pump(void)
{
    for (long i = 0; i < limit_options.sessions && queue_from < queue_to; i++) {
        if (sessions[i].event_count == 0) {
            session_begin(&sessions[i]);
        }
    }
}

void limit_rows_counts(uint64_t *ret_commits, uint64_t *ret_events)
{
    *ret_commits = commits;
    *ret_events = events_stored;
}
