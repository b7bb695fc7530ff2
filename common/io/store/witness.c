/*
 * The witness: a database that refuses an order may refuse all of them, at any SQLSTATE. It counts as
 * working for others if, in the same session, a synthetic order is written to all tables of orders by the
 * same statements, changed by them, and read. The last statement then fails on purpose, so that nothing
 * remains, and its SQLSTATE shows that all before it succeeded.
 * A table that was emptied takes new orders, so lost rows have another witness: other orders that are stored.
 */
#include <stdio.h>
#include <string.h>

#include "io/store/pass_by.h"
#include "io/store/sql.h"
#include "io/store/store_private.h"

/* The error names the text: a trigger may raise the same code. */
#define ROLLED_BACK "22P02"
#define MARK        "the witness is rolled back"

/* A write of another scheduler is over after this time, except on a slow disk. */
#define LOCKS_HASTENED "set_config('lock_timeout', '100ms', true)"
const struct mg_sql MG_STORE_HASTEN = {"hasten", "SELECT " LOCKS_HASTENED
                                                 ", set_config('statement_timeout', '500ms', true)"};
const struct mg_sql MG_STORE_HASTEN_LOCKS = {"hasten_locks", "SELECT " LOCKS_HASTENED};

/* The orders of eight pages, drawn at random; few pages have more lines than 256. */
/* clang-format off */
const struct mg_sql MG_STORE_ARE_OTHERS_WHOLE = {
    "are_others_whole",
    "SELECT count(*) FILTER (WHERE o.order_id IS NOT NULL AND " MG_SQL_PART_lost_step " IS NULL) * 2 > count(*)"
    " FROM order_process p LEFT JOIN orders o ON o.order_id = p.order_id AND o.revision = p.revision"
    " WHERE p.ctid = ANY (ARRAY("
    "  SELECT format('(%s,%s)', page, line)::tid FROM generate_series(1, 256) line, ("
    "   SELECT floor(random() * pages)::bigint AS page FROM generate_series(1, 8), ("
    "    SELECT pg_relation_size('order_process') / current_setting('block_size')::bigint AS pages) s) d))"};
/* clang-format on */

static void record_make(struct mg_order_record *record, char order_id[MG_ORDER_ID_MAX + 1], int backend)
{
    /* An id of its own for each session: no session waits for the witness of another. */
    (void)snprintf(order_id, MG_ORDER_ID_MAX + 1, "makegood:witness:%d", backend);
    (void)snprintf(record->order_id, sizeof(record->order_id), "%s", order_id);
    (void)snprintf(record->workflow, sizeof(record->workflow), "witness");
    record->workflow_version = record->revision = 1;
    record->payload = mg_slice_of("{}");
    record->created_at_ms = record->order.complete_by_ms = record->order.wake_at_ms = 1;
    record->order.version = record->order.generation = 1;
    record->order.step_count = 1;
    record->step_names[0] = record->services[0] = "witness";
    record->order.state = MG_ORDER_PROCESSING; /* as most new orders are */
    record->order.steps[0].state = MG_STEP_RUNNING;
}

static struct mg_event_record event_make(uint64_t version)
{
    return (struct mg_event_record){.version = version,
                                    .cause_kind = MG_CAUSE_SUBMITTED,
                                    .cause = mg_slice_of("witness"),
                                    .by = mg_slice_of("witness"),
                                    .reason = mg_slice_of(""),
                                    .transitions = mg_slice_of("[]")};
}

void mg_store_witness_send(struct mg_store *store, mg_pg_fn *fn, void *arg)
{
    static struct mg_order_record record; /* large; one thread */
    char order_id[MG_ORDER_ID_MAX + 1];
    memset(&record, 0, sizeof(record));
    record_make(&record, order_id, mg_pg_backend_pid(store->pg));
    struct mg_event_record events[] = {event_make(1), event_make(2)};
    struct mg_label label = {"witness", mg_slice_of("witness")};
    struct mg_alert_write alert = {MG_ALERT_POISONED,      false, order_id, order_id,
                                   mg_slice_of("witness"), NULL};
    record.labels = &label;
    record.label_count = 1;
    struct mg_order_write write = {.record = &record,
                                   .changed_steps = 1,
                                   .events = &events[0],
                                   .event_count = 1,
                                   .alerts = &alert,
                                   .alert_count = 1,
                                   .locked_by = "witness"};
    struct mg_store_write inserts, updates;
    struct mg_pg_params load, end;
    struct mg_pg_statement statements[MG_PG_STATEMENTS_MAX];
    mg_store_write_begin(&inserts);
    mg_store_write_add(&inserts, &write);
    record.order.version = 2;
    record.stored_steps = 1;
    write.expected_version = 1;
    write.events = &events[1];
    write.alert_count = 0;
    mg_store_write_begin(&updates);
    mg_store_write_add(&updates, &write);
    mg_pg_params_init(&load);
    mg_pg_params_init(&end);
    int n = mg_pg_add_array(&load, MG_PG_INT), ids = mg_pg_add_array(&load, MG_PG_TEXT);
    mg_pg_push_int(&load, n, 0);
    mg_pg_push_text(&load, ids, mg_slice_of(order_id));
    mg_pg_add_text(&end, mg_slice_of(MARK));
    int count = 0;
    statements[count++] = (struct mg_pg_statement){&MG_STORE_HASTEN, NULL};
    count += mg_store_write_list(&inserts, &statements[count]);
    count += mg_store_write_list(&updates, &statements[count]);
    statements[count++] = (struct mg_pg_statement){&MG_STORE_LOAD_ORDERS, &load};
    statements[count++] = (struct mg_pg_statement){&MG_STORE_ROLL_BACK, &end};
    mg_store_send(store, statements, count, fn, arg);
    mg_store_write_finish(&inserts);
    mg_store_write_finish(&updates);
    mg_pg_params_finish(&load);
    mg_pg_params_finish(&end);
}

enum mg_refusal mg_store_refusal_of(enum mg_pg_fault fault)
{
    return fault == MG_PG_DATA || fault == MG_PG_WRONG ? MG_REFUSAL_LASTING : MG_REFUSAL_PASSING;
}

bool mg_store_witness_holds(const struct mg_pg_answer *answer)
{
    return strcmp(answer->sqlstate, ROLLED_BACK) == 0 && strstr(answer->err->text, MARK) != NULL;
}
