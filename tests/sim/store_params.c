/*
 * Reads parameters and writes rows, as a server does. The arrays are identified by the SQL:
 * `unnest($3::text[]) AS goal` or `unnest($1::bigint[], $2::text[]) AS i(n, order_id)`. So a column that is
 * added, removed or moved is detected, and not taken for another.
 */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define ARRAY_HEADER_SIZE 20 /* io/pg/params.c */
#define KNOWN_MAX         64
#define BLANKS            " \n"

/* ---- names of parameters ---- */

static void die(const struct mg_sql *sql, const char *what, const char *name)
{
    (void)fprintf(stderr, "the simulated database %s \"%s\" of statement \"%s\": %s\n", what, name, sql->name,
                  sql->text);
    abort();
}

struct names {
    const char *at[SIM_COLUMNS_MAX];
    size_t lens[SIM_COLUMNS_MAX];
    int params[SIM_COLUMNS_MAX];
    int count;
};

static size_t word_len(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz_");
}

/* Parses the text after "unnest(": "$1::text[], $2::text[]) AS name" or "… AS i(one, two)". Returns its
 * end. */
static const char *unnest_read(const char *at, struct names *names)
{
    int params[SIM_COLUMNS_MAX], count = 0;
    at += strspn(at, BLANKS);
    while (*at == '$') {
        char *end;
        params[count++] = (int)strtol(at + 1, &end, 10) - 1;
        at = strchr(end, ']') + 1;
        at += strspn(at, "," BLANKS);
    }
    at = strstr(at, "AS ") + strlen("AS "); /* after "WITH ORDINALITY", if present */
    const char *list = at + word_len(at);
    at = *list == '(' ? list + 1 : at;
    for (int i = 0; i < count; i++) {
        names->at[names->count] = at;
        names->lens[names->count] = word_len(at);
        names->params[names->count++] = params[i];
        at += word_len(at);
        at += strspn(at, "," BLANKS);
    }
    return at;
}

static void places_find(const struct mg_sql *sql, const struct sim_statement *statement, int *ret_places)
{
    static const char UNNEST[] = "unnest(";
    struct names names = {.count = 0};
    for (const char *at = sql->text; (at = strstr(at, UNNEST)) != NULL;) {
        at = unnest_read(at + sizeof(UNNEST) - 1, &names);
    }
    for (int i = 0; i < statement->column_count; i++) {
        ret_places[i] = -1;
        for (int k = 0; k < names.count; k++) {
            if (names.lens[k] == strlen(statement->columns[i]) &&
                memcmp(names.at[k], statement->columns[i], names.lens[k]) == 0) {
                ret_places[i] = names.params[k];
            }
        }
        if (ret_places[i] < 0) {
            die(sql, "misses the column", statement->columns[i]);
        }
    }
    if (names.count != statement->column_count) {
        die(sql, "does not know every column", "?");
    }
}

/* ---- statements ---- */

struct known {
    const struct mg_sql *sql;
    const struct sim_statement *statement;
    int places[SIM_COLUMNS_MAX];
};

/* A statement without a name is recognised by a piece of its text. */
static bool is_named(const struct mg_sql *sql, const char *name)
{
    return sql->name[0] != '\0' ? strcmp(sql->name, name) == 0 : strstr(sql->text, name) != NULL;
}

static const struct sim_statement *statement_find(const struct mg_sql *sql)
{
    static const struct sim_statement *const LISTS[] = {
        SIM_WRITE_STATEMENTS,  SIM_READ_STATEMENTS, SIM_MARK_STATEMENTS,  SIM_LEAD_STATEMENTS,
        SIM_PARKED_STATEMENTS, SIM_OWED_STATEMENTS, SIM_COUNT_STATEMENTS, SIM_LINE_STATEMENTS};
    for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++) {
        for (const struct sim_statement *at = LISTS[i]; at->name != NULL; at++) {
            if (is_named(sql, at->name)) {
                return at;
            }
        }
    }
    die(sql, "does not know", "it");
    return NULL;
}

static const struct known *known_of(const struct mg_sql *sql)
{
    static struct known known[KNOWN_MAX];
    static int known_count;
    for (int i = 0; i < known_count; i++) {
        if (known[i].sql == sql) {
            return &known[i];
        }
    }
    assert(known_count < KNOWN_MAX);
    struct known *added = &known[known_count++];
    added->sql = sql;
    added->statement = statement_find(sql);
    places_find(sql, added->statement, added->places);
    return added;
}

const struct sim_statement *sim_statement_of(const struct mg_sql *sql)
{
    return known_of(sql)->statement;
}

void sim_statement_run(struct sim_transaction *transaction, const struct mg_sql *sql,
                       const struct mg_pg_params *params, struct sim_output *output)
{
    static const struct mg_pg_params NONE;
    const struct known *known = known_of(sql);
    struct sim_input input = {.transaction = transaction,
                              .params = params == NULL ? &NONE : params,
                              .places = known->places,
                              .column_count = known->statement->column_count};
    for (int i = 0; i < input.column_count; i++) {
        const struct mg_pg_param *param = &input.params->items[input.places[i]];
        assert(param->is_array && (i == 0 || param->element_count == input.row_count));
        input.row_count = param->element_count;
        input.at[i] = param->bytes.data + ARRAY_HEADER_SIZE;
    }
    if (transaction->sqlstate[0] == '\0') {
        known->statement->run(&input, output);
    }
    if (output->result == NULL) {
        sim_output_begin(output, 0);
    }
}

/* ---- parameters ---- */

static bool is_text_good(struct mg_slice text)
{
    for (size_t i = 0; i < text.len;) {
        size_t len = text.data[i] == '\0' ? 0 : mg_utf8_len(text.data + i, text.len - i);
        if (len == 0) {
            return false;
        }
        i += len;
    }
    return true;
}

bool sim_input_next(struct sim_input *input)
{
    if (input->row == input->row_count || input->transaction->sqlstate[0] != '\0') {
        return false;
    }
    for (int i = 0; i < input->column_count; i++) {
        uint32_t wire;
        memcpy(&wire, input->at[i], sizeof(wire));
        input->at[i] += sizeof(wire);
        int32_t len = (int32_t)be32toh(wire);
        struct mg_slice *value = &input->values[i];
        *value = len < 0 ? (struct mg_slice){NULL, 0} : (struct mg_slice){input->at[i], (size_t)len};
        input->at[i] += value->len;
        if (input->params->items[input->places[i]].type == MG_PG_TEXT && !is_text_good(*value)) {
            sim_transaction_fail(input->transaction, "22021", "invalid byte sequence for encoding \"UTF8\"");
        }
    }
    input->row++;
    return input->transaction->sqlstate[0] == '\0';
}

int64_t sim_int(struct mg_slice value)
{
    uint64_t wire = 0;
    assert(value.data == NULL || value.len == sizeof(wire));
    if (value.data != NULL) {
        memcpy(&wire, value.data, sizeof(wire));
    }
    return (int64_t)be64toh(wire);
}

bool sim_bool(struct mg_slice value)
{
    return value.data != NULL && value.data[0] != '\0';
}

struct mg_slice sim_scalar(const struct sim_input *input, int number)
{
    assert(number <= input->params->count && !input->params->items[number - 1].is_array);
    const struct mg_pg_param *param = &input->params->items[number - 1];
    if (param->is_null) {
        return (struct mg_slice){NULL, 0};
    }
    return param->bytes.len == 0 ? mg_slice_of("") : mg_buf_slice(&param->bytes);
}

/* ---- rows ---- */

void sim_output_begin(struct sim_output *output, int column_count)
{
    static char no_name[] = "";
    PGresAttDesc columns[64];
    assert(column_count <= 64);
    for (int i = 0; i < column_count; i++) {
        columns[i] = (PGresAttDesc){.name = no_name};
    }
    output->row = -1;
    output->result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    assert(output->result != NULL);
    bool is_set = column_count == 0 || PQsetResultAttrs(output->result, column_count, columns) == 1;
    assert(is_set);
}

void sim_output_row(struct sim_output *output)
{
    output->row++;
}

static void set(struct sim_output *output, int column, const char *text, int len)
{
    union { /* PQsetvalue only reads it */
        const char *from;
        char *to;
    } same = {text};
    bool is_set = PQsetvalue(output->result, output->row, column, same.to, len) == 1;
    assert(is_set);
}

void sim_output_text(struct sim_output *output, int column, struct mg_slice text)
{
    set(output, column, text.data, text.data == NULL ? -1 : (int)text.len);
}

void sim_output_word(struct sim_output *output, int column, const char *word)
{
    set(output, column, word, (int)strlen(word));
}

void sim_output_int(struct sim_output *output, int column, int64_t number)
{
    char text[24];
    set(output, column, text, snprintf(text, sizeof(text), "%" PRId64, number));
}

void sim_output_time(struct sim_output *output, int column, int64_t time_ms)
{
    if (time_ms != 0) {
        sim_output_int(output, column, time_ms);
    }
}

void sim_output_bool(struct sim_output *output, int column, bool is_true)
{
    set(output, column, is_true ? "t" : "f", 1);
}

void sim_output_bytes(struct sim_output *output, int column, const uint8_t *bytes, size_t size)
{
    static const char DIGITS[] = "0123456789abcdef";
    char text[2 + 2 * MG_SHA256_SIZE] = "\\x";
    assert(size <= MG_SHA256_SIZE);
    for (size_t i = 0; i < size; i++) {
        text[2 + 2 * i] = DIGITS[bytes[i] >> 4];
        text[3 + 2 * i] = DIGITS[bytes[i] & 15];
    }
    set(output, column, text, (int)(2 + 2 * size));
}
