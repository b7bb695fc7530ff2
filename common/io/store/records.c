/*
 * Rows to records: the statement that reads whole orders, and the conversion of its rows and of event rows to
 * the records of store.h. All is copied into the caller's arena; the rows are freed when the callback
 * returns. An order without the row of a changed step is refused, like one that the database cannot read: a
 * lost row is never read as none.
 */
#include "io/store/sql.h"
#include "io/store/store_private.h"

/* P_… are columns of order_process p, O_… of its payload in orders o, S_… of order_step s, E_… of
 * order_event. */
#define SELECT_P(name, type, ...) ", " MG_READ_##type("p." #name)
#define SELECT_O(name, type, ...) ", " MG_READ_##type("o." #name)
#define SELECT_S(name, type, ...) ", " MG_READ_##type("s." #name)
#define INDEX_P(name, ...)        P_##name,
#define INDEX_O(name, ...)        O_##name,
#define INDEX_S(name, ...)        S_##name,
#define INDEX_E(name, ...)        E_##name,
enum {
    ROW_n,
    P_order_id,
    MG_ORDER_COLUMNS(MG_LOADED, INDEX_P) MG_PAYLOAD_COLUMNS(MG_LOADED, INDEX_O) S_position,
    MG_STEP_COLUMNS(MG_LOADED, INDEX_S) ROW_lost_step
};
enum { E_KEY, MG_EVENT_COLUMNS(MG_LOADED, INDEX_E) }; /* of MG_SQL_EVENT_COLUMNS, after the key */

/* Only the first row of an order has the payload, which may be large and would be repeated for each step. */
/* clang-format off */
const struct mg_sql MG_STORE_LOAD_ORDERS = {
    "load_orders",
    "SELECT i.n, p.order_id" MG_ORDER_COLUMNS(MG_LOADED, SELECT_P) MG_PAYLOAD_COLUMNS(MG_LOADED, SELECT_O)
    ", s.position" MG_STEP_COLUMNS(MG_LOADED, SELECT_S)
    ", CASE WHEN coalesce(s.rank, 1) = 1 THEN " MG_SQL_PART_lost_step " END"
    " FROM unnest($1::bigint[], $2::text[]) AS i(n, order_id) JOIN order_process p ON p.order_id = i.order_id"
    " LEFT JOIN LATERAL ("
    "  SELECT *, row_number() OVER (ORDER BY position) AS rank FROM order_step WHERE order_id = p.order_id"
    " ) s ON true"
    " LEFT JOIN orders o ON o.order_id = p.order_id AND o.revision = p.revision AND coalesce(s.rank, 1) = 1"};
/* clang-format on */

/* ---- rows to records ---- */

/* Copies a value, or an absent slice for NULL. False: no memory in the arena. */
static bool take(struct mg_arena *arena, const struct mg_rows *rows, int row, int column,
                 struct mg_slice *ret_slice)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    *ret_slice = (struct mg_slice){NULL, 0};
    if (value.data == NULL) {
        return true;
    }
    *ret_slice = mg_arena_copy(arena, value);
    return ret_slice->data != NULL;
}

/* Parses a word that both the database's CHECK and words.def list; any other word belongs to a newer
 * version. */
#define TAKE_WORD(parse, rows, row, column, ret)                                                             \
    parse(mg_rows_value((rows), (row), (column)).data, mg_rows_value((rows), (row), (column)).len, (ret))

/* By conversion: a value to its member. `is_known` ends with an unknown word, `is_whole` with the arena's
 * memory, `fits` with a number that the member cannot hold: cut, an attempt would pass the fence of another.
 */
#define FILL_INT(column, member, with)                                                                       \
    member = (__typeof__(member))mg_rows_int(rows, row, column);                                             \
    fits = (int64_t)(member) == mg_rows_int(rows, row, column) && fits;
#define FILL_TIME(column, member, with) member = mg_rows_int(rows, row, column);
#define FILL_BOOL(column, member, with) member = mg_rows_bool(rows, row, column);
#define FILL_WORD(column, member, with)                                                                      \
    is_known = TAKE_WORD(with##_parse, rows, row, column, &(member)) && is_known;
#define FILL_TEXT(column, member, with) is_whole = take(arena, rows, row, column, &(member)) && is_whole;
#define FILL_STRING(column, member, with)                                                                    \
    member = mg_arena_text(arena, mg_rows_value(rows, row, column));                                         \
    is_whole = member != NULL && is_whole;
#define FILL_CHARS(column, member, with)  mg_rows_copy(rows, row, column, member, sizeof(member));
#define FILL_DIGEST(column, member, with) with = mg_rows_bytes(rows, row, column, member, MG_SHA256_SIZE);

#define FILL_P(name, type, written, loaded, listed, conversion, member, with)                                \
    FILL_##conversion(P_##name, member, with)
#define FILL_O(name, type, written, loaded, listed, conversion, member, with)                                \
    FILL_##conversion(O_##name, member, with)
#define FILL_S(name, type, written, loaded, listed, conversion, member, with)                                \
    FILL_##conversion(S_##name, member, with)
#define FILL_E(name, type, written, loaded, listed, conversion, member, with)                                \
    FILL_##conversion(E_##name, member, with)

static enum mg_class judge(const struct mg_order_record *record, bool is_known, bool is_whole, bool fits,
                           struct mg_err *err)
{
    if (!fits) {
        return mg_err_set(err, MG_PERMANENT, "damaged: one of its numbers is beyond its range");
    }
    if (!is_known) {
        return mg_err_set(err, MG_STALE, "could not read order \"%s\": a newer version wrote it",
                          record->order_id);
    }
    if (!is_whole) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": the batch's memory is full",
                          record->order_id);
    }
    return MG_OK;
}

static enum mg_class fill_order(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                struct mg_order_record *record, struct mg_err *err)
{
    struct mg_order *order = &record->order;
    bool is_known = true, is_whole = true, fits = true;
    MG_ORDER_COLUMNS(MG_LOADED, FILL_P);
    return judge(record, is_known, is_whole, fits, err);
}

static enum mg_class fill_step(struct mg_arena *arena, const struct mg_rows *rows, int row,
                               struct mg_order_record *record, struct mg_err *err)
{
    int64_t index = mg_rows_int(rows, row, S_position);
    if (index < 0 || index >= MG_STEPS_MAX) {
        return mg_err_set(err, MG_BUG, "cannot read order \"%s\": step position out of range",
                          record->order_id);
    }
    struct mg_step *step = &record->order.steps[index];
    struct mg_step_record *more = &record->steps[index];
    record->stored_steps |= UINT64_C(1) << index;
    if (index >= record->order.step_count) {
        record->order.step_count = (int)index + 1;
    }
    bool is_known = true, is_whole = true, fits = true;
    MG_STEP_COLUMNS(MG_LOADED, FILL_S);
    return judge(record, is_known, is_whole, fits, err);
}

enum mg_class mg_store_take_event(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                  struct mg_event_record *event, struct mg_err *err)
{
    bool is_known = true, is_whole = true, fits = true;
    MG_EVENT_COLUMNS(MG_LOADED, FILL_E);
    if (!fits) {
        return mg_err_set(err, MG_PERMANENT, "damaged: the number of an event is beyond its range");
    }
    if (!is_known) {
        return mg_err_set(err, MG_STALE, "could not read an event: a newer version wrote it");
    }
    if (!is_whole) {
        return mg_err_set(err, MG_TRANSIENT, "could not read an event: the batch's memory is full");
    }
    return MG_OK;
}

/* Takes one row; the first row of an order also fills the order. */
static enum mg_class take_row(struct mg_arena *arena, const struct mg_rows *rows, int row,
                              struct mg_loaded *loaded, struct mg_err *err)
{
    struct mg_order_record *record = loaded->record;
    if (record == NULL) {
        record = mg_arena_alloc(arena, sizeof(*record));
        if (record == NULL) {
            return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
        }
        loaded->record = record;
        mg_rows_copy(rows, row, P_order_id, record->order_id, sizeof(record->order_id));
        enum mg_class class = fill_order(arena, rows, row, record, err);
        if (class != MG_OK) {
            return class;
        }
    }
    if (!mg_rows_is_null(rows, row, O_payload)) {
        bool is_whole = true, has_digest;
        MG_PAYLOAD_COLUMNS(MG_LOADED, FILL_O);
        (void)has_digest; /* NOT NULL with a checked length */
        if (!is_whole) {
            return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
        }
    }
    if (!mg_rows_is_null(rows, row, ROW_lost_step)) {
        struct mg_slice step = mg_rows_value(rows, row, ROW_lost_step);
        return mg_err_set(err, MG_PERMANENT, "damaged: step \"%.*s\" has changed, and its row is lost",
                          (int)step.len, step.data);
    }
    return mg_rows_is_null(rows, row, S_position) ? MG_OK : fill_step(arena, rows, row, record, err);
}

int mg_store_index_of(const struct mg_rows *rows, int row, int count, struct mg_err *err)
{
    int64_t n = mg_rows_int(rows, row, ROW_n);
    if (n >= 0 && n < count) {
        return (int)n;
    }
    (void)mg_err_set(err, MG_BUG, "the database's answer has an unexpected row");
    return -1;
}

struct mg_loaded *mg_store_loaded_of(const struct mg_rows *rows, int row, struct mg_loaded *orders, int count,
                                     struct mg_err *err)
{
    int index = mg_store_index_of(rows, row, count, err);
    if (index >= 0) {
        return &orders[index];
    }
    (void)mg_err_prefix(err, "cannot read orders");
    return NULL;
}

/* Of a damaged order, for the reason in `err`; its neighbours are read. */
static enum mg_class refuse(struct mg_arena *arena, struct mg_loaded *loaded, struct mg_err *err)
{
    char *text = mg_arena_text(arena, mg_slice_of(err->text));
    if (text == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
    }
    *loaded = (struct mg_loaded){.refused = text, .refusal = MG_REFUSAL_LASTING};
    return MG_OK;
}

enum mg_class mg_store_take_orders(struct mg_arena *arena, const struct mg_rows *rows,
                                   struct mg_loaded *orders, int count, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        struct mg_loaded *loaded = mg_store_loaded_of(rows, row, orders, count, err);
        if (loaded == NULL) {
            return MG_BUG;
        }
        if (loaded->is_unreadable || loaded->refused != NULL) {
            continue;
        }
        enum mg_class class = take_row(arena, rows, row, loaded, err);
        class = class == MG_PERMANENT ? refuse(arena, loaded, err) : class;
        if (class == MG_STALE) { /* does not affect its neighbours */
            *loaded = (struct mg_loaded){.is_unreadable = true};
        } else if (class != MG_OK) {
            return class;
        }
    }
    return MG_OK;
}
