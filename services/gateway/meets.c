/*
 * The order that a submission meets in the database, and its workflow. One report answers for all posts that
 * have come while the one before it was under way. So a single post is asked about at once, and under load a
 * post costs the database a row instead of a statement.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "gateway/call.h"

#define ASKED_MAX    256 /* by one report, which then takes milliseconds */
#define VERSION_SIZE 20  /* digits of an int64, and a blank */

struct mg_meets {
    struct mg_gateway *gateway;
    struct mg_post *asked[ASKED_MAX]; /* by the report under way, in its order */
    int asked_count;
    TAILQ_HEAD(, mg_post) waiting; /* for the next report; as many as the gateway has in hand */
    struct mg_buf ids, workflows, versions;
};

struct mg_meets *mg_meets_create(struct mg_gateway *gateway)
{
    struct mg_meets *meets = calloc(1, sizeof(*meets));
    if (meets != NULL) {
        meets->gateway = gateway;
        TAILQ_INIT(&meets->waiting);
        mg_buf_init(&meets->ids, (size_t)ASKED_MAX * (MG_ORDER_ID_MAX + 1));
        mg_buf_init(&meets->workflows, (size_t)ASKED_MAX * (MG_NAME_MAX + 1));
        mg_buf_init(&meets->versions, (size_t)ASKED_MAX * VERSION_SIZE);
    }
    return meets;
}

void mg_meets_destroy(struct mg_meets *meets)
{
    if (meets != NULL) {
        mg_buf_finish(&meets->ids);
        mg_buf_finish(&meets->workflows);
        mg_buf_finish(&meets->versions);
    }
    free(meets);
}

static void report_ask(struct mg_meets *meets);

static void waiting_fail(struct mg_meets *meets, const struct mg_err *err)
{
    struct mg_post *post;
    while ((post = TAILQ_FIRST(&meets->waiting)) != NULL) {
        TAILQ_REMOVE(&meets->waiting, post, entry);
        post->met(post, NULL, 0, err);
    }
}

/* Posts that come meanwhile, from a batch that goes on, wait. After a failure those that wait have it, too.
 */
static void on_report(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_meets *meets = arg;
    for (int row = 0; row < meets->asked_count; row++) {
        meets->asked[row]->met(meets->asked[row], rows, row, err);
    }
    if (err != NULL) {
        waiting_fail(meets, err);
    }
    meets->asked_count = 0;
    if (!TAILQ_EMPTY(&meets->waiting)) {
        report_ask(meets);
    }
}

static void report_ask(struct mg_meets *meets)
{
    struct mg_post *post;
    mg_buf_clear(&meets->ids);
    mg_buf_clear(&meets->workflows);
    mg_buf_clear(&meets->versions);
    while (meets->asked_count < ASKED_MAX && (post = TAILQ_FIRST(&meets->waiting)) != NULL) {
        const char *blank = meets->asked_count > 0 ? " " : "";
        TAILQ_REMOVE(&meets->waiting, post, entry);
        mg_buf_printf(&meets->ids, "%s%s", blank, post->order_id);
        mg_buf_printf(&meets->workflows, "%s%s", blank, post->submission.workflow);
        mg_buf_printf(&meets->versions, "%s%" PRId64, blank, post->submission.workflow_version);
        meets->asked[meets->asked_count++] = post;
    }
    if (meets->ids.failed || meets->workflows.failed || meets->versions.failed) {
        struct mg_err err;
        (void)mg_err_set(&err, MG_TRANSIENT, "no memory");
        on_report(meets, NULL, &err);
        return;
    }
    mg_store_report(meets->gateway->store, MG_REPORT_SUBMISSIONS_MEET,
                    (const char *[]){meets->ids.data, meets->workflows.data, meets->versions.data}, 3,
                    on_report, meets);
}

void mg_meets_ask(struct mg_meets *meets, struct mg_post *post)
{
    TAILQ_INSERT_TAIL(&meets->waiting, post, entry);
    if (meets->asked_count == 0) {
        report_ask(meets);
    }
}
