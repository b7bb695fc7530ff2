/*
 * Workflow definitions (proto/workflow.schema.json): read, checked as a whole, and turned into the core's
 * plan and the templates of requests. Every mistake is reported in one run, with file, JSON pointer and a
 * valid form.
 *
 *   workflow.c            reads a definition
 *   definition_check.c step_guard_check.c   the checks that need all of its steps
 *   certainty.c constants.c proof.c   conditions that never hold, and values that may be missing
 *   expressions.c         its expressions, compiled once, and the values of their names
 *   template.c template_places.c   texts with references and expressions in them, compiled once
 *   http_action_read.c http_action_render.c   query, headers, encoding and answer of a call
 *   request_render.c      the request of one attempt, and the output of an order
 *   label_templates.c     the labels of an order
 *   sequence_member.c     the line of its key
 *   step_guard.c          `when` and `require`, evaluated before a step, and the moment of a wait
 *   wait_member.c         a step that waits, for a moment or a signal
 *   answer_conditions.c   `done_when` and `refused_when`, over a good answer
 *   input_shape.c payload_needs.c   the shape of a payload, and the values that it must have
 *   admission.c admit.c   whether a new order is accepted, and the expressions that its payload decides
 *   example.c             a payload as an example
 *   case_file.c           cases for `makegood workflow test`
 */
#ifndef MG_WORKFLOW_WORKFLOW_H
#define MG_WORKFLOW_WORKFLOW_H

#include "core/key.h"
#include "core/model.h"
#include "json/json.h"
#include "workflow/template.h"

struct mg_expr;

enum mg_encode { MG_ENCODE_JSON, MG_ENCODE_FORM, MG_ENCODE_TEXT };

/* The templates of an action, by index. */
enum mg_action_place { MG_PART_PATH, MG_PART_QUERY, MG_PART_HEADERS, MG_PART_BODY, MG_ACTION_PARTS };

struct mg_action { /* the template of one kind; absent: is_present false */
    bool is_present;
    char method[8];       /* GET POST PUT PATCH DELETE */
    struct mg_slice path; /* template text, starts with "/" */
    struct mg_slice body; /* template, JSON text; absent if none */
    /* Templates, JSON objects of names and values; absent if none. */
    struct mg_slice headers, query;
    struct mg_template templates[MG_ACTION_PARTS]; /* these four, compiled */
    struct mg_slice accept;                        /* media type; absent: as the service file has it */
    enum mg_encode encode;                         /* of the body */
    bool is_text_answer;                           /* an answer that is no JSON becomes a JSON string */
};

/* The meaning of good answers (answer_conditions.h); NULL: the HTTP status alone decides. */
struct mg_conditions {
    const struct mg_expr *done_when, *refused_when;
    bool reads_steps; /* one of them refers to the result or the state of another step */
};

/* After the calls of each kind: the query about the undo. It goes out as a verify. */
enum { MG_CALL_UNDO_VERIFY = MG_KIND_COUNT, MG_CALL_COUNT };
const char *mg_call_name(int call); /* its place within the step: "do", "undo/verify" */

#define MG_SIGNAL_OF_MAX      5 /* signals that one step needs: as many people as ever sign one thing */
#define MG_SIGNAL_SENDERS_MAX 8 /* of one step: a person reads them */
#define MG_SIGNAL_CHOICES_MAX 8 /* buttons of one step */

enum mg_sender_kind {
    MG_SENDER_OPERATOR,
    MG_SENDER_OWN,    /* the client of the order */
    MG_SENDER_CLIENT, /* another client, by its name */
};

struct mg_sender {
    enum mg_sender_kind kind;
    char client[MG_NAME_MAX + 1]; /* of MG_SENDER_CLIENT */
};

/* A wait that a signal ends. Without senders: the order's own client and operators. */
struct mg_signal_wait {
    char name[MG_NAME_MAX + 1];
    int of; /* so many signals, each of another sender */
    int sender_count;
    struct mg_sender senders[MG_SIGNAL_SENDERS_MAX];
    struct mg_slice title; /* for the person who is asked: a JSON string; absent: none */
    struct mg_slice
        choices; /* a JSON object: the words of the buttons, each with its payload; absent: none */
};

struct mg_workflow_step {
    char name[MG_NAME_MAX + 1];
    char service[MG_NAME_MAX + 1];
    struct mg_action actions[MG_CALL_COUNT]; /* by kind, and MG_CALL_UNDO_VERIFY */
    struct mg_conditions conditions;         /* of answers to its do and its verify */
    struct mg_conditions undo_conditions;    /* of answers to its undo and the verify of that */
    bool has_no_result;                      /* it wants none: what a good answer has as its body is left */
    bool has_callback;                       /* its do gives the service an address for a callback */
    bool uses_own_result; /* its verify or undo refers to its own result: the result of a 202 is kept, too */
    struct mg_guard *guard;              /* `when` and `require`; NULL: none */
    const struct mg_signal_wait *signal; /* NULL: no signal ends it */
};

struct mg_workflow_label {
    char name[MG_LABEL_NAME_MAX + 1];
    struct mg_slice text; /* template over ${/payload/…}, ${/order_id}, ${= …} */
    struct mg_template template;
};

/* Of good answers to this kind of request. `asks_undone`: a verify is that of the undo. */
static inline const struct mg_conditions *mg_workflow_conditions(const struct mg_workflow_step *step,
                                                                 enum mg_kind kind, bool asks_undone)
{
    return kind == MG_KIND_UNDO || asks_undone ? &step->undo_conditions : &step->conditions;
}

/* Waiting orders of one key, by default and at most. At 1 s each a thousand take a quarter of an hour; of a
 * hundred thousand the last one would wait for more than a day. */
#define MG_LINE_AT_MOST_DEFAULT 1000
#define MG_LINE_AT_MOST_MAX     100000

/* The line that an order takes its place in, if the plan's `line` is not NONE. */
struct mg_workflow_sequence {
    struct mg_slice key; /* template, as of a label */
    struct mg_template template;
    int64_t at_most; /* orders in the line, with the one that runs; one more is refused */
};

/* As of an integer of SQL: the workflow table has it. */
#define MG_WORKFLOW_VERSION_MAX INT32_MAX

/* A longer wait, or time for accepted work, is a typing mistake. */
#define MG_WAIT_MAX_MS (365 * INT64_C(86400000))

#define MG_REQUIREMENTS_MAX 16 /* of one step, or of the order: a person reads them */

struct mg_payload_need;
struct mg_trial;
struct mg_workflow_exprs;
struct mg_input_shape;
struct mg_guard;

struct mg_workflow {
    char name[MG_NAME_MAX + 1];
    int64_t version;
    struct mg_slice text; /* the received definition, owned */
    struct mg_plan plan;
    struct mg_workflow_step steps[MG_STEPS_MAX];
    struct mg_workflow_label labels[MG_LABELS_MAX];
    int label_count;
    struct mg_workflow_sequence sequence;
    struct mg_slice output; /* template, JSON text; absent: the workflow gives nothing back */
    struct mg_template output_template;
    bool has_learning;                  /* an undo refers to its step's result: some plan's needs_result */
    struct mg_payload_need *needs;      /* values that a payload must have; NULL: none */
    struct mg_trial *trials;            /* expressions that the payload decides; NULL: none */
    const struct mg_input_shape *input; /* of its payload; NULL: any */
    struct mg_workflow_exprs *exprs;    /* its values, and the expressions of its templates */
    struct mg_guard *guard;             /* `require` of the order; NULL: none */
    bool has_guards;                    /* of steps: `when`, `require` or `needs` */
    bool has_signals;                   /* of steps that wait for one */
};

/* A reference into the payload by the `do` of a step that waits for no other, or by an undo. Without the
 * value an order could only fail, or could not be undone. */
struct mg_payload_need {
    struct mg_payload_need *next;
    char *pointer; /* in the payload, for example "/customer/id" */
    int step;
};

/* An order's output goes out in one status, is stored with it and is read by people. This is the limit of a
 * step's result, too. */
#define MG_OUTPUT_MAX_BYTES (64 * 1024)

/* MG_BAD_INPUT after all mistakes were passed to `mistakes` (NULL: the first is in err). */
enum mg_class mg_workflow_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                                struct mg_workflow **ret_workflow, struct mg_err *err) MG_MUSTCHECK;
void mg_workflow_destroy(struct mg_workflow *workflow);                               /* accepts NULL */
int mg_workflow_step_index(const struct mg_workflow *workflow, struct mg_slice step); /* -1: none */

/* Holds a submission's payload against `input`. MG_BAD_INPUT: the text has the JSON pointer of the first
 * mistake, and a correction. */
enum mg_class mg_workflow_payload_check(const struct mg_workflow *workflow, struct mg_slice payload,
                                        struct mg_err *err) MG_MUSTCHECK;

/* The values that references of this workflow may use. */
struct mg_render_input {
    const struct mg_workflow *workflow;
    const char *order_id;
    struct mg_slice payload;
    const struct mg_slice *results; /* by step index; absent if none, and of a skipped step */
    uint64_t skipped;               /* bits: the steps that were skipped */
    const struct mg_slice
        *faults;            /* why a result cannot be read, by step index; absent if it can. NULL: all can */
    int64_t accepted_at_ms; /* as stored with the order, or about to be */
    bool is_high;
    bool asks_undone;             /* a verify of the step is that of its undo */
    struct mg_slice callback_url; /* as a JSON string; absent: the step has none */
};
/* A 202 to this kind of request is polled. */
bool mg_workflow_is_polled(const struct mg_workflow *workflow, int step, enum mg_kind kind, bool asks_undone);
/* Writes the `request` member for one step and kind: {"method":…,"path":…,"body":…}. MG_PERMANENT: a
 * reference has no value; the text names it. The same input gives the same bytes (law 8, derived
 * identities). */
enum mg_class mg_workflow_render(const struct mg_render_input *input, int step, enum mg_kind kind,
                                 const char *idempotency_key, const char *do_key, struct mg_buf *ret_request,
                                 struct mg_err *err) MG_MUSTCHECK;
/* Writes the output of an order with all steps done or skipped. MG_TRANSIENT: no memory. Any other failure:
 * a reference has no value, or the output is too large or too deep for a status; the text names which. */
enum mg_class mg_workflow_render_output(const struct mg_render_input *input, struct mg_buf *ret_output,
                                        struct mg_err *err) MG_MUSTCHECK;
/* The guard of a step that is about to begin: all steps before it are done or skipped. `ret_why` has the
 * reason of any verdict but GO, and `ret_text` the definition's own text of the requirement that is not met.
 * The same input gives the same verdict (law 8, derived identities). */
enum mg_fact mg_workflow_guard_decide(const struct mg_render_input *input, int step,
                                      struct mg_slice *ret_text, struct mg_buf *ret_why);
/* The moment until which a wait is open, if its definition names one; else 0. MG_FACT_ERROR: it cannot be
 * found; `ret_why` has the reason. Any other result leaves `ret_why` undefined. */
enum mg_fact mg_workflow_wait_until(const struct mg_render_input *input, int step, int64_t *ret_until_ms,
                                    struct mg_buf *ret_why);
/* The key by which a signal finds the order of this step, which is about to wait for it. False: its
 * definition names none. MG_FACT_ERROR: it cannot be made; `ret_why` has the reason. */
enum mg_fact mg_workflow_signal_key(const struct mg_render_input *input, int step, struct mg_buf *ret_key,
                                    struct mg_buf *ret_why);
/* The service that a step calls, or "waits". */
static inline const char *mg_workflow_place(const struct mg_workflow *workflow, int step)
{
    return workflow->plan.steps[step].is_wait ? "waits" : workflow->steps[step].service;
}
/* The end of a wait, as written: "for" with "3d", "until" with its expression, or "for signal" with its name.
 * False: it is a call. */
bool mg_workflow_wait(const struct mg_workflow *workflow, int step, const char **ret_word,
                      struct mg_slice *ret_text);
/* The length of a wait for a signal, as written. */
struct mg_slice mg_workflow_wait_within(const struct mg_workflow *workflow, int step);
/* The number of a guard's condition: requirements count from 0. */
#define MG_CONDITION_WHEN (-1)
#define MG_STEP_OF_ORDER  (-1) /* instead of a step: the order's own guard, which has no `when` */

/* A condition of a guard, as written; a requirement has its text for the client. False: there is no such
 * condition. */
bool mg_workflow_condition(const struct mg_workflow *workflow, int step, int number,
                           struct mg_slice *ret_expr, struct mg_slice *ret_text);
/* The steps that their own condition can skip, or the skipping of a step that they need. */
uint64_t mg_workflow_skippable(const struct mg_workflow *workflow);
/* Evaluates a guard as mg_workflow_guard_decide does, and calls `seen` for each condition that has a value,
 * up to the first that is false. */
typedef void mg_condition_seen_fn(void *arg, int number, bool is_true);
void mg_workflow_guard_watch(const struct mg_render_input *input, int step, mg_condition_seen_fn *seen,
                             void *arg);
/* Holds a submission against `require` of the order, then tries the expressions over the payload alone.
 * MG_PERMANENT: it does not meet a requirement; MG_BAD_INPUT: an expression has no value for it. The text is
 * the reason for its client. MG_TRANSIENT: no memory. */
enum mg_class mg_workflow_admit(const struct mg_render_input *input, struct mg_err *err) MG_MUSTCHECK;
/* The first need that this payload does not meet, and the one after `need`; NULL: it meets the rest. */
const struct mg_payload_need *mg_workflow_lacks(const struct mg_workflow *workflow, struct mg_slice payload);
const struct mg_payload_need *mg_workflow_lacks_behind(const struct mg_payload_need *need,
                                                       struct mg_slice payload);
/* Appends a payload as an example: the members that `input` requires, and those to which guards, labels,
 * output and the `do` of any step refer. A value without a known type is the text "…". */
void mg_workflow_example(const struct mg_workflow *workflow, struct mg_buf *ret_payload);
/* MG_OK: `result` (absent: none is known) has all that the undo of the step refers to in its own result, as
 * the undo needs it. MG_PERMANENT: it lacks something; the text names it. MG_TRANSIENT: no memory. */
enum mg_class mg_workflow_undo_check(const struct mg_workflow *workflow, int step, struct mg_slice result,
                                     struct mg_err *err) MG_MUSTCHECK;

/* The version of the message that carries this request; 1 if it needs no newer reader. */
int mg_workflow_request_version(const struct mg_workflow *workflow, int step, enum mg_kind kind);

/* The values of a new order's labels, by index in `workflow->labels`; they live in `arena`. Absent: the order
 * has no such label, because a value that its template refers to is missing or null, or because its text is
 * empty. MG_PERMANENT: the text names the label that cannot be made, and why. MG_TRANSIENT: no memory. */
enum mg_class mg_workflow_labels_render(const struct mg_render_input *input, struct mg_arena *arena,
                                        struct mg_slice ret_values[MG_LABELS_MAX],
                                        struct mg_err *err) MG_MUSTCHECK;
/* The key of an order's line. Absent, if its workflow has none. MG_PERMANENT: the text says why there is no
 * key: a value is missing, or the key is empty or too long. MG_TRANSIENT: no memory. */
enum mg_class mg_workflow_line_key(const struct mg_render_input *input, struct mg_arena *arena,
                                   struct mg_slice *ret_key, struct mg_err *err) MG_MUSTCHECK;

#endif
