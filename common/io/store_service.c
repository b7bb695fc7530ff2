/* What agents report of their services, and the owed marks of events: small writes that no decision hangs on.
 */
#include "io/store_private.h"

/* Instances come and go with every restart; what has been silent for so long is no instance any more. */
#define SERVICE_STATE_KEPT "interval '1 hour'"

/* The last report of an instance in a batch is the one that counts. */
/* clang-format off */
static const struct mg_sql PUT_SERVICE_STATES = {
    "put_service_states",
    "WITH gone AS (DELETE FROM service_state WHERE reported_at < " MG_SQL_NOW " - " SERVICE_STATE_KEPT ")"
    " INSERT INTO service_state AS s (service, instance, breaker, is_ready, in_flight, concurrency, reason,"
    "  control_version)"
    " SELECT DISTINCT ON (i.service, i.instance) i.service, i.instance, i.breaker, i.is_ready, i.in_flight,"
    "  i.concurrency, i.reason, i.control_version"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[],"
    " $7::bigint[],"
    "  $8::text[], $9::bigint[])"
    "  AS i(n, service, instance, breaker, is_ready, in_flight, concurrency, reason, control_version)"
    " ORDER BY i.service, i.instance, i.n DESC"
    " ON CONFLICT (service, instance) DO UPDATE SET breaker = excluded.breaker, is_ready = excluded.is_ready,"
    "  in_flight = excluded.in_flight, concurrency = excluded.concurrency, reason = excluded.reason,"
    "  control_version = excluded.control_version, reported_at = excluded.reported_at"};
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
    int control_version = mg_pg_add_array(&params, MG_PG_INT);
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
    }
    mg_store_send_one(store, &PUT_SERVICE_STATES, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
