/* The calls of an audit in their order. See audit.h. */
#include "audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attempt.h"
#include "base/clock.h"
#include "base/id.h"
#include "workflow/answer_conditions.h"

/* All calls: their requests, answers and tries. Answers of 64 MiB are the largest that a file allows. */
#define ARENA_MAX_BYTES ((size_t)256 * 1024 * 1024)

/* Three orders, so that none has a key of another. */
enum key { KEY_DONE, KEY_UNDONE, KEY_NEVER };

enum need {
    NEED_NOTHING,
    NEED_DONE,   /* the first do was done */
    NEED_MADE,   /* the call before it was made */
    NEED_UNDONE, /* the first do was done, and the undo before it was accepted */
    NEED_EFFECT, /* something may stand of the do before it */
};

static const struct call {
    enum key key;
    enum mg_kind kind;
    enum need need;
    enum mg_audit_call before;
} CALLS[MG_AUDIT_CALL_COUNT] = {
    [MG_AUDIT_VERIFY_UNKNOWN] = {KEY_NEVER, MG_KIND_VERIFY, NEED_NOTHING, 0},
    [MG_AUDIT_DO] = {KEY_DONE, MG_KIND_DO, NEED_NOTHING, 0},
    [MG_AUDIT_DO_AGAIN] = {KEY_DONE, MG_KIND_DO, NEED_DONE, 0},
    [MG_AUDIT_VERIFY] = {KEY_DONE, MG_KIND_VERIFY, NEED_DONE, 0},
    [MG_AUDIT_UNDO] = {KEY_DONE, MG_KIND_UNDO, NEED_EFFECT, MG_AUDIT_DO},
    [MG_AUDIT_VERIFY_UNDONE] = {KEY_DONE, MG_KIND_VERIFY, NEED_UNDONE, MG_AUDIT_UNDO},
    [MG_AUDIT_DO_LATE] = {KEY_DONE, MG_KIND_DO, NEED_UNDONE, MG_AUDIT_UNDO},
    [MG_AUDIT_VERIFY_LATE] = {KEY_DONE, MG_KIND_VERIFY, NEED_MADE, MG_AUDIT_DO_LATE},
    [MG_AUDIT_UNDO_AGAIN] = {KEY_DONE, MG_KIND_UNDO, NEED_UNDONE, MG_AUDIT_UNDO},
    [MG_AUDIT_UNDO_FIRST] = {KEY_UNDONE, MG_KIND_UNDO, NEED_NOTHING, 0},
    [MG_AUDIT_DO_BEHIND] = {KEY_UNDONE, MG_KIND_DO, NEED_UNDONE, MG_AUDIT_UNDO_FIRST},
    [MG_AUDIT_VERIFY_BEHIND] = {KEY_UNDONE, MG_KIND_VERIFY, NEED_MADE, MG_AUDIT_DO_BEHIND},
    [MG_AUDIT_UNDO_BEHIND] = {KEY_UNDONE, MG_KIND_UNDO, NEED_EFFECT, MG_AUDIT_DO_BEHIND},
};

struct row {
    struct mg_audit *audit;
    struct mg_caller caller;
    struct mg_slice results[MG_STEPS_MAX]; /* the given ones, and the tested step's own */
    bool asks_undone;                      /* a verify is that of the undo */
    uint32_t attempt;
    struct mg_err *err;
};

static const struct mg_workflow_step *step_of(const struct mg_audit *audit)
{
    return &audit->options.workflow->steps[audit->options.step];
}

static struct mg_render_input input_of(const struct row *row, const char *order_id)
{
    const struct mg_audit_options *options = &row->audit->options;
    return (struct mg_render_input){.workflow = options->workflow,
                                    .callback_url = mg_slice_of("\"http://127.0.0.1:9/callback\""),
                                    .order_id = order_id,
                                    .payload = options->payload,
                                    .results = row->results,
                                    .accepted_at_ms = row->audit->accepted_at_ms,
                                    .asks_undone = row->asks_undone};
}

/* ---- the request ---- */

static void identity_write(const struct row *row, enum mg_audit_call call, struct mg_request *ret)
{
    const struct mg_audit_options *options = &row->audit->options;
    const struct mg_step_plan *plan = &options->workflow->plan.steps[options->step];
    enum mg_kind kind = CALLS[call].kind;
    int64_t within_ms = kind == MG_KIND_UNDO ? plan->undo_complete_within_ms : plan->complete_within_ms;
    *ret = (struct mg_request){
        .attempt = row->attempt,
        .kind = kind,
        .sent_at_ms = mg_clock_wall_ms(),
        .is_at_most_once = plan->is_at_most_once && kind == MG_KIND_DO,
        .is_pollable = mg_workflow_is_polled(options->workflow, options->step, kind, row->asks_undone),
        .version = mg_workflow_request_version(options->workflow, options->step, kind),
    };
    ret->complete_by_ms =
        ret->sent_at_ms + (within_ms < options->timeout_ms ? within_ms : options->timeout_ms);
    snprintf(ret->order_id, sizeof(ret->order_id), "%.60s-%d", row->audit->order_id, CALLS[call].key + 1);
    memcpy(ret->step, step_of(row->audit)->name, sizeof(ret->step));
    memcpy(ret->service, options->service->name, sizeof(ret->service));
    mg_key_write(ret->order_id, ret->step, MG_KIND_DO, 0, ret->do_key);
    bool is_of_undo = kind == MG_KIND_UNDO || row->asks_undone;
    mg_key_write(ret->order_id, ret->step, is_of_undo ? MG_KIND_UNDO : MG_KIND_DO, 0, ret->idempotency_key);
}

/* From the definition to the request that an agent reads. MG_PERMANENT: a value that the call needs is not
 * there. */
static enum mg_class request_make(const struct row *row, enum mg_audit_call call, struct mg_request *ret,
                                  struct mg_err *err)
{
    const struct mg_audit_options *options = &row->audit->options;
    struct mg_request made;
    struct mg_buf rendered, message;
    identity_write(row, call, &made);
    struct mg_render_input input = input_of(row, made.order_id);
    mg_buf_init(&rendered, MG_REQUEST_LIMITS.max_bytes);
    mg_buf_init(&message, MG_REQUEST_LIMITS.max_bytes);
    enum mg_class class = mg_workflow_render(&input, options->step, made.kind, made.idempotency_key,
                                             made.do_key, &rendered, err);
    if (class == MG_OK) {
        made.request = mg_buf_slice(&rendered);
        mg_request_write(&made, &message);
        struct mg_slice copy = mg_arena_copy(row->audit->arena, mg_buf_slice(&message));
        class = rendered.failed || message.failed || copy.data == NULL
                    ? mg_err_set(err, MG_TRANSIENT, "no memory for a request")
                    : mg_request_parse(copy, row->audit->arena, ret, err);
    }
    mg_buf_finish(&rendered);
    mg_buf_finish(&message);
    return class;
}

/* ---- one call ---- */

/* An undo, or a poll of accepted work, may refer to the result of the step's own do. */
static void result_keep(struct row *row, const struct mg_audit_seen *seen)
{
    if (seen->is_made && seen->kind == MG_KIND_DO && seen->reply.result.data != NULL) {
        row->results[row->audit->options.step] = seen->reply.result;
    }
}

static enum mg_class call_judged(struct row *row, const struct mg_request *request,
                                 struct mg_audit_seen *seen)
{
    enum mg_class class = mg_caller_call(&row->caller, request, seen, row->err);
    if (class == MG_OK) {
        struct mg_render_input input = input_of(row, request->order_id);
        (void)mg_workflow_answer_judge(&input, row->audit->options.step, &seen->reply);
    }
    return class;
}

/* Accepted work, or an accepted undo, is polled with its verify until it is done, refused or absent, or until
 * the time is over. */
static enum mg_class accepted_poll(struct row *row, enum mg_audit_call call, struct mg_audit_seen *seen)
{
    const struct mg_audit_options *options = &row->audit->options;
    const struct mg_step_plan *plan = &options->workflow->plan.steps[options->step];
    int64_t until_boot_ms = mg_clock_boot_ms() + options->timeout_ms;
    enum mg_audit_call poll = CALLS[call].key == KEY_DONE ? MG_AUDIT_VERIFY : MG_AUDIT_VERIFY_BEHIND;
    seen->is_accepted = true;
    result_keep(row, seen);
    bool has_verify = row->asks_undone ? plan->has_undo_verify : plan->has_verify;
    int64_t poll_ms = row->asks_undone ? plan->undo_poll_ms : plan->poll_ms;
    while (has_verify && mg_clock_boot_ms() + poll_ms < until_boot_ms) {
        struct mg_request request;
        struct mg_audit_seen polled = {.kind = MG_KIND_VERIFY};
        mg_caller_rest(&row->caller, poll_ms);
        row->attempt++;
        enum mg_class class = request_make(row, poll, &request, row->err);
        class = class == MG_OK ? call_judged(row, &request, &polled) : class;
        if (class != MG_OK) {
            return class;
        }
        seen->polls++;
        bool is_over = polled.reply.outcome == MG_OUTCOME_DONE || polled.reply.outcome == MG_OUTCOME_ABSENT ||
                       polled.reply.is_refused_by_body;
        if (is_over) {
            seen->reply = polled.reply;
            seen->shown = polled.shown;
            seen->status = polled.status;
            return MG_OK;
        }
    }
    return MG_OK;
}

static enum mg_class accepted_await(struct row *row, enum mg_audit_call call, struct mg_audit_seen *seen)
{
    row->asks_undone = CALLS[call].kind == MG_KIND_UNDO;
    enum mg_class class = accepted_poll(row, call, seen);
    row->asks_undone = false;
    return class;
}

static void MG_PRINTF(2, 3) skip(struct mg_audit_seen *seen, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(seen->why, sizeof(seen->why), format, args);
    va_end(args);
    mg_utf8_mend(seen->why);
}

/* Makes the call, unless the step has none of this kind, or a value for it is not there. */
static enum mg_class call_make(struct row *row, enum mg_audit_call call)
{
    struct mg_audit_seen *seen = &row->audit->seen[call];
    struct mg_request request;
    struct mg_err err;
    row->attempt++;
    if (!step_of(row->audit)->actions[CALLS[call].kind].is_present) {
        skip(seen, "the step has no %s", mg_kind_name(CALLS[call].kind));
        return MG_OK;
    }
    enum mg_class class = request_make(row, call, &request, &err);
    if (class == MG_PERMANENT) {
        skip(seen, "it cannot be rendered: %s", err.text);
        return MG_OK;
    }
    if (class != MG_OK) {
        *row->err = err;
        return class;
    }
    memcpy(seen->key, request.idempotency_key, sizeof(seen->key));
    seen->method = request.method;
    seen->path = request.path;
    seen->body = request.content;
    if (row->audit->options.is_dry_run) {
        skip(seen, "only rendered");
        return MG_OK;
    }
    class = call_judged(row, &request, seen);
    if (class == MG_OK && request.kind != MG_KIND_VERIFY && seen->reply.outcome == MG_OUTCOME_ACCEPTED) {
        class = accepted_await(row, call, seen);
    }
    return class;
}

/* ---- the row ---- */

static bool is_outcome(const struct mg_audit *audit, enum mg_audit_call call, enum mg_outcome outcome)
{
    return audit->seen[call].is_made && audit->seen[call].reply.outcome == outcome;
}

/* The effect of a do may stand. */
static bool may_stand(const struct mg_audit *audit, enum mg_audit_call call)
{
    const struct mg_audit_seen *seen = &audit->seen[call];
    return seen->is_made && (seen->reply.executed != MG_EXECUTED_NO || seen->reply.may_still_act);
}

/* Why a call is left out; NULL: it is made. A dry run shows all calls that can be rendered. */
static const char *lack_of(const struct mg_audit *audit, enum mg_audit_call call)
{
    const struct call *made = &CALLS[call];
    const struct mg_audit_seen *before = &audit->seen[made->before];
    bool is_done = is_outcome(audit, MG_AUDIT_DO, MG_OUTCOME_DONE);
    bool is_undone = is_outcome(audit, made->before, MG_OUTCOME_DONE) ||
                     is_outcome(audit, made->before, MG_OUTCOME_ABSENT);
    /* A service may act and answer that it does not. */
    bool is_found =
        call == MG_AUDIT_UNDO_BEHIND && is_outcome(audit, MG_AUDIT_VERIFY_BEHIND, MG_OUTCOME_DONE);
    if (audit->options.is_dry_run) {
        return made->need == NEED_UNDONE && before->path.data == NULL ? before->why : NULL;
    }
    switch (made->need) {
    case NEED_NOTHING:
        return NULL;
    case NEED_DONE:
        return is_done ? NULL : "the do was not done";
    case NEED_MADE:
        return before->is_made ? NULL : before->why;
    case NEED_UNDONE:
        return !is_done           ? "the do was not done"
               : !before->is_made ? before->why
               : is_undone        ? NULL
                                  : "the undo was not done";
    case NEED_EFFECT:
        return may_stand(audit, made->before) || is_found ? NULL : "nothing was done";
    }
    return NULL;
}

static enum mg_class row_run(struct row *row)
{
    struct mg_audit *audit = row->audit;
    enum mg_class class = MG_OK;
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT && class == MG_OK; call++) {
        const char *lack = lack_of(audit, call);
        audit->seen[call].kind = CALLS[call].kind;
        if (call == MG_AUDIT_UNDO_FIRST) {
            row->results[audit->options.step] = (struct mg_slice){NULL, 0}; /* it was of another key */
        }
        if (lack != NULL) {
            skip(&audit->seen[call], "%s", lack);
            continue;
        }
        class = call_make(row, call);
        const struct mg_audit_seen *seen = &audit->seen[call];
        if (class == MG_OK && call == MG_AUDIT_DO && !seen->is_made && seen->path.data == NULL) {
            class = mg_err_set(row->err, MG_BAD_INPUT, "step %s, do: %s", step_of(audit)->name, seen->why);
        } else if (class == MG_OK && call <= MG_AUDIT_DO && seen->is_unreached) {
            class = mg_err_set(row->err, MG_TRANSIENT, "could not call %s: %s", audit->options.service->url,
                               seen->reply.error_text);
        }
        result_keep(row, seen);
    }
    return class;
}

enum mg_class mg_audit_run(const struct mg_audit_options *options, struct mg_audit *ret_audit,
                           struct mg_err *err)
{
    struct mg_audit *audit = ret_audit;
    memset(audit, 0, sizeof(*audit));
    audit->options = *options;
    audit->arena = mg_arena_create(ARENA_MAX_BYTES);
    snprintf(audit->order_id, sizeof(audit->order_id), "service-test-%016" PRIx64, mg_random_u64());
    audit->accepted_at_ms = mg_clock_wall_ms();
    struct row row = {.audit = audit, .err = err};
    memcpy(row.results, options->results, sizeof(row.results));
    enum mg_class class = audit->arena != NULL ? mg_caller_open(audit, &row.caller, err)
                                               : mg_err_set(err, MG_TRANSIENT, "no memory for the calls");
    if (class == MG_OK) {
        class = row_run(&row);
    }
    if (audit->arena != NULL) {
        mg_caller_close(&row.caller);
    }
    if (class == MG_OK && !options->is_dry_run) {
        mg_audit_judge(audit);
        mg_audit_advise(audit);
    }
    return class;
}

void mg_audit_finish(struct mg_audit *audit)
{
    mg_arena_destroy(audit->arena);
    audit->arena = NULL;
}
