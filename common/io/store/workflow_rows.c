/* Workflow definitions: stored as the loaded bytes; a stored version never changes its content. CR LF and LF
 * are the same content: in JSON a line end stands between values only. */
#include <stdio.h>

#include "io/store/store_private.h"

/* clang-format off */
static const struct mg_sql GET_WORKFLOW = {
    "get_workflow",
    "SELECT version, definition FROM workflow WHERE name = $1::text AND ($2::bigint = 0 OR version ="
    " $2::bigint)"
    " ORDER BY version DESC LIMIT 1"};
/* clang-format on */

/* The update changes nothing. It makes the winning row visible here, even if another session has just stored
 * it. */
/* clang-format off */
static const struct mg_sql PUT_WORKFLOW = {
    "put_workflow",
    "INSERT INTO workflow (name, version, definition) VALUES ($1::text, $2::bigint, $3::text)"
    " ON CONFLICT (name, version) DO UPDATE SET loaded_at = workflow.loaded_at"
    " RETURNING replace(workflow.definition, E'\\r\\n', E'\\n') = replace($3::text, E'\\r\\n', E'\\n')"};
/* clang-format on */

struct get_job {
    struct mg_store_job base;
    mg_store_workflow_fn *done;
};

struct put_job {
    struct mg_store_job base;
    char name[MG_NAME_MAX + 1];
    int64_t version;
    mg_store_done_fn *done;
};

static void on_got(void *arg, const struct mg_pg_answer *reply)
{
    struct get_job *job = arg;
    struct mg_err err;
    struct mg_slice none = {NULL, 0};
    if (reply->err != NULL) {
        job->done(job->base.arg, false, 0, none, mg_store_error(reply, "read the workflow", &err));
    } else if (mg_rows_count(reply->rows[0]) == 0) {
        job->done(job->base.arg, false, 0, none, NULL);
    } else {
        job->done(job->base.arg, true, mg_rows_int(reply->rows[0], 0, 0), mg_rows_value(reply->rows[0], 0, 1),
                  NULL);
    }
}

void mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                           mg_store_workflow_fn *done, void *arg)
{
    struct get_job *job = mg_store_job_create(store, sizeof(*job), on_got, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(name));
    mg_pg_add_int(&params, version);
    mg_store_send_one(store, &GET_WORKFLOW, &params, mg_store_job_answer, job);
}

static void on_put(void *arg, const struct mg_pg_answer *reply)
{
    struct put_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, mg_store_error(reply, "store the workflow", &err));
    } else if (!mg_rows_bool(reply->rows[0], 0, 0)) {
        (void)mg_err_set(
            &err, MG_PERMANENT,
            "cannot store workflow \"%s\" version %lld: this version is already stored with other "
            "content; give the new definition a higher version",
            job->name, (long long)job->version);
        job->done(job->base.arg, &err);
    } else {
        job->done(job->base.arg, NULL);
    }
}

void mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                           struct mg_slice definition, mg_store_done_fn *done, void *arg)
{
    struct put_job *job = mg_store_job_create(store, sizeof(*job), on_put, arg, NULL);
    snprintf(job->name, sizeof(job->name), "%s", name);
    job->version = version;
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(name));
    mg_pg_add_int(&params, version);
    mg_pg_add_text(&params, definition);
    mg_store_send_one(store, &PUT_WORKFLOW, &params, mg_store_job_answer, job);
}
