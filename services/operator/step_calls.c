/* See step_calls.h. */
#include "operator/step_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "core/key.h"
#include "json/scan.h"
#include "operator/document.h"
#include "operator/order_rows.h"
#include "workflow/workflow.h"

/* A request is at most as large as a message; this is above it. */
#define REQUEST_MAX ((size_t)4 * 1024 * 1024)
/* Unless the service file names another (`key`). */
#define KEY_HEADER "Idempotency-Key"
/* In place of the address with a callback's token, as for the digest (scheduler/order_input.c). */
#define CALLBACK_URL_SHOWN "\"callback\""

/* The order, its values, and the step that is asked about. */
struct calls {
    const struct mg_step_calls_facts *facts;
    const struct mg_workflow *workflow;
    struct mg_order order;
    struct mg_slice results[MG_STEPS_MAX];
    struct mg_render_input input;
    int step, row, call_row; /* of the steps and of the calls; -1: none */
};

static bool is_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static int row_of(const struct mg_table *table, const char *step)
{
    for (int row = 0; row < table->row_count; row++) {
        if (is_word(mg_table_cell(table, row, "step"), step)) {
            return row;
        }
    }
    return -1;
}

static struct mg_slice cell_or_absent(const struct mg_table *table, int row, const char *column)
{
    const char *cell = mg_table_cell(table, row, column);
    return cell[0] != '\0' ? mg_slice_of(cell) : (struct mg_slice){NULL, 0};
}

/* The values of the order's templates, as scheduler/order_input.c gives them. */
static void values_read(struct calls *calls)
{
    const struct mg_step_calls_facts *facts = calls->facts;
    for (int i = 0; i < calls->workflow->plan.step_count; i++) {
        const char *name = calls->workflow->steps[i].name;
        int row = row_of(facts->steps, name), call_row = row_of(facts->calls, name);
        bool was_skipped =
            call_row >= 0 && is_word(mg_table_cell(facts->calls, call_row, "was_skipped"), "t");
        bool is_skipped = i != calls->step && (calls->order.steps[i].state == MG_STEP_SKIPPED || was_skipped);
        calls->input.skipped |= is_skipped ? UINT64_C(1) << i : 0;
        calls->results[i] =
            is_skipped || row < 0 ? (struct mg_slice){NULL, 0} : cell_or_absent(facts->steps, row, "result");
    }
}

static void calls_read(struct calls *calls, const struct mg_step_calls_facts *facts,
                       const struct mg_workflow *workflow, const char *step)
{
    *calls = (struct calls){.facts = facts, .workflow = workflow};
    (void)mg_order_of_rows(facts->order, facts->steps, workflow, &calls->order);
    calls->step = mg_workflow_step_index(workflow, mg_slice_of(step));
    calls->row = row_of(facts->steps, step);
    calls->call_row = row_of(facts->calls, step);
    const char *undo_generation = mg_table_cell(facts->calls, calls->call_row, "undo_generation");
    if (calls->step >= 0 && calls->call_row >= 0) {
        calls->order.steps[calls->step].undo_generation = (uint32_t)strtoul(undo_generation, NULL, 10);
    }
    calls->input =
        (struct mg_render_input){.workflow = workflow,
                                 .order_id = mg_table_cell(facts->order, 0, "order_id"),
                                 .payload = mg_slice_of(mg_table_cell(facts->order, 0, "payload")),
                                 .results = calls->results,
                                 .accepted_at_ms = mg_moment_of(mg_table_cell(facts->order, 0, "created_at")),
                                 .is_high = is_word(mg_table_cell(facts->order, 0, "is_high"), "t"),
                                 .callback_url = mg_slice_of(CALLBACK_URL_SHOWN)};
    values_read(calls);
}

/* ---- requests ---- */

static void proof_write(struct mg_json_writer *json, const struct calls *calls, int call,
                        struct mg_slice request)
{
    const char *column = call == MG_KIND_DO ? "do_digest" : call == MG_KIND_UNDO ? "undo_digest" : NULL;
    const char *stored = column != NULL && calls->call_row >= 0
                             ? mg_table_cell(calls->facts->calls, calls->call_row, column)
                             : "";
    uint8_t digest[MG_SHA256_SIZE];
    char hex[2 * MG_SHA256_SIZE + 1];
    if (stored[0] == '\0') {
        mg_json_member_null(json, "is_proved");
        return;
    }
    mg_sha256(request, digest);
    *mg_hex_write(digest, sizeof(digest), hex) = '\0';
    mg_json_member_bool(json, "is_proved", is_word(stored, hex));
}

static void member_or_null(struct mg_json_writer *json, const char *name, struct mg_slice value)
{
    if (value.data != NULL) {
        mg_json_member_raw(json, name, value);
    } else {
        mg_json_member_null(json, name);
    }
}

/* A body of JSON becomes a string: readers would change its numbers. One of another type is a string. */
static void body_write(struct mg_json_writer *json, struct mg_slice body, bool is_text)
{
    if (body.data == NULL || is_text) {
        member_or_null(json, "body", body);
    } else {
        mg_json_member_text(json, "body", mg_json_trim(body));
    }
}

static void rendered_write(struct mg_json_writer *json, struct mg_slice request)
{
    struct mg_slice type = mg_json_find(request, "/content_type");
    member_or_null(json, "method", mg_json_find(request, "/method"));
    member_or_null(json, "path", mg_json_find(request, "/path"));
    member_or_null(json, "headers", mg_json_find(request, "/headers"));
    member_or_null(json, "content_type", type);
    body_write(json, mg_json_find(request, "/body"), type.data != NULL);
}

/* ---- curl ---- */

/* A word of a shell. */
static void quoted_write(struct mg_buf *out, struct mg_slice text)
{
    mg_buf_append_text(out, "'");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'') {
            mg_buf_append_text(out, "'\\''");
        } else {
            mg_buf_append(out, text.data + i, 1);
        }
    }
    mg_buf_append_text(out, "'");
}

static void header_write(struct mg_buf *out, struct mg_slice name, struct mg_slice value)
{
    struct mg_buf line;
    mg_buf_init(&line, REQUEST_MAX);
    mg_buf_append_slice(&line, name);
    mg_buf_append_text(&line, ": ");
    mg_buf_append_slice(&line, value);
    mg_buf_append_text(out, " -H ");
    quoted_write(out, mg_buf_slice(&line));
    mg_buf_finish(&line);
}

static void string_write(struct mg_buf *out, const char *before, struct mg_slice quoted)
{
    struct mg_buf text;
    mg_buf_init(&text, REQUEST_MAX);
    (void)mg_json_string(quoted, &text);
    mg_buf_append_text(out, before);
    quoted_write(out, mg_buf_slice(&text));
    mg_buf_finish(&text);
}

static void headers_write(struct mg_buf *out, struct mg_slice headers)
{
    struct mg_slice quoted, value;
    struct mg_json_walk walk = mg_json_walk_of(headers);
    while (headers.len > 0 && mg_json_walk_next(&walk, &quoted, &value)) {
        struct mg_buf name, text;
        mg_buf_init(&name, REQUEST_MAX);
        mg_buf_init(&text, REQUEST_MAX);
        (void)mg_json_string(quoted, &name);
        (void)mg_json_string(value, &text);
        header_write(out, mg_buf_slice(&name), mg_buf_slice(&text));
        mg_buf_finish(&name);
        mg_buf_finish(&text);
    }
}

/* The same call by hand; the address of the service is the variable URL. */
static void curl_write(struct mg_json_writer *json, struct mg_slice request, const char *key)
{
    struct mg_slice body = mg_json_find(request, "/body"), type = mg_json_find(request, "/content_type");
    struct mg_buf out;
    mg_buf_init(&out, 4 * REQUEST_MAX);
    string_write(&out, "curl -i -X ", mg_json_find(request, "/method"));
    string_write(&out, " \"$URL\"", mg_json_find(request, "/path"));
    header_write(&out, mg_slice_of(KEY_HEADER), mg_slice_of(key));
    headers_write(&out, mg_json_find(request, "/headers"));
    if (body.data != NULL && type.data == NULL) {
        header_write(&out, mg_slice_of("Content-Type"), mg_slice_of("application/json"));
        mg_buf_append_text(&out, " --data-raw ");
        quoted_write(&out, mg_json_trim(body));
    } else if (body.data != NULL) {
        struct mg_buf text;
        mg_buf_init(&text, REQUEST_MAX);
        (void)mg_json_string(type, &text);
        header_write(&out, mg_slice_of("Content-Type"), mg_buf_slice(&text));
        mg_buf_finish(&text);
        string_write(&out, " --data-raw ", body);
    }
    mg_json_member_text(json, "curl", mg_buf_slice(&out));
    mg_buf_finish(&out);
}

/* ---- the requests of a step ---- */

static void request_write(struct mg_json_writer *json, struct calls *calls, int call)
{
    const struct mg_step *state = &calls->order.steps[calls->step];
    const char *order_id = calls->input.order_id, *step = calls->workflow->steps[calls->step].name;
    enum mg_kind kind = call == MG_CALL_UNDO_VERIFY ? MG_KIND_VERIFY : (enum mg_kind)call;
    bool is_of_undo = call == MG_KIND_UNDO || call == MG_CALL_UNDO_VERIFY;
    enum mg_kind of_key = is_of_undo ? MG_KIND_UNDO : MG_KIND_DO;
    char key[MG_KEY_SIZE], do_key[MG_KEY_SIZE];
    struct mg_slice own = calls->results[calls->step];
    struct mg_slice undo_result =
        calls->call_row >= 0 ? cell_or_absent(calls->facts->calls, calls->call_row, "undo_result") : own;
    struct mg_buf request;
    struct mg_err err;
    mg_key_write(order_id, step, MG_KIND_DO, state->generation, do_key);
    mg_key_write(order_id, step, of_key, mg_key_generation(state, of_key), key);
    calls->input.asks_undone = call == MG_CALL_UNDO_VERIFY;
    calls->results[calls->step] = is_of_undo && undo_result.data != NULL ? undo_result : own;
    mg_buf_init(&request, REQUEST_MAX);
    enum mg_class class = mg_workflow_render(&calls->input, calls->step, kind, key, do_key, &request, &err);
    calls->results[calls->step] = own;
    bool is_built = class == MG_OK && !request.failed;
    mg_json_element_object(json);
    mg_json_member_string(json, "kind", mg_call_name(call));
    mg_json_member_string(json, "idempotency_key", key);
    rendered_write(json, is_built ? mg_buf_slice(&request) : (struct mg_slice){NULL, 0});
    if (is_built) {
        proof_write(json, calls, call, mg_buf_slice(&request));
        curl_write(json, mg_buf_slice(&request), key);
    } else {
        mg_json_member_null(json, "is_proved");
        mg_json_member_null(json, "curl");
    }
    mg_json_member_string_or_null(json, "fault", is_built ? "" : class != MG_OK ? err.text : "no memory");
    mg_json_object_end(json);
    mg_buf_finish(&request);
}

/* ---- attempts, from the events ---- */

/* A change of the step; an event may have several, as the end of an attempt and the next request. */
struct change {
    int event;
    struct mg_slice json;
};

static bool is_sent(const struct change *change)
{
    struct mg_slice to = mg_json_find(change->json, "/to");
    return mg_json_string_is(to, mg_slice_of(mg_step_state_name(MG_STEP_RUNNING))) ||
           mg_json_string_is(to, mg_slice_of(mg_step_state_name(MG_STEP_UNDO_RUNNING)));
}

/* Appends the step's changes in an event to `ret`, unless it is NULL, and returns their number. */
static int event_read(const struct calls *calls, int event, struct change *ret)
{
    struct mg_slice transitions = mg_slice_of(mg_table_cell(calls->facts->events, event, "transitions"));
    struct mg_slice step = mg_slice_of(calls->workflow->steps[calls->step].name), none, change;
    struct mg_json_walk walk;
    struct mg_err ignored;
    int count = 0;
    if (mg_json_check(transitions, &MG_JSON_LIMITS_DATA, &ignored) != MG_OK) {
        return 0;
    }
    walk = mg_json_walk_of(mg_json_trim(transitions));
    while (mg_json_walk_next(&walk, &none, &change)) {
        if (!mg_json_string_is(mg_json_find(change, "/step"), step)) {
            continue;
        }
        if (ret != NULL) {
            ret[count] = (struct change){event, change};
        }
        count++;
    }
    return count;
}

/* `ended`: the change after `sent`, which moves the step on; NULL: its request is out. */
static void attempt_write(struct mg_json_writer *json, const struct mg_table *events,
                          const struct change *sent, const struct change *ended)
{
    const char *sent_at = mg_table_cell(events, sent->event, "at");
    const char *ended_at = ended != NULL ? mg_table_cell(events, ended->event, "at") : "";
    mg_json_element_object(json);
    member_or_null(json, "attempt", mg_json_find(sent->json, "/attempt"));
    member_or_null(json, "kind", mg_json_find(sent->json, "/kind"));
    mg_json_member_string_or_null(json, "sent_at", sent_at);
    mg_json_member_string_or_null(json, "ended_at", ended_at);
    if (ended != NULL) {
        mg_json_member_int(json, "took_ms", mg_moment_of(ended_at) - mg_moment_of(sent_at));
    } else {
        mg_json_member_null(json, "took_ms");
    }
    mg_json_member_string_or_null(json, "cause",
                                  ended != NULL ? mg_table_cell(events, ended->event, "cause_kind") : "");
    mg_json_member_string_or_null(json, "answer",
                                  ended != NULL ? mg_table_cell(events, ended->event, "reason") : "");
    member_or_null(json, "state", mg_json_find((ended != NULL ? ended : sent)->json, "/to"));
    mg_json_object_end(json);
}

static void changes_write(struct mg_json_writer *json, const struct calls *calls,
                          const struct change *changes, int count)
{
    int first = count;
    for (int found = 0; first > 0 && found < MG_CALLS_LISTED_MAX; first--) {
        found += is_sent(&changes[first - 1]) ? 1 : 0;
    }
    for (int i = first; i < count; i++) {
        if (is_sent(&changes[i])) {
            attempt_write(json, calls->facts->events, &changes[i], i + 1 < count ? &changes[i + 1] : NULL);
        }
    }
}

static void attempts_write(struct mg_json_writer *json, const struct calls *calls)
{
    int count = 0, filled = 0, event_count = calls->facts->events->row_count;
    for (int event = 0; event < event_count; event++) {
        count += event_read(calls, event, NULL);
    }
    struct change *changes = calloc((size_t)count + 1, sizeof(*changes));
    for (int event = 0; changes != NULL && event < event_count; event++) {
        filled += event_read(calls, event, changes + filled);
    }
    mg_json_member_array(json, "attempts");
    json->buf->failed = json->buf->failed || changes == NULL; /* no memory */
    changes_write(json, calls, changes, filled);
    mg_json_array_end(json);
    free(changes);
}

/* ---- the whole ---- */

static void whole_write(struct mg_json_writer *json, struct calls *calls)
{
    static const char *const texts[] = {"error_code", "error_text", "error_message", "error_body"};
    const struct mg_workflow_step *step = &calls->workflow->steps[calls->step];
    mg_json_object_begin(json);
    mg_json_member_string(json, "step", step->name);
    mg_json_member_string_or_null(json, "service", step->service);
    mg_json_member_array(json, "requests");
    for (int call = 0; call < MG_CALL_COUNT; call++) {
        if (step->actions[call].is_present) {
            request_write(json, calls, call);
        }
    }
    mg_json_array_end(json);
    attempts_write(json, calls);
    mg_json_member_string_or_null(
        json, "result", calls->row >= 0 ? mg_table_cell(calls->facts->steps, calls->row, "result") : "");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        mg_json_member_string_or_null(
            json, texts[i], calls->row >= 0 ? mg_table_cell(calls->facts->steps, calls->row, texts[i]) : "");
    }
    mg_json_object_end(json);
}

bool mg_step_calls_write(struct mg_json_writer *json, const struct mg_step_calls_facts *facts,
                         const char *step)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err ignored;
    struct calls calls;
    if (facts->definition.data == NULL ||
        mg_workflow_parse(facts->definition, NULL, &workflow, &ignored) != MG_OK) {
        return false;
    }
    calls_read(&calls, facts, workflow, step);
    if (calls.step >= 0) {
        whole_write(json, &calls);
    }
    mg_workflow_destroy(workflow);
    return calls.step >= 0;
}
