/* What agents report of their services, and the owed marks of events: small writes that no decision hangs on.
 */
#include "io/store_private.h"

/* Instances come and go with every restart; what has been silent for so long is no instance any more. */
#define SERVICE_STATE_KEPT "interval '1 hour'"

/* The last report of an instance in a batch is the one that counts. Two schedulers may commit two reports of
 * one agent in the other order: then the row is of the later one already. */
/* clang-format off */
static const struct mg_sql PUT_SERVICE_STATES = {
    "put_service_states",
    "WITH gone AS (DELETE FROM service_state WHERE reported_at < " MG_SQL_NOW " - " SERVICE_STATE_KEPT ")"
    " INSERT INTO service_state AS s (service, instance, breaker, is_ready, in_flight, concurrency, reason,"
    "  control_version, process, sequence, is_prober)"
    " SELECT DISTINCT ON (i.service, i.instance) i.service, i.instance, i.breaker, i.is_ready, i.in_flight,"
    "  i.concurrency, i.reason, i.control_version, i.process, i.sequence, i.is_prober"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[],"
    " $7::bigint[],"
    "  $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::boolean[])"
    "  AS i(n, service, instance, breaker, is_ready, in_flight, concurrency, reason, control_version,"
    "   process, sequence, is_prober)"
    " ORDER BY i.service, i.instance, i.n DESC"
    " ON CONFLICT (service, instance) DO UPDATE SET breaker = excluded.breaker, is_ready = excluded.is_ready,"
    "  in_flight = excluded.in_flight, concurrency = excluded.concurrency, reason = excluded.reason,"
    "  control_version = excluded.control_version, process = excluded.process, sequence = excluded.sequence,"
    "  is_prober = excluded.is_prober, reported_at = excluded.reported_at"
    " WHERE excluded.process = 0 OR s.process <> excluded.process OR s.sequence < excluded.sequence"};
/* clang-format on */

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
    }
    mg_store_send_one(store, &PUT_SERVICE_STATES, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
