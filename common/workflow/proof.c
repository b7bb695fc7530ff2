/*
 * The reader of a definition cannot refuse these mistakes, because definitions of older versions are stored
 * and must run: references into the payload against its shape, `input`. An unknown member is never there, and
 * an optional one fails the order after its first effects, unless has() asks for it first: in the expression
 * itself, in the guards of the step and of those that it needs, or in the order's `require`.
 */
#include "workflow/proof.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "workflow/definition_check.h"
#include "workflow/expressions.h"
#include "workflow/input_shape.h"

#define PATHS_MAX 64   /* has() of all guards of one step; further ones only ask for a has() more */
#define PATH_MAX  256  /* bytes; a longer one is left out */
#define DEPTH_MAX 64   /* values below each other, as many as there are */
#define LOOKS_MAX 4096 /* references of one expression, through its values; the rest is not looked at */

/* Paths as an expression has them after `payload`: ".customer.email". */
struct paths {
    char each[PATHS_MAX][PATH_MAX];
    int count;
};

struct proof {
    const struct mg_workflow *workflow;
    struct mg_json_faults *faults;
    struct paths asked; /* in the guards */
    /* The template or expression in hand. */
    const char *pointer;
    struct mg_slice text;
    const char *reference; /* as written */
    /* Expressions around the one in hand: has() in one of them holds for its values, too. */
    const struct mg_expr_reference *around[DEPTH_MAX];
    int depth, looks;
    bool is_optional_good; /* a label: without a value there is none */
};

/* ---- paths ---- */

/* Takes the next part off a path: a name or an index. False: there is none, or none that is known. */
static bool part_take(const char **at, const char *end, struct mg_slice *ret_name, bool *ret_is_index)
{
    const char *from = *at;
    if (from >= end) {
        return false;
    }
    *ret_is_index = from[0] == '[' && from + 1 < end && isdigit((unsigned char)from[1]);
    if (from[0] == '.') {
        const char *to = ++from;
        while (to < end && *to != '.' && *to != '[') {
            to++;
        }
        *ret_name = (struct mg_slice){from, (size_t)(to - from)};
        *at = to;
        return to > from;
    }
    const char *close = memchr(from, ']', (size_t)(end - from));
    if (from[0] != '[' || close == NULL) {
        return false;
    }
    size_t quote = *ret_is_index ? 0 : 1;
    if ((size_t)(close - from) < 2 * quote + 1) {
        return false;
    }
    *ret_name = (struct mg_slice){from + 1 + quote, (size_t)(close - from) - 1 - 2 * quote};
    *at = close + 1;
    return true;
}

/* True if `asked` proves that the value at `path` is there: it is the same, or leads further. */
static bool proves(struct mg_slice asked, struct mg_slice path)
{
    bool begins = asked.len >= path.len && memcmp(asked.data, path.data, path.len) == 0;
    return begins && (asked.len == path.len || asked.data[path.len] == '.' || asked.data[path.len] == '[');
}

static bool is_asked(const struct proof *proof, const struct mg_expr_reference *reference,
                     struct mg_slice path)
{
    for (int i = 0; i < proof->asked.count; i++) {
        if (proves(mg_slice_of(proof->asked.each[i]), path)) {
            return true;
        }
    }
    for (int level = 0; level <= proof->depth; level++) {
        const struct mg_expr_reference *at = level < proof->depth ? proof->around[level] : reference;
        for (int i = 0; at != NULL && i < at->fact_count; i++) {
            const struct mg_expr_fact *fact = &at->facts[i];
            if (fact->is_has && fact->root == MG_ROOT_PAYLOAD && proves(fact->path, path)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- one reference ---- */

/* NULL: nowhere as it is written, because of an escape. */
static const char *at_reference(const struct proof *proof)
{
    const char *written = proof->reference;
    if (proof->text.data == NULL || written == NULL) {
        return NULL;
    }
    written += written[0] == '=' ? 1 : 0; /* there may be blanks between the two */
    return memmem(proof->text.data, proof->text.len, written, strlen(written));
}

static void unknown_refuse(const struct proof *proof, struct mg_slice path, struct mg_slice name,
                           const char *nearest)
{
    mg_json_fault_at(proof->faults, MG_BAD_INPUT, proof->pointer, at_reference(proof),
                     "payload%.*s: \"input\" has no member \"%.*s\"%s%s%s", (int)path.len, path.data,
                     (int)name.len, name.data, nearest != NULL ? "; did you mean \"" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static void optional_refuse(const struct proof *proof, struct mg_slice path)
{
    int len = (int)path.len;
    mg_json_fault_at(proof->faults, MG_BAD_INPUT, proof->pointer, at_reference(proof),
                     "payload%.*s is optional in \"input\", and without it the request fails; ask first: "
                     "${= has(payload%.*s) ? payload%.*s : null}, or \"when\": \"has(payload%.*s)\"",
                     len, path.data, len, path.data, len, path.data, len, path.data);
}

/* `reference` is NULL for a JSON pointer, which no condition guards. */
static void path_check(const struct proof *proof, const struct mg_expr_reference *reference,
                       struct mg_slice path)
{
    const void *shape = proof->workflow->input;
    const char *at = path.data, *end = path.data + path.len;
    struct mg_slice name;
    bool is_index;

    while (shape != NULL && part_take(&at, end, &name, &is_index)) {
        bool is_there = true;
        const char *nearest = NULL;
        const void *element = mg_input_element(NULL, shape);
        struct mg_slice so_far = {path.data, (size_t)(at - path.data)};
        shape =
            element != NULL && is_index ? element : mg_input_member(NULL, shape, name, &is_there, &nearest);
        if (!is_there) {
            unknown_refuse(proof, so_far, name, nearest);
            return;
        }
        bool may_lack = shape != NULL && !is_index && mg_input_is_optional(shape);
        if (may_lack && !proof->is_optional_good && !is_asked(proof, reference, so_far)) {
            optional_refuse(proof, so_far);
            return;
        }
    }
}

static void reference_check(void *arg, const struct mg_expr_reference *reference)
{
    struct proof *proof = arg;
    if (reference->is_asked || ++proof->looks > LOOKS_MAX) {
        return;
    }
    if (reference->root == MG_ROOT_PAYLOAD) {
        path_check(proof, reference, reference->path);
    } else if (reference->root == MG_ROOT_VALUES && proof->depth < DEPTH_MAX) {
        proof->around[proof->depth++] = reference;
        mg_expr_references(proof->workflow->exprs->values[reference->member], reference_check, proof);
        proof->depth--;
    }
}

static void expression_check(struct proof *proof, const struct mg_expr *expr)
{
    proof->looks = 0;
    proof->depth = 0;
    mg_expr_references(expr, reference_check, proof);
}

/* A JSON pointer as the path of an expression: /items/0/sku is .items[0].sku. */
static bool path_of_pointer(const char *pointer, struct mg_buf *ret_path)
{
    for (const char *at = pointer; *at == '/' && !ret_path->failed;) {
        size_t len = strcspn(++at, "/");
        bool is_index = len > 0 && strspn(at, "0123456789") == len;
        mg_buf_printf(ret_path, is_index ? "[%.*s]" : ".%.*s", (int)len, at);
        at += len;
    }
    return !ret_path->failed && strpbrk(pointer, "~.[") == NULL;
}

static bool template_check(void *arg, const struct mg_template_piece *reference)
{
    struct proof *proof = arg;
    char memory[PATH_MAX];
    struct mg_buf path;

    proof->reference = reference->text.data;
    if (reference->expr != NULL) {
        expression_check(proof, reference->expr);
    } else if (reference->place == MG_PLACE_PAYLOAD && reference->rest[0] != '\0') {
        mg_buf_init_fixed(&path, memory, sizeof(memory));
        if (path_of_pointer(reference->rest, &path)) {
            path_check(proof, NULL, mg_buf_slice(&path));
        }
    }
    return true;
}

/* ---- the whole ---- */

static void text_check(struct proof *proof, const char *pointer, struct mg_slice text,
                       const struct mg_template *template)
{
    proof->pointer = pointer;
    proof->text = text;
    mg_template_each(template, template_check, proof);
}

static void fact_keep(void *arg, const struct mg_expr_fact *fact)
{
    struct paths *paths = arg;
    if (fact->is_has && fact->root == MG_ROOT_PAYLOAD && fact->path.len < PATH_MAX &&
        paths->count < PATHS_MAX) {
        (void)snprintf(paths->each[paths->count++], PATH_MAX, "%.*s", (int)fact->path.len, fact->path.data);
    }
}

struct guarded {
    struct proof *proof;
    bool is_checked; /* else it is checked with its own step */
};

/* Conditions are evaluated in their order: each holds for those after it, and for the step. */
static void condition_check(void *arg, const struct mg_expr *expr, const char *pointer)
{
    struct guarded *guarded = arg;
    struct proof *proof = guarded->proof;
    proof->pointer = pointer;
    proof->text = (struct mg_slice){NULL, 0};
    if (guarded->is_checked) {
        expression_check(proof, expr);
    }
    mg_expr_facts(expr, fact_keep, &proof->asked);
}

static void answer_check(struct proof *proof, int step, const char *member, const struct mg_expr *expr)
{
    char pointer[MG_JSON_POINTER_SIZE];
    if (expr == NULL) {
        return;
    }
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s", step, member);
    proof->pointer = pointer;
    proof->text = (struct mg_slice){NULL, 0};
    expression_check(proof, expr);
}

static void step_check(struct proof *proof, int step)
{
    const struct mg_workflow *workflow = proof->workflow;
    const struct mg_workflow_step *of = &workflow->steps[step];
    struct mg_action_part parts[MG_ACTION_PARTS];
    struct guarded guarded = {.proof = proof};
    char pointer[MG_JSON_POINTER_SIZE];
    int asked_before = proof->asked.count;

    uint64_t needs = mg_workflow_needs_of(workflow, step) & ~(UINT64_C(1) << step);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if ((needs >> i & 1) != 0) {
            mg_workflow_guard_each(workflow->steps[i].guard, "", condition_check, &guarded);
        }
    }
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d", step);
    guarded.is_checked = true;
    mg_workflow_guard_each(of->guard, pointer, condition_check, &guarded);
    answer_check(proof, step, "done_when", of->conditions.done_when);
    answer_check(proof, step, "refused_when", of->conditions.refused_when);
    answer_check(proof, step, "undo/done_when", of->undo_conditions.done_when);
    answer_check(proof, step, "undo/refused_when", of->undo_conditions.refused_when);
    for (int call = 0; call < MG_CALL_COUNT; call++) {
        mg_action_parts(&of->actions[call], parts);
        for (int k = 0; k < MG_ACTION_PARTS; k++) {
            (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s/%s", step, mg_call_name(call),
                           parts[k].member);
            text_check(proof, pointer, parts[k].text, parts[k].template);
        }
    }
    proof->asked.count = asked_before;
}

enum mg_class mg_workflow_prove(const struct mg_workflow *workflow, const struct mg_mistakes *mistakes,
                                struct mg_err *err)
{
    struct mg_json_faults faults = mg_json_definition_faults(workflow->text, mistakes, err);
    struct proof proof = {.workflow = workflow, .faults = &faults};
    struct guarded order = {.proof = &proof, .is_checked = true};
    char pointer[MG_JSON_POINTER_SIZE];

    if (workflow->input == NULL || workflow->exprs == NULL) {
        return MG_OK;
    }
    mg_workflow_guard_each(workflow->guard, "", condition_check, &order);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        step_check(&proof, i);
    }
    text_check(&proof, "/output", workflow->output, &workflow->output_template);
    text_check(&proof, "/sequence/key", mg_json_find(workflow->text, "/sequence/key"),
               &workflow->sequence.template);
    proof.is_optional_good = true;
    for (int i = 0; i < workflow->label_count; i++) {
        (void)snprintf(pointer, sizeof(pointer), "/labels/%s", workflow->labels[i].name);
        text_check(&proof, pointer, mg_json_find(workflow->text, pointer), &workflow->labels[i].template);
    }
    return faults.class == MG_OK ? MG_OK : mg_json_faults_end(&faults);
}

/* ---- hints ---- */

static bool is_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The beginning of a reference in another product's spelling; NULL: there is none. */
static const char *foreign_find(struct mg_slice text, bool is_path)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        bool is_escaped = i > 0 && text.data[i - 1] == '$';
        bool is_double = text.data[i] == '{' && text.data[i + 1] == '{';
        bool is_braced = is_path && text.data[i] == '{' && !is_escaped;
        bool is_dollar = text.data[i] == '$' && is_name(text.data[i + 1]) && !is_escaped;
        if (is_double || is_braced || is_dollar) {
            return text.data + i;
        }
    }
    return NULL;
}

struct hints {
    mg_workflow_hint_fn *seen;
    void *arg;
    const char *pointer;
};

static bool reckoning_hint(void *arg, const struct mg_template_piece *piece)
{
    struct hints *hints = arg;
    const char *reference = piece->text.data;
    if (reference[0] != '=' && strpbrk(reference, " *+()") != NULL) {
        char text[MG_FAULT_TEXT_SIZE];
        (void)snprintf(text, sizeof(text),
                       "${%.120s} is one JSON pointer, blanks included; arithmetic is an expression: "
                       "${= payload.price * payload.nights}",
                       reference);
        hints->seen(hints->arg, hints->pointer, text);
    }
    return true;
}

static void text_hint(struct hints *hints, const char *pointer, struct mg_slice text,
                      const struct mg_template *template)
{
    hints->pointer = pointer;
    mg_template_each(template, reckoning_hint, hints);
    const char *foreign = text.data != NULL ? foreign_find(text, text.data[0] == '/') : NULL;
    if (foreign != NULL) {
        char why[MG_FAULT_TEXT_SIZE];
        int len = 0; /* of one word within its string */
        while (foreign + len < text.data + text.len && strchr("\" /", foreign[len]) == NULL) {
            len++;
        }
        (void)snprintf(
            why, sizeof(why),
            "\"%.*s\" goes out as it is; a reference is ${/payload/…}, an expression ${= payload.…}",
            len < 20 ? len : 20, foreign);
        hints->seen(hints->arg, pointer, why);
    }
}

/* An undo that could not notice a refusal in a good answer, although its service may well give one: the
 * step's own answers are read for one, or the undo is a refund, which payment services accept first and
 * settle, or refuse, later. The status of a DELETE suffices. */
static bool is_undo_blind(const struct mg_workflow_step *step)
{
    const struct mg_action *undo = &step->actions[MG_KIND_UNDO];
    bool is_judged = step->conditions.done_when != NULL || step->conditions.refused_when != NULL;
    bool is_refund = undo->path.len > 0 && memmem(undo->path.data, undo->path.len, "refund", 6) != NULL;
    bool can_refuse = undo->is_present && !undo->is_text_answer && strcmp(undo->method, "DELETE") != 0;
    return can_refuse && (is_judged || is_refund) && step->undo_conditions.done_when == NULL &&
           step->undo_conditions.refused_when == NULL;
}

static void undo_hint(const struct hints *hints, int step)
{
    char pointer[MG_JSON_POINTER_SIZE];
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/undo", step);
    hints->seen(hints->arg, pointer,
                "every 2xx counts as undone, also one whose body says that it failed or is pending; if the "
                "service gives such answers, add \"done_when\", as in \"result.status == 'succeeded'\"");
}

void mg_workflow_hints(const struct mg_workflow *workflow, mg_workflow_hint_fn *seen, void *arg)
{
    struct hints hints = {seen, arg, ""};
    struct mg_action_part parts[MG_ACTION_PARTS];
    char pointer[MG_JSON_POINTER_SIZE];

    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (is_undo_blind(&workflow->steps[i])) {
            undo_hint(&hints, i);
        }
        for (int call = 0; call < MG_CALL_COUNT; call++) {
            mg_action_parts(&workflow->steps[i].actions[call], parts);
            for (int k = 0; k < MG_ACTION_PARTS; k++) {
                (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s/%s", i, mg_call_name(call),
                               parts[k].member);
                text_hint(&hints, pointer, parts[k].text, parts[k].template);
            }
        }
    }
    text_hint(&hints, "/output", workflow->output, &workflow->output_template);
}
