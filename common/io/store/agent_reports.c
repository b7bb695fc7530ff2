/* Agents' reports on their services: small writes on which no decision depends. */
#include "base/clock.h"
#include "base/log.h"
#include "io/store/pass_by.h"

/* Instances come and go with every restart; one silent for this long is removed. */
#define SERVICE_STATE_KEPT "interval '1 hour'"

/* Inventing instance names costs nothing. So a service with too many is logged at most this often. */
#define REFUSED_LOG_EVERY_MS (60 * 1000)

/* An agent's report expires after this time (wire/reply.h: MG_SERVICE_REPORT_VALID_MS). */
#define REPORT_VALID "interval '15 seconds'"
/* A report from the future was written before the clock went back. */
#define IS_VALID "reported_at BETWEEN " MG_SQL_NOW " - " REPORT_VALID " AND " MG_SQL_NOW " + " REPORT_VALID

enum { COLUMN_SERVICE, COLUMN_REFUSED };

/* The last report of an instance in a batch counts. Two schedulers may commit two reports of one agent in
 * reverse order: then the row already has the later one.
 *
 * Rows are counted only for a new instance. If its service has too many, expired ones are deleted, except
 * those locked by another scheduler: both might wait for each other. */
/* $14 keys (store/pass_by.h): a service and its agent. */
/* MG_SERVICE_INSTANCES_MAX */
#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)
#define INSTANCES_MAX     DIGITS(MG_SERVICE_INSTANCES_MAX)

/* clang-format off */
#define STATE_KEY "i.service || '/' || i.instance"
#define PUT_SERVICE_STATES(taken) \
    "WITH reported AS MATERIALIZED (SELECT DISTINCT ON (i.service, i.instance) i.*" \
    "  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[]," \
    "   $7::bigint[]," \
    "   $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[]," \
    "   $13::text[])" \
    "   AS i(n, service, instance, breaker, is_ready, in_flight, concurrency, reason, control_version," \
    "    process, sequence, is_prober, calls)" \
    "  WHERE " taken \
    "  ORDER BY i.service, i.instance, i.n DESC)," \
    " newcomer AS MATERIALIZED (SELECT service, instance, row_number() OVER (PARTITION BY service ORDER BY n) AS nth" \
    "  FROM reported i WHERE NOT EXISTS (SELECT FROM service_state s" \
    "   WHERE s.service = i.service AND s.instance = i.instance))," \
    " counted AS MATERIALIZED (SELECT i.service, i.number, s.valid, s.kept" \
    "  FROM (SELECT service, count(*) AS number FROM newcomer GROUP BY service) i," \
    "   LATERAL (SELECT count(*) AS kept, count(*) FILTER (WHERE " IS_VALID ") AS valid" \
    "    FROM service_state s WHERE s.service = i.service) s)," \
    " refused AS MATERIALIZED (SELECT i.service, i.instance FROM newcomer i JOIN counted c USING (service)" \
    "  WHERE i.nth + c.valid > " INSTANCES_MAX ")," \
    " gone AS (DELETE FROM service_state WHERE ctid = ANY (ARRAY(SELECT ctid FROM service_state" \
    "  WHERE reported_at < " MG_SQL_NOW " - " SERVICE_STATE_KEPT \
    "   OR (service IN (SELECT service FROM counted WHERE kept + number > " INSTANCES_MAX ")" \
    "    AND NOT " IS_VALID ") FOR UPDATE SKIP LOCKED)))," \
    " written AS (INSERT INTO service_state AS s (service, instance, breaker, is_ready, in_flight, concurrency," \
    "   reason, control_version, process, sequence, is_prober, calls)" \
    "  SELECT i.service, i.instance, i.breaker, i.is_ready, i.in_flight, i.concurrency, i.reason," \
    "   i.control_version, i.process, i.sequence, i.is_prober, i.calls::json" \
    "  FROM reported i WHERE (i.service, i.instance) NOT IN (SELECT service, instance FROM refused)" \
    "  ORDER BY i.service, i.instance" \
    "  ON CONFLICT (service, instance) DO UPDATE SET breaker = excluded.breaker, is_ready = excluded.is_ready," \
    "   in_flight = excluded.in_flight, concurrency = excluded.concurrency, reason = excluded.reason," \
    "   control_version = excluded.control_version, process = excluded.process, sequence = excluded.sequence," \
    "   is_prober = excluded.is_prober, calls = excluded.calls, reported_at = excluded.reported_at" \
    "  WHERE excluded.process = 0 OR s.process <> excluded.process OR s.sequence < excluded.sequence)" \
    " SELECT service, count(*) FROM refused GROUP BY service"
static const struct mg_many_sql PUT_STATES = {
    .all = {"put_service_states", PUT_SERVICE_STATES(STATE_KEY " <> ALL ($14::text[])")},
    .keys = {"put_service_states_keys",
        "WITH unused AS (SELECT $1::bigint[], $4::text[], $5::boolean[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[],"
        "  $10::bigint[], $11::bigint[], $12::boolean[], $13::text[])"
        " SELECT DISTINCT " STATE_KEY " FROM unnest($2::text[], $3::text[]) AS i(service, instance)"
        " WHERE " STATE_KEY " <> ALL ($14::text[])"},
    .among = {"put_service_states_among", PUT_SERVICE_STATES(STATE_KEY " = ANY ($14::text[])")},
    .noun = "report of agent",
    .verb = "stored",
    .is_given = true};
/* clang-format on */

static void refused_log(struct mg_store *store, const struct mg_rows *rows)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool was_logged = store->refused_boot_ms != 0 && now_ms - store->refused_boot_ms < REFUSED_LOG_EVERY_MS;
    if (was_logged || mg_rows_count(rows) == 0) {
        return;
    }
    store->refused_boot_ms = now_ms;
    for (int row = 0; row < mg_rows_count(rows); row++) {
        char service[MG_NAME_MAX + 1];
        mg_rows_copy(rows, row, COLUMN_SERVICE, service, sizeof(service));
        mg_log(MG_LOG_WARN, "a service has too many agents: reports of additional agents are not stored",
               MG_LOG_TEXT("service", service), MG_LOG_NUMBER("kept", MG_SERVICE_INSTANCES_MAX),
               MG_LOG_NUMBER("refused", mg_rows_int(rows, row, COLUMN_REFUSED)));
    }
}

static void on_put(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store_done_job *job = arg;
    if (answer->err == NULL) {
        refused_log(job->base.store, answer->rows[0]);
    }
    mg_store_done_job_answer(job, answer);
}

void mg_store_put_service_states(struct mg_store *store, const struct mg_service_state *states, int count,
                                 mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int n = mg_pg_add_array(&params, MG_PG_INT), service = mg_pg_add_array(&params, MG_PG_TEXT);
    int instance = mg_pg_add_array(&params, MG_PG_TEXT), breaker = mg_pg_add_array(&params, MG_PG_TEXT);
    int is_ready = mg_pg_add_array(&params, MG_PG_BOOL), in_flight = mg_pg_add_array(&params, MG_PG_INT);
    int concurrency = mg_pg_add_array(&params, MG_PG_INT), reason = mg_pg_add_array(&params, MG_PG_TEXT);
    int control_version = mg_pg_add_array(&params, MG_PG_INT), process = mg_pg_add_array(&params, MG_PG_INT);
    int sequence = mg_pg_add_array(&params, MG_PG_INT), is_prober = mg_pg_add_array(&params, MG_PG_BOOL);
    int calls = mg_pg_add_array(&params, MG_PG_TEXT);
    for (int i = 0; i < count; i++) {
        mg_pg_push_int(&params, n, i);
        mg_pg_push_text(&params, service, mg_slice_of(states[i].service));
        mg_pg_push_text(&params, instance, mg_slice_of(states[i].instance));
        mg_pg_push_text(&params, breaker, mg_slice_of(states[i].breaker));
        mg_pg_push_bool(&params, is_ready, states[i].is_ready);
        mg_pg_push_int(&params, in_flight, states[i].in_flight);
        mg_pg_push_int(&params, concurrency, states[i].concurrency);
        mg_pg_push_text(&params, reason, mg_slice_of(states[i].reason));
        mg_pg_push_int(&params, control_version, (int64_t)states[i].control_version);
        mg_pg_push_int(&params, process, (int64_t)states[i].process);
        mg_pg_push_int(&params, sequence, (int64_t)states[i].sequence);
        mg_pg_push_bool(&params, is_prober, states[i].is_prober);
        mg_pg_push_text(&params, calls, states[i].calls);
    }
    mg_store_send_many(store, &PUT_STATES, &params, on_put, mg_store_done_job_create(store, done, arg));
}
