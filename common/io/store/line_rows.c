/*
 * The lines of keys (core/line.h) in the store. A commit in which orders join, begin or leave has three
 * statements more, after all others: the first locks the rows of the keys and counts, the second gives
 * places, the third gives them up and finds the orders that have their turn now. As statements of their own
 * they have snapshots of their own, so that none misses a place or an end that was committed before the lock
 * was had. Every writer locks orders before keys, and keys in their order.
 *
 * A turn stays in the key's row until its order has taken it. So the message that tells the order need not be
 * repeated after a crash: the leading supervisor finds it there.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/sql.h"
#include "io/store/store_private.h"

static const struct mg_sql MOVE_LINES = MG_SQL_OF(move_lines);
static const struct mg_sql JOIN_LINES = MG_SQL_OF(join_lines);
static const struct mg_sql PASS_LINES = MG_SQL_OF(pass_lines);
static const struct mg_sql LINE_LENGTHS = MG_SQL_OF(line_lengths);

enum { N, ORDER_ID, GENERATION, LEFT_GENERATION, LEAVES, BEGINS, JOINS, KEY, MOVE_COUNT };
static_assert((int)MG_SQL_move_lines_ns == N && (int)MG_SQL_move_lines_order_ids == ORDER_ID &&
                  (int)MG_SQL_move_lines_generations == GENERATION &&
                  (int)MG_SQL_move_lines_left_generations == LEFT_GENERATION &&
                  (int)MG_SQL_move_lines_leaves == LEAVES && (int)MG_SQL_move_lines_begins == BEGINS &&
                  (int)MG_SQL_move_lines_joins == JOINS && (int)MG_SQL_move_lines_keys == KEY &&
                  (int)MG_SQL_move_lines_params == MOVE_COUNT && (int)MG_SQL_join_lines_keys == KEY &&
                  (int)MG_SQL_join_lines_params == MOVE_COUNT && (int)MG_SQL_pass_lines_keys == KEY &&
                  (int)MG_SQL_pass_lines_params == MOVE_COUNT,
              "the three statements have the same parameters");

/* ---- moves ---- */

void mg_store_lines_begin(struct mg_store_lines *lines)
{
    lines->has_any = false;
}

void mg_store_lines_add(struct mg_store_lines *lines, int n, const struct mg_order_write *write)
{
    static const enum mg_pg_type TYPES[MOVE_COUNT] = {MG_PG_INT,  MG_PG_TEXT, MG_PG_INT,  MG_PG_INT,
                                                      MG_PG_BOOL, MG_PG_BOOL, MG_PG_BOOL, MG_PG_TEXT};
    const struct mg_line_move *move = &write->line;
    struct mg_pg_params *params = &lines->params;
    if (!move->leaves && !move->begins && !move->joins) {
        return;
    }
    if (!lines->has_any) {
        mg_pg_params_init(params);
        for (int i = 0; i < MOVE_COUNT; i++) {
            (void)mg_pg_add_array(params, TYPES[i]);
        }
        lines->has_any = true;
    }
    mg_pg_push_int(params, N, n);
    mg_pg_push_text(params, ORDER_ID, mg_slice_of(write->record->order_id));
    mg_pg_push_int(params, GENERATION, write->record->order.generation);
    mg_pg_push_int(params, LEFT_GENERATION, move->left_generation);
    mg_pg_push_bool(params, LEAVES, move->leaves);
    mg_pg_push_bool(params, BEGINS, move->begins);
    mg_pg_push_bool(params, JOINS, move->joins);
    mg_pg_push_text(params, KEY, move->key);
}

int mg_store_lines_list(struct mg_store_lines *lines, struct mg_pg_statement *ret_statements)
{
    if (!lines->has_any) {
        return 0;
    }
    ret_statements[0] = (struct mg_pg_statement){&MOVE_LINES, &lines->params};
    ret_statements[1] = (struct mg_pg_statement){&JOIN_LINES, &lines->params};
    ret_statements[2] = (struct mg_pg_statement){&PASS_LINES, &lines->params};
    return MG_STORE_LINE_STATEMENTS;
}

void mg_store_lines_take(const struct mg_rows *rows, struct mg_order_write *writes, int count)
{
    struct mg_err err;
    for (int row = 0; row < mg_rows_count(rows); row++) {
        int n = mg_store_index_of(rows, row, count, &err);
        if (n >= 0) { /* or the turn is found by the supervisor */
            struct mg_turn *turn = &writes[n].turn;
            mg_rows_copy(rows, row, 1, turn->order_id, sizeof(turn->order_id));
            turn->generation = (uint32_t)mg_rows_int(rows, row, 2);
        }
    }
}

void mg_store_lines_finish(struct mg_store_lines *lines)
{
    if (lines->has_any) {
        mg_pg_params_finish(&lines->params);
    }
}

/* ---- lengths ---- */

struct lengths_job {
    struct mg_store_job base;
    mg_store_lengths_fn *done;
    int count;
    int64_t *lengths; /* owned, with the keys and their texts after it */
    struct mg_slice *keys;
};

static void lengths_finish(struct mg_store_job *base)
{
    struct lengths_job *job = (struct lengths_job *)base;
    free(job->lengths);
}

static void on_lengths(void *arg, const struct mg_pg_answer *reply)
{
    struct lengths_job *job = arg;
    struct mg_err err = {MG_TRANSIENT, "could not read the lengths of lines: no memory"};
    if (reply->err != NULL || job->lengths == NULL) {
        job->done(job->base.arg, NULL,
                  reply->err != NULL ? mg_store_error(reply, "read the lengths of lines", &err) : &err);
        return;
    }
    for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
        struct mg_slice key = mg_rows_value(reply->rows[0], row, 0);
        for (int i = 0; i < job->count; i++) {
            if (mg_slice_equal(job->keys[i], key)) {
                job->lengths[i] = mg_rows_int(reply->rows[0], row, 1);
            }
        }
    }
    job->done(job->base.arg, job->lengths, NULL);
}

void mg_store_line_lengths(struct mg_store *store, const struct mg_slice *keys, int count,
                           mg_store_lengths_fn *done, void *arg)
{
    struct lengths_job *job = mg_store_job_create(store, sizeof(*job), on_lengths, arg, lengths_finish);
    struct mg_pg_params params;
    job->done = done;
    job->count = count;
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += keys[i].len;
    }
    job->lengths = calloc(1, (size_t)count * (sizeof(*job->lengths) + sizeof(*keys)) + bytes);
    mg_pg_params_init(&params);
    int array = mg_pg_add_array(&params, MG_PG_TEXT);
    job->keys = job->lengths != NULL ? (struct mg_slice *)(void *)&job->lengths[count] : NULL;
    char *at = job->lengths != NULL ? (char *)&job->keys[count] : NULL;
    for (int i = 0; i < count; i++) {
        mg_pg_push_text(&params, array, keys[i]);
        if (at != NULL) {
            memcpy(at, keys[i].data, keys[i].len);
            job->keys[i] = (struct mg_slice){at, keys[i].len};
            at += keys[i].len;
        }
    }
    mg_store_send_one(store, &LINE_LENGTHS, &params, mg_store_job_answer, job);
}
