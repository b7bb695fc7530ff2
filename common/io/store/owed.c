/*
 * Owed statuses: marked when the broker did not take them, found when a retry is due, read for the retry, and
 * at last given up.
 *
 * Their cost is bounded by queue. reply_queue has a row for each client's queue that did not take a status,
 * and each client has a share of the retries. While a queue takes nothing, one status is tried, and each
 * retry waits longer. Once it takes one, the others follow, many at once. No statement here reads more rows
 * than it returns, however many statuses are owed.
 */
#include <stdlib.h>
#include <string.h>

#include "io/store/owed.h"
#include "io/store/pass_by.h"

/* Only the published columns: payload and results may be large, and must not delay a status. */
/* clang-format off */
static const struct mg_sql LOAD_OWED_ORDER = {
    "load_owed_order",
    "SELECT order_id, reply_to, correlation_id, traceparent FROM order_process WHERE order_id = $1::text"};
/* Oldest first, the very first of any size; later calls read the rest. */
static const struct mg_sql LOAD_OWED_EVENTS = {
    "load_owed_events",
    "SELECT version, statuses FROM ("
    "  SELECT version, statuses, row_number() OVER w AS nth, sum(coalesce(octet_length(statuses::text), 0)) OVER w AS bytes"
    "  FROM (SELECT version, statuses FROM order_event WHERE order_id = $1::text AND owed ORDER BY version LIMIT 64) e"
    "  WINDOW w AS (ORDER BY version)) e"
    " WHERE nth = 1 OR bytes <= 8 * 1024 * 1024 ORDER BY version"};
/* clang-format on */

/* Room for these, and for a first one far above the limit. */
#define OWED_BYTES_MAX (16u * 1024 * 1024)

struct owed_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    mg_store_events_fn *done;
    void *arg;
};

static void finish_owed(struct mg_store_job *base)
{
    mg_arena_destroy(((struct owed_job *)base)->arena);
}

static void answer_owed(struct owed_job *job, const struct mg_order_record *record,
                        const struct mg_event_record *events, int count, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->arg, record, events, count, err);
    mg_store_job_destroy(&job->base);
}

static bool take_text(struct mg_arena *arena, const struct mg_rows *rows, int row, int column,
                      struct mg_slice *ret_text)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    *ret_text = value.data == NULL ? value : mg_arena_copy(arena, value);
    return value.data == NULL || ret_text->data != NULL;
}

/* NULL: no memory. */
static struct mg_order_record *take_owed_order(struct mg_arena *arena, const struct mg_rows *rows)
{
    enum { ORDER_ID, REPLY_TO, CORRELATION_ID, TRACEPARENT };
    struct mg_order_record *record = mg_arena_alloc(arena, sizeof(*record));
    if (record == NULL) {
        return NULL;
    }
    mg_rows_copy(rows, 0, ORDER_ID, record->order_id, sizeof(record->order_id));
    bool is_taken = take_text(arena, rows, 0, REPLY_TO, &record->reply_to) &&
                    take_text(arena, rows, 0, CORRELATION_ID, &record->correlation_id) &&
                    take_text(arena, rows, 0, TRACEPARENT, &record->traceparent);
    return is_taken ? record : NULL;
}

static struct mg_event_record *take_owed_events(struct mg_arena *arena, const struct mg_rows *rows)
{
    enum { VERSION, STATUSES };
    int count = mg_rows_count(rows);
    struct mg_event_record *events = mg_arena_alloc(arena, ((size_t)count + 1) * sizeof(*events));
    for (int row = 0; row < count && events != NULL; row++) {
        events[row].version = (uint64_t)mg_rows_int(rows, row, VERSION);
        events[row].is_owed = true;
        if (!take_text(arena, rows, row, STATUSES, &events[row].statuses)) {
            return NULL;
        }
    }
    return events;
}

static void on_owed(void *arg, const struct mg_pg_answer *reply)
{
    struct owed_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        answer_owed(job, NULL, NULL, 0, mg_store_error(reply, "read owed statuses", &err));
        return;
    }
    bool is_found = mg_rows_count(reply->rows[0]) > 0;
    struct mg_order_record *record = NULL;
    struct mg_event_record *events = NULL;
    if (job->arena != NULL) {
        record = is_found ? take_owed_order(job->arena, reply->rows[0]) : NULL;
        events = take_owed_events(job->arena, reply->rows[1]);
    }
    if (events == NULL || (is_found && record == NULL)) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read owed statuses: no memory");
        answer_owed(job, NULL, NULL, 0, &err);
    } else {
        answer_owed(job, record, events, mg_rows_count(reply->rows[1]), NULL);
    }
}

void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg)
{
    struct owed_job *job = mg_store_job_create(store, sizeof(*job), finish_owed);
    job->arena = mg_arena_create(OWED_BYTES_MAX);
    job->done = done;
    job->arg = arg;
    struct mg_pg_params order_params, event_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    mg_pg_add_text(&order_params, mg_slice_of(order_id));
    mg_pg_add_text(&event_params, mg_slice_of(order_id));
    struct mg_pg_statement statements[] = {{&LOAD_OWED_ORDER, &order_params},
                                           {&LOAD_OWED_EVENTS, &event_params}};
    mg_store_send(store, statements, 2, on_owed, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
}

/* ---- marking ---- */

/* Statistics do not reflect owed statuses, which come and go. A plan based on statistics might read all of
 * them. */
/* clang-format off */
#define BY_KEY \
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)," \
    " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
const struct mg_sql MG_STORE_BY_KEY = {"by_key", BY_KEY};
/* Marks wait in the session of the commits: a row that stays locked shall not hold them up. */
static const struct mg_sql BY_KEY_SOON = {"by_key_soon", BY_KEY ", set_config('lock_timeout', '250ms', true)"};
/* clang-format on */

/* The queue of the order's current reply_to, which may differ from the tried one. The lock orders this mark
 * before or after a client's change of queue. */
#define OWED_TO "coalesce(p.reply_to, w.reply_to)"
/* For a retry that could not be read and so has no queue: that of the order's oldest owed event. */
#define OWED_TO_OF(of)                                                                                       \
    "(SELECT e.owed_to FROM order_event e WHERE e.order_id = " of                                            \
    ".order_id AND e.owed AND e.owed_to IS NOT NULL"                                                         \
    " ORDER BY e.version LIMIT 1)"
/* A failed retry delays the next by a sixteenth of the time in which the queue has taken nothing. So after an
 * absence statuses arrive soon, and a client that is gone for good costs next to nothing. */
#define FIRST_RETRY  "interval '1 second'"
#define PATIENCE_MAX "interval '4 hours'"
/* clang-format off */
static const struct mg_sql MARK_OWED = {
    "mark_owed",
    "WITH clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
    /* The last mark of an event counts. */
    " mark AS MATERIALIZED ("
    "  SELECT DISTINCT ON (order_id, version) order_id, version, owed, is_retry, reply_to"
    "  FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::boolean[], $5::text[]) WITH ORDINALITY"
    "   AS u(order_id, version, owed, is_retry, reply_to, n) ORDER BY order_id, version, n DESC),"
    " place AS MATERIALIZED ("
    "  SELECT p.order_id, p.reply_to FROM order_process p WHERE p.order_id IN (SELECT order_id FROM mark WHERE owed)"
    "  ORDER BY p.order_id COLLATE \"C\" FOR SHARE OF p),"
    /* Given-up statuses stay so, unless they have arrived after all. */
    " marked AS ("
    "  UPDATE order_event e SET owed = w.owed, owed_asked_at = NULL, owed_to = CASE WHEN w.owed THEN " OWED_TO " END,"
    "   given_up_at = NULL FROM mark w LEFT JOIN place p USING (order_id)"
    "  WHERE e.order_id = w.order_id AND e.version = w.version"
    "   AND CASE WHEN NOT w.owed THEN e.owed OR e.given_up_at IS NOT NULL"
    "    WHEN w.is_retry THEN e.owed AND e.owed_to IS DISTINCT FROM " OWED_TO
    "    ELSE NOT e.owed OR e.owed_to IS DISTINCT FROM " OWED_TO " END"
    "  RETURNING e.owed_to),"
    " queue AS MATERIALIZED ("
    "  SELECT name, bool_or(is_failing) AS is_failing, bool_or(is_later) AS is_later FROM ("
    "   SELECT coalesce(reply_to, CASE WHEN owed AND is_retry THEN " OWED_TO_OF("mark") " END) AS name,"
    "    owed AS is_failing, owed AND is_retry AS is_later FROM mark"
    "   UNION ALL SELECT owed_to, true, false FROM marked) s WHERE name IS NOT NULL GROUP BY name)"
    /* `marks` of the new row is 1 if a retry failed; the update reads it. Ordered by name: all writers lock
     * in this order. */
    " INSERT INTO reply_queue AS q (name, since, tried_at, ask_at, is_open, marks)"
    " SELECT n.name, k.now, k.now, k.now + " FIRST_RETRY ", NOT n.is_failing, CASE WHEN n.is_later THEN 1 ELSE 0 END"
    " FROM queue n CROSS JOIN clock k WHERE n.is_failing OR EXISTS (SELECT FROM reply_queue o WHERE o.name = n.name)"
    " ORDER BY n.name"
    " ON CONFLICT (name) DO UPDATE SET marks = q.marks + 1, is_open = excluded.is_open,"
    "  since = CASE WHEN excluded.is_open THEN excluded.since ELSE q.since END,"
    /* If one of the two clocks was ahead, ask_at may be its own; then tried_at shows it, and the queue is
     * asked for nevertheless. */
    "  tried_at = CASE WHEN excluded.is_open THEN excluded.tried_at WHEN excluded.marks = 1"
    "   THEN greatest(q.tried_at, excluded.tried_at) ELSE q.tried_at END,"
    "  ask_at = CASE WHEN excluded.is_open THEN excluded.tried_at WHEN excluded.marks = 1"
    "   THEN greatest(q.ask_at, excluded.tried_at + least((excluded.tried_at - q.since) / 16, " PATIENCE_MAX "))"
    "   ELSE q.ask_at END"};
/* clang-format on */

/* ---- giving up ---- */

/* $1 queues, $2 an order for each empty queue name, $3 age in ms, $4 events of each queue */
/* clang-format off */
static const struct mg_sql GIVE_UP = {
    "give_up",
    "WITH clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
    " gone AS MATERIALIZED ("
    "  SELECT u.name, e.order_id, e.version FROM ("
    "   SELECT DISTINCT coalesce(name, " OWED_TO_OF("u") ") AS name FROM unnest($1::text[], $2::text[]) AS u(name, order_id)) u"
    "  CROSS JOIN LATERAL (SELECT order_id, version FROM order_event WHERE owed AND owed_to = u.name"
    "   AND at <= (SELECT now FROM clock) - $3::bigint * interval '1 millisecond'"
    "   ORDER BY at, order_id, version LIMIT $4::bigint FOR NO KEY UPDATE SKIP LOCKED) e),"
    " given_up AS ("
    "  UPDATE order_event e SET owed = false, owed_to = NULL, given_up_at = k.now FROM gone g CROSS JOIN clock k"
    "  WHERE e.order_id = g.order_id AND e.version = g.version RETURNING g.name),"
    " counted AS MATERIALIZED (SELECT name, count(*) AS number FROM given_up GROUP BY name),"
    /* More are left: the next retry comes at once. */
    " hurried AS (UPDATE reply_queue q SET ask_at = k.now, tried_at = k.now FROM counted c CROSS JOIN clock k"
    "  WHERE q.name = c.name AND c.number >= $4::bigint)"
    /* Each queue of this call opens one more alert. */
    " SELECT name, number, (SELECT count(*) FROM operator_alert WHERE code = 'statuses_given_up' AND closed_at IS NULL)"
    "  + row_number() OVER (ORDER BY name) - 1 FROM counted ORDER BY name"};
/* clang-format on */

#define GIVE_UP_BITE 500 /* events of one queue at once: some 10 ms */

struct mark_job {
    struct mg_store_job base;
    struct mg_given_up *given_up;
    int room; /* one for each failed retry; 0: nothing is given up */
    mg_store_marked_fn *done;
    void *arg;
};

static void finish_mark(struct mg_store_job *base)
{
    free(((struct mark_job *)base)->given_up);
}

enum { GIVEN_UP_NAME, GIVEN_UP_NUMBER, GIVEN_UP_ALERTS };
enum { STATEMENT_BY_KEY, STATEMENT_MARK, STATEMENT_GIVE_UP, STATEMENT_COUNT };

static void on_marked(void *arg, const struct mg_pg_answer *reply)
{
    struct mark_job *job = arg;
    mg_store_job_detach(&job->base);
    struct mg_err err;
    const struct mg_rows *rows = reply->err == NULL && job->room > 0 ? reply->rows[STATEMENT_GIVE_UP] : NULL;
    int count = rows != NULL ? mg_rows_count(rows) : 0;
    count = count < job->room ? count : job->room;
    for (int row = 0; row < count; row++) {
        struct mg_given_up *given_up = &job->given_up[row];
        mg_rows_copy(rows, row, GIVEN_UP_NAME, given_up->queue, sizeof(given_up->queue));
        given_up->count = mg_rows_int(rows, row, GIVEN_UP_NUMBER);
        given_up->alerts_open = mg_rows_int(rows, row, GIVEN_UP_ALERTS);
    }
    job->done(job->arg, job->given_up, count,
              reply->err == NULL ? NULL : mg_store_error(reply, "mark owed statuses", &err));
    mg_store_job_destroy(&job->base);
}

/* Fills the statements' parameters; returns the number of failed retries. */
static int params_fill(struct mg_pg_params params[STATEMENT_COUNT], const struct mg_owed *marks, int count,
                       int64_t owed_for_ms)
{
    struct mg_pg_params *mark = &params[STATEMENT_MARK], *failed = &params[STATEMENT_GIVE_UP];
    int failed_count = 0;
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        mg_pg_params_init(&params[i]);
    }
    int order_id = mg_pg_add_array(mark, MG_PG_TEXT), version = mg_pg_add_array(mark, MG_PG_INT);
    int owed = mg_pg_add_array(mark, MG_PG_BOOL), is_retry = mg_pg_add_array(mark, MG_PG_BOOL);
    int reply_to = mg_pg_add_array(mark, MG_PG_TEXT);
    int name = mg_pg_add_array(failed, MG_PG_TEXT), failed_order = mg_pg_add_array(failed, MG_PG_TEXT);
    for (int i = 0; i < count; i++) {
        struct mg_slice queue = mg_slice_of(marks[i].reply_to[0] != '\0' ? marks[i].reply_to : NULL);
        mg_pg_push_text(mark, order_id, mg_slice_of(marks[i].order_id));
        mg_pg_push_int(mark, version, (int64_t)marks[i].version);
        mg_pg_push_bool(mark, owed, marks[i].is_owed);
        mg_pg_push_bool(mark, is_retry, marks[i].is_retry);
        mg_pg_push_text(mark, reply_to, queue);
        if (marks[i].is_owed && marks[i].is_retry) {
            mg_pg_push_text(failed, name, queue);
            mg_pg_push_text(failed, failed_order, mg_slice_of(marks[i].order_id));
            failed_count++;
        }
    }
    mg_pg_add_int(failed, owed_for_ms);
    mg_pg_add_int(failed, GIVE_UP_BITE);
    return failed_count;
}

void mg_store_mark_owed(struct mg_store *store, const struct mg_owed *marks, int count, int64_t owed_for_ms,
                        mg_store_marked_fn *done, void *arg)
{
    struct mark_job *job = mg_store_job_create(store, sizeof(*job), finish_mark);
    struct mg_pg_params params[STATEMENT_COUNT];
    job->done = done;
    job->arg = arg;
    job->room = params_fill(params, marks, count, owed_for_ms);
    job->given_up = calloc((size_t)job->room + 1, sizeof(*job->given_up));
    struct mg_pg_statement statements[STATEMENT_COUNT] = {
        [STATEMENT_BY_KEY] = {&BY_KEY_SOON, &params[STATEMENT_BY_KEY]},
        [STATEMENT_MARK] = {&MARK_OWED, &params[STATEMENT_MARK]},
        [STATEMENT_GIVE_UP] = {&GIVE_UP, &params[STATEMENT_GIVE_UP]},
    };
    if (job->given_up == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "no memory", on_marked, job);
    } else {
        mg_store_send(store, statements, job->room > 0 ? STATEMENT_COUNT : STATEMENT_GIVE_UP, on_marked, job);
    }
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        mg_pg_params_finish(&params[i]);
    }
}

/* ---- finding due retries ---- */

/* An event may be owed from its commit on; its scheduler has this long to send the statuses. */
#define OWED_REST "interval '1 second'"
/* Due queues that one statement tries: 400 a second at most, some hundredths of a core. Half of them are
 * shared among the clients that have any, at least one each. The rest are the oldest of all. So no client's
 * dead queues delay another's, however many they are. */
#define RETRIES_MAX "100"
#define SHARED_PART "2"
/* Clients with a share, in order of their names: at most as many as there are retries to share. Further
 * clients compete by age. */
#define CLIENTS_MAX "50"
/* Asked for shortly before: the answer is on its way. A time in the future comes from a clock that was ahead,
 * and does not count. */
#define IS_ASKED(event, now)                                                                                 \
    "coalesce(" event ".owed_asked_at > " now " - $4::bigint * interval '1 millisecond'"                     \
    " AND " event ".owed_asked_at <= " now ", false)"
/* An order's statuses go out together. */
#define EVENTS_MAX "64"

/* $1 epoch, $2 holder, $3 limit, $4 ask again (ms), $5 orders (store/pass_by.h) */
/* clang-format off */
/* While a queue takes nothing, one of its statuses is tried: another, if this one is passed by. */
#define OLDEST_OF_QUEUES \
    "SELECT e.order_id, e.version, e.owed_asked_at FROM queue q CROSS JOIN LATERAL (" \
    "   SELECT order_id, version, owed_asked_at FROM order_event WHERE owed AND owed_to = q.name AND order_id <> ALL ($5::text[])" \
    "    AND " MG_SQL_NOT_ASIDE \
    "   ORDER BY at, order_id, version LIMIT CASE WHEN q.is_open THEN greatest($3::bigint / q.open_count, 1) ELSE 1 END" \
    "   FOR NO KEY UPDATE SKIP LOCKED) e"
#define ASK_OWED(taken, oldest) \
    "WITH RECURSIVE clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now)," \
    " leader AS MATERIALIZED (" \
    "  SELECT name FROM supervisor_leader WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text FOR SHARE)," \
    /* No retry yet: owed since the commit, or marked by an older program. */ \
    " stray AS MATERIALIZED (" \
    "  SELECT e.order_id, e.version FROM (SELECT order_id, version, at, owed_asked_at FROM order_event" \
    "    WHERE owed AND owed_to IS NULL AND EXISTS (SELECT FROM leader) AND " taken \
    "    ORDER BY at, order_id, version LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED) e CROSS JOIN clock k" \
    "  WHERE (e.at <= k.now - " OWED_REST " OR e.at > k.now + " OWED_REST ") AND NOT " IS_ASKED("e", "k.now") ")," \
    /* Clients have shares only if not all due queues find a place. */ \
    " crowd AS MATERIALIZED (" \
    "  SELECT ask_at FROM reply_queue WHERE ask_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader)" \
    "  ORDER BY ask_at, name LIMIT " RETRIES_MAX " + 1)," \
    /* Walks from client to client along the index, with the oldest queue of each. */ \
    " client AS (" \
    "  (SELECT client, ask_at, 1 AS nth FROM reply_queue WHERE (SELECT count(*) FROM crowd) > least($3::bigint, " RETRIES_MAX ")" \
    "    ORDER BY client, ask_at LIMIT 1)" \
    "  UNION ALL" \
    "  SELECT n.client, n.ask_at, c.nth + 1 FROM client c CROSS JOIN LATERAL (" \
    "   SELECT client, ask_at FROM reply_queue WHERE client > c.client ORDER BY client, ask_at LIMIT 1) n" \
    "  WHERE c.nth < " CLIENTS_MAX ")," \
    " share AS MATERIALIZED (" \
    "  SELECT q.name, q.marks FROM (" \
    "   SELECT client, greatest(least($3::bigint, " RETRIES_MAX ") / " SHARED_PART " / count(*) OVER (), 1) AS most FROM client" \
    "   WHERE ask_at <= (SELECT now FROM clock)) c CROSS JOIN LATERAL (" \
    /* A range, so that only the index on client fits: for an equal client a plan may filter a walk of \
     * reply_queue_ask. */ \
    "   SELECT name, marks FROM reply_queue WHERE (client, ask_at) >= (c.client, '-infinity')" \
    "    AND (client, ask_at) <= (c.client, (SELECT now FROM clock))" \
    "   ORDER BY client, ask_at, name LIMIT c.most FOR NO KEY UPDATE SKIP LOCKED) q)," \
    " due AS MATERIALIZED (" \
    "  SELECT name, marks FROM reply_queue WHERE ask_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader)" \
    "   AND name NOT IN (SELECT name FROM share)" \
    "  ORDER BY ask_at, name LIMIT greatest(least($3::bigint, " RETRIES_MAX ") - (SELECT count(*) FROM share), 1)" \
    "  FOR NO KEY UPDATE SKIP LOCKED)," \
    " ahead AS MATERIALIZED (" \
    "  SELECT name, marks FROM reply_queue WHERE tried_at > (SELECT now FROM clock) AND ask_at > (SELECT now FROM clock)" \
    "   AND EXISTS (SELECT FROM leader)" \
    "  ORDER BY tried_at DESC, name DESC LIMIT least($3::bigint, " RETRIES_MAX ") FOR NO KEY UPDATE SKIP LOCKED)," \
    /* Joined again, to read the queues in the statement's snapshot, like the events. */ \
    " queue AS MATERIALIZED (" \
    "  SELECT q.name, q.is_open, count(*) FILTER (WHERE q.is_open) OVER () AS open_count," \
    "   (SELECT true FROM order_event e WHERE e.owed AND e.owed_to = q.name ORDER BY e.at LIMIT 1) AS is_owed" \
    "  FROM (SELECT * FROM share UNION ALL SELECT * FROM due UNION ALL SELECT * FROM ahead) l" \
    "  JOIN reply_queue q ON q.name = l.name AND q.marks = l.marks)," \
    " oldest AS MATERIALIZED (" \
    "  " oldest ")," \
    " asked AS MATERIALIZED (" \
    "  SELECT order_id, min(version) AS version FROM (SELECT order_id, version FROM stray" \
    "   UNION ALL SELECT o.order_id, o.version FROM oldest o CROSS JOIN clock k WHERE NOT " IS_ASKED("o", "k.now") ") o" \
    "  GROUP BY order_id)," \
    " event AS MATERIALIZED (" \
    "  SELECT e.order_id, e.version FROM asked a CROSS JOIN LATERAL (" \
    "   SELECT order_id, version FROM order_event WHERE order_id = a.order_id AND owed ORDER BY version" \
    "   LIMIT " EVENTS_MAX " FOR NO KEY UPDATE SKIP LOCKED) e)," \
    " remembered AS (" \
    "  UPDATE order_event e SET owed_asked_at = k.now FROM event n CROSS JOIN clock k" \
    "  WHERE e.order_id = n.order_id AND e.version = n.version)," \
    /* The outcome delays the next retry or releases the others; a lost answer leads to a new retry. */ \
    " pushed AS (" \
    "  UPDATE reply_queue q SET tried_at = k.now, ask_at = k.now + $4::bigint * interval '1 millisecond', is_open = false" \
    "  FROM queue n CROSS JOIN clock k WHERE q.name = n.name AND n.is_owed)," \
    " forgotten AS (DELETE FROM reply_queue q USING queue n WHERE q.name = n.name AND n.is_owed IS NULL)" \
    " SELECT EXISTS (SELECT FROM leader), a.order_id, a.version, a.seq FROM clock k LEFT JOIN (" \
    "  SELECT a.order_id, a.version, p.seq FROM asked a JOIN order_process p USING (order_id)) a ON true" \
    " ORDER BY a.order_id"
const struct mg_many_sql MG_STORE_ASK_OWED = {
    .before = &MG_STORE_BY_KEY,
    .all = {"ask_owed", ASK_OWED("order_id <> ALL ($5::text[]) AND " MG_SQL_NOT_ASIDE, OLDEST_OF_QUEUES)},
    .keys = {"ask_owed_keys",
        "WITH unused AS (SELECT $1::bigint, $2::text, $4::bigint)"
        " (SELECT order_id FROM order_event WHERE owed AND owed_to IS NULL AND order_id <> ALL ($5::text[])"
        "  ORDER BY at, order_id, version LIMIT $3::bigint)"
        " UNION (SELECT e.order_id FROM (SELECT name, is_open FROM reply_queue"
        "   WHERE ask_at <= " MG_SQL_NOW " OR tried_at > " MG_SQL_NOW " ORDER BY ask_at, name LIMIT 2 * " RETRIES_MAX ") q"
        "  CROSS JOIN LATERAL (SELECT order_id FROM order_event WHERE owed AND owed_to = q.name AND order_id <> ALL ($5::text[])"
        "   ORDER BY at, order_id, version LIMIT CASE WHEN q.is_open THEN $3::bigint ELSE 1 END) e"
        "  LIMIT 2 * $3::bigint)"},
    .among = {"ask_owed_among", ASK_OWED("order_id = ANY ($5::text[]) AND " MG_SQL_NOT_ASIDE,
        "SELECT order_id, version, owed_asked_at FROM order_event WHERE owed AND owed_to IS NOT NULL AND order_id = ANY ($5::text[])"
        " AND " MG_SQL_NOT_ASIDE " ORDER BY at, order_id, version LIMIT 2 * $3::bigint FOR NO KEY UPDATE SKIP LOCKED")},
    .noun = "order",
    .verb = "asked for its owed statuses"};
/* clang-format on */

struct ask_job {
    struct mg_store_job base;
    struct mg_due *dues;
    mg_store_owed_fn *done;
    void *arg;
};

static void finish_ask(struct mg_store_job *base)
{
    free(((struct ask_job *)base)->dues);
}

static void on_asked(void *arg, const struct mg_pg_answer *reply)
{
    enum { IS_LEADER, ORDER_ID, VERSION, SEQ };
    struct ask_job *job = arg;
    mg_store_job_detach(&job->base);
    struct mg_err err;
    const struct mg_rows *rows = reply->err == NULL ? reply->rows[1] : NULL;
    int count = rows != NULL ? mg_rows_count(rows) : 0, filled = 0;
    job->dues = calloc((size_t)count + 1, sizeof(*job->dues));
    for (int row = 0; row < count && job->dues != NULL; row++) {
        if (mg_rows_value(rows, row, ORDER_ID).data == NULL) {
            continue;
        }
        struct mg_due *due = &job->dues[filled++];
        mg_rows_copy(rows, row, ORDER_ID, due->order_id, sizeof(due->order_id));
        due->ask = MG_CAUSE_OWED;
        due->version = (uint64_t)mg_rows_int(rows, row, VERSION);
        due->seq = (uint64_t)mg_rows_int(rows, row, SEQ);
    }
    if (reply->err != NULL) {
        job->done(job->arg, false, NULL, 0, mg_store_error(reply, "find owed statuses", &err));
    } else if (job->dues == NULL) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not find owed statuses: no memory");
        job->done(job->arg, false, NULL, 0, &err);
    } else {
        job->done(job->arg, mg_rows_bool(rows, 0, IS_LEADER), job->dues, filled, NULL);
    }
    mg_store_job_destroy(&job->base);
}

void mg_store_ask_owed(struct mg_store *store, const struct mg_ask_owed *options, mg_store_owed_fn *done,
                       void *arg)
{
    struct ask_job *job = mg_store_job_create(store, sizeof(*job), finish_ask);
    job->done = done;
    job->arg = arg;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)options->epoch);
    mg_pg_add_text(&params, mg_slice_of(options->holder));
    mg_pg_add_int(&params, options->limit);
    mg_pg_add_int(&params, options->ask_again_ms);
    mg_store_send_many(store, &MG_STORE_ASK_OWED, &params, on_asked, job);
}
