/* See minutes.h. */
#include "io/store/minutes.h"

#include "io/store/sql.h"
#include "io/store/store_private.h"

static const struct mg_sql COUNT_MINUTES = MG_SQL_OF(count_minutes);

void mg_store_count_minutes(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_store_send_one(store, &COUNT_MINUTES, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
