/*
 * Which steps are done whenever another one begins. A step may be skipped if it has `when`, or needs one that
 * may be. It is done nevertheless for those that need it, that have all of its conditions, or that ask for
 * it.
 */
#include "workflow/certainty.h"

#include <stdio.h>
#include <string.h>

#include "expr/tree.h"
#include "workflow/step_guard.h"

#define CONJUNCTS_MAX 64 /* of one step and those it needs; more are left out, which only asks for has() */

/* A part of a condition, all of which are true when the step begins. */
struct conjunct {
    const struct mg_expr *expr;
    int node;
    int step; /* the one that has it */
};

struct conjuncts {
    struct conjunct each[CONJUNCTS_MAX];
    int count;
    bool may_time_out; /* the step, or one that it needs, is skipped if no signal comes in time */
};

static uint64_t bit(int step)
{
    return UINT64_C(1) << step;
}

static const struct mg_expr *when_of(const struct mg_workflow *workflow, int step)
{
    const struct mg_guard *guard = workflow->steps[step].guard;
    return guard != NULL ? guard->when : NULL;
}

/* ---- conditions ---- */

static const struct mg_expr_node *node_of(const struct mg_expr *expr, int node)
{
    return &expr->nodes[node];
}

static struct mg_slice text_of(const struct mg_expr *expr, int node)
{
    const struct mg_expr_node *of = node_of(expr, node);
    return (struct mg_slice){expr->text.data + of->begin, (size_t)(of->end - of->begin)};
}

static bool are_opposite(const struct conjunct *a, const struct conjunct *b)
{
    return mg_expr_is_opposite(a->expr, a->node, b->expr, b->node);
}

static bool never_both(const struct conjunct *a, const struct conjunct *b)
{
    return are_opposite(a, b) || mg_expr_excludes(a->expr, a->node, b->expr, b->node);
}

static void add_conjuncts(struct conjuncts *conjuncts, const struct mg_expr *expr, int node, int step)
{
    if (node_of(expr, node)->op == MG_OP_AND) {
        add_conjuncts(conjuncts, expr, node_of(expr, node)->a, step);
        add_conjuncts(conjuncts, expr, node_of(expr, node)->b, step);
    } else if (conjuncts->count < CONJUNCTS_MAX) {
        conjuncts->each[conjuncts->count++] = (struct conjunct){expr, node, step};
    }
}

/* All that is true when the step begins: its own conditions, and those of the steps that it needs. */
static void find_conjuncts(const struct mg_workflow *workflow, int step, struct conjuncts *ret_conjuncts)
{
    uint64_t open = bit(step), seen = 0;
    ret_conjuncts->count = 0;
    ret_conjuncts->may_time_out = false;
    while (open != 0) {
        int next = __builtin_ctzll(open);
        const struct mg_expr *when = when_of(workflow, next);
        seen |= bit(next);
        ret_conjuncts->may_time_out |= workflow->plan.steps[next].is_skipped_when_over;
        if (when != NULL) {
            add_conjuncts(ret_conjuncts, when, when->root, next);
        }
        open = (open | workflow->plan.steps[next].needs) & ~seen;
    }
}

/* ---- certainty ---- */

/* The root of a path: results.a.b; NONE if the value is computed. */
static int root_of(const struct mg_expr *expr, int node)
{
    while (node_of(expr, node)->op == MG_OP_MEMBER || node_of(expr, node)->op == MG_OP_INDEX) {
        node = node_of(expr, node)->a;
    }
    return node_of(expr, node)->op == MG_OP_ROOT ? node : MG_EXPR_NONE;
}

static bool is_text(const struct mg_expr *expr, int node, const char *text)
{
    const struct mg_expr_node *of = node_of(expr, node);
    return of->op == MG_OP_LITERAL && of->type == MG_EXPR_TEXT &&
           mg_slice_is(expr->literals[of->value].text, text);
}

/* The step of which the conjunct asks the state; NONE if it asks for no state. `ret_is_done`: it is done
 * where the conjunct is true, else skipped. */
static int state_asked(const struct conjunct *conjunct, bool *ret_is_done)
{
    const struct mg_expr *expr = conjunct->expr;
    const struct mg_expr_node *of = node_of(expr, conjunct->node);
    if (of->op != MG_OP_EQUAL && of->op != MG_OP_UNEQUAL) {
        return MG_EXPR_NONE;
    }
    for (int i = 0; i < 2; i++) {
        const struct mg_expr_node *name = node_of(expr, i == 0 ? of->a : of->b);
        int other = i == 0 ? of->b : of->a;
        bool is_done = is_text(expr, other, "done");
        if (name->op == MG_OP_ROOT && name->value == MG_ROOT_STATE &&
            (is_done || is_text(expr, other, "skipped"))) {
            *ret_is_done = is_done == (of->op == MG_OP_EQUAL);
            return name->member;
        }
    }
    return MG_EXPR_NONE;
}

/* The steps that the conjunct proves done: has(results.a), state.a == 'done', state.a != 'skipped'; and those
 * that run where `a` does not. */
static uint64_t proved_by(const struct mg_certainty *certainty, const struct conjunct *conjunct)
{
    const struct mg_expr *expr = conjunct->expr;
    const struct mg_expr_node *of = node_of(expr, conjunct->node);
    bool is_done = false;
    if (of->op == MG_OP_HAS) {
        int root = root_of(expr, of->a);
        bool is_result = root != MG_EXPR_NONE && node_of(expr, root)->value == MG_ROOT_RESULTS;
        return is_result ? bit(node_of(expr, root)->member) : 0;
    }
    int step = state_asked(conjunct, &is_done);
    return step == MG_EXPR_NONE ? 0 : is_done ? bit(step) : certainty->instead[step];
}

static bool are_among(const struct conjuncts *inner, const struct conjuncts *outer)
{
    for (int i = 0; i < inner->count; i++) {
        bool is_found = false;
        for (int k = 0; k < outer->count && !is_found; k++) {
            is_found = mg_expr_is_same(inner->each[i].expr, inner->each[i].node, outer->each[k].expr,
                                       outer->each[k].node);
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

/* The steps that run where this one is skipped: all of their conditions are the opposite of its only one. The
 * conditions are evaluated at different times, and see the same values. */
static uint64_t find_instead(const struct mg_workflow *workflow, int step)
{
    struct conjuncts own, other;
    uint64_t instead = 0;
    find_conjuncts(workflow, step, &own);
    for (int i = 0; i < workflow->plan.step_count && own.count == 1 && !own.may_time_out; i++) {
        find_conjuncts(workflow, i, &other);
        bool is_instead = other.count > 0 && other.count < CONJUNCTS_MAX && !other.may_time_out;
        for (int k = 0; k < other.count; k++) {
            is_instead = is_instead && are_opposite(&own.each[0], &other.each[k]);
        }
        instead |= is_instead ? bit(i) : 0;
    }
    return instead;
}

/* The steps before this one that run whenever it does, by its conditions. */
static uint64_t proved_for(const struct mg_certainty *certainty, int step, uint64_t before)
{
    const struct mg_workflow *workflow = certainty->workflow;
    struct conjuncts own, other;
    uint64_t done = 0;
    find_conjuncts(workflow, step, &own);
    for (int i = 0; i < own.count; i++) {
        done |= proved_by(certainty, &own.each[i]);
    }
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (before & bit(i)) {
            find_conjuncts(workflow, i, &other);
            bool is_proved = other.count < CONJUNCTS_MAX && !other.may_time_out;
            done |= is_proved && are_among(&other, &own) ? bit(i) : 0;
        }
    }
    return done & before;
}

static uint64_t find_always(const struct mg_workflow *workflow)
{
    uint64_t always = ~UINT64_C(0);
    bool has_changed = true;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool may_be_skipped = when_of(workflow, i) != NULL || workflow->plan.steps[i].is_skipped_when_over;
        always &= may_be_skipped ? ~bit(i) : ~UINT64_C(0);
    }
    while (has_changed) { /* bits are only taken */
        has_changed = false;
        for (int i = 0; i < workflow->plan.step_count; i++) {
            if ((always & bit(i)) != 0 && (workflow->plan.steps[i].needs & ~always) != 0) {
                always &= ~bit(i);
                has_changed = true;
            }
        }
    }
    return always;
}

/* With each step, those that were done when it began. */
static uint64_t closed(const struct mg_certainty *certainty, uint64_t done)
{
    uint64_t all = done;
    for (int i = 0; i < certainty->workflow->plan.step_count; i++) {
        all |= (done & bit(i)) != 0 ? certainty->begun[i] : 0;
    }
    return all;
}

static void find_steps(struct mg_certainty *certainty, const uint64_t before[MG_STEPS_MAX])
{
    const struct mg_workflow *workflow = certainty->workflow;
    bool has_changed = true;
    while (has_changed) { /* bits are only added */
        has_changed = false;
        for (int i = 0; i < workflow->plan.step_count; i++) {
            uint64_t asked =
                closed(certainty, (before[i] & certainty->always) | workflow->plan.steps[i].needs);
            uint64_t begun = closed(certainty, asked | certainty->begun[i]);
            has_changed = has_changed || asked != certainty->asked[i] || begun != certainty->begun[i];
            certainty->asked[i] = asked;
            certainty->begun[i] = begun;
        }
    }
}

/* ---- expressions ---- */

struct lacks {
    const struct mg_certainty *certainty;
    uint64_t certain, steps;
    int *columns; /* NULL: of no interest */
};

/* The steps that are done where the fact holds. That a result is not there proves no skip: a service may have
 * given none. */
static uint64_t done_by(const struct mg_certainty *certainty, const struct mg_expr_fact *fact)
{
    bool is_done = mg_slice_is(fact->text, "done"), is_skipped = mg_slice_is(fact->text, "skipped");
    if (fact->is_has) {
        return fact->root == MG_ROOT_RESULTS ? bit(fact->member) : 0;
    }
    if (fact->root != MG_ROOT_STATE || fact->path.len > 0 || (!is_done && !is_skipped)) {
        return 0;
    }
    return is_done != fact->is_negated ? bit(fact->member) : certainty->instead[fact->member];
}

static void note_lack(void *arg, const struct mg_expr_reference *reference)
{
    struct lacks *lacks = arg;
    uint64_t steps = 0, done = lacks->certain;
    bool is_asked_itself = reference->is_asked && reference->path.len == 0;

    if (reference->root == MG_ROOT_RESULTS && !is_asked_itself) {
        steps = bit(reference->member);
    } else if (reference->root == MG_ROOT_VALUES) {
        steps = lacks->certainty->values[reference->member];
    }
    for (int i = 0; i < reference->fact_count; i++) {
        done |= done_by(lacks->certainty, &reference->facts[i]);
    }
    steps &= ~closed(lacks->certainty, done) & ~lacks->steps;
    for (int i = 0; lacks->columns != NULL && i < MG_STEPS_MAX; i++) {
        lacks->columns[i] = (steps & bit(i)) != 0 ? reference->column : lacks->columns[i];
    }
    lacks->steps |= steps;
}

uint64_t mg_certainty_lacks(const struct mg_certainty *certainty, const struct mg_expr *expr,
                            uint64_t certain, int ret_columns[MG_STEPS_MAX])
{
    struct lacks lacks = {.certainty = certainty, .certain = certain, .columns = ret_columns};
    mg_expr_references(expr, note_lack, &lacks);
    return lacks.steps;
}

static void find_values(struct mg_certainty *certainty)
{
    const struct mg_workflow_exprs *exprs = certainty->workflow->exprs;
    bool has_changed = exprs != NULL;
    while (has_changed) { /* bits are only added */
        has_changed = false;
        for (int i = 0; i < exprs->value_count; i++) {
            uint64_t steps =
                exprs->values[i] != NULL ? mg_certainty_lacks(certainty, exprs->values[i], 0, NULL) : 0;
            has_changed = has_changed || steps != certainty->values[i];
            certainty->values[i] = steps;
        }
    }
}

void mg_certainty_find(const struct mg_workflow *workflow, const uint64_t before[MG_STEPS_MAX],
                       struct mg_certainty *ret_certainty)
{
    *ret_certainty = (struct mg_certainty){.workflow = workflow, .always = find_always(workflow)};
    for (int i = 0; i < workflow->plan.step_count; i++) {
        ret_certainty->instead[i] = find_instead(workflow, i);
    }
    for (int i = 0; i < workflow->plan.step_count; i++) {
        ret_certainty->begun[i] = proved_for(ret_certainty, i, before[i]);
    }
    find_steps(ret_certainty, before);
    find_values(ret_certainty);
}

void mg_certainty_why(const struct mg_certainty *certainty, int step, char ret_text[MG_CERTAINTY_WHY_SIZE])
{
    const struct mg_workflow *workflow = certainty->workflow;
    const struct mg_expr *when = when_of(workflow, step);
    uint64_t needs = workflow->plan.steps[step].needs & ~certainty->always;
    if (when != NULL) {
        struct mg_slice text = mg_expr_text(when);
        bool is_short = text.len <= 80;
        (void)snprintf(ret_text, MG_CERTAINTY_WHY_SIZE, "its \"when\": %.*s%s", is_short ? (int)text.len : 80,
                       text.data, is_short ? "" : "…");
    } else if (workflow->plan.steps[step].is_skipped_when_over) {
        (void)snprintf(ret_text, MG_CERTAINTY_WHY_SIZE, "its \"on_timeout\"");
    } else {
        (void)snprintf(ret_text, MG_CERTAINTY_WHY_SIZE, "it needs \"%s\"",
                       needs != 0 ? workflow->steps[__builtin_ctzll(needs)].name : "");
    }
}

void mg_certainty_refuse(const struct mg_certainty *certainty, int step, const char *pointer, const char *at,
                         struct mg_json_faults *faults)
{
    const char *name = certainty->workflow->steps[step].name;
    char why[MG_CERTAINTY_WHY_SIZE];
    mg_certainty_why(certainty, step, why);
    mg_json_fault_at(faults, MG_BAD_INPUT, pointer, at,
                     "step \"%s\" may be skipped (%s); use \"needs\": [\"%s\"], or ask first: "
                     "has(results.%s) && …",
                     name, why, name, name);
}

void mg_certainty_asking(const char *reference, char *ret_text, size_t size)
{
    char path[121];
    size_t len = 0;
    for (const char *c = reference + 1; *c != '\0' && len + 1 < sizeof(path); c++) {
        path[len++] = (char)(*c == '/' ? '.' : *c);
    }
    path[len] = '\0';
    (void)snprintf(ret_text, size, "${= has(results.%.*s) ? %s : null}",
                   (int)strcspn(path + strlen("results."), "."), path + strlen("results."), path);
}

/* ---- contradictions ---- */

static const char *at_conjunct(const struct mg_workflow *workflow, const char *pointer,
                               const struct conjunct *conjunct)
{
    const struct mg_expr_node *node = node_of(conjunct->expr, conjunct->node);
    return mg_workflow_expr_at(mg_json_find(workflow->text, pointer),
                               mg_expr_column(conjunct->expr->text, node->begin));
}

static void refuse_contradiction(const struct mg_workflow *workflow, int step, const struct conjunct *a,
                                 const struct conjunct *b, struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice left = text_of(a->expr, a->node), right = text_of(b->expr, b->node);
    bool is_own = a->step == step && b->step == step, is_opposite = are_opposite(a, b);

    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s", step, is_own ? "when" : "needs");
    if (is_own) {
        mg_json_fault_at(faults, MG_BAD_INPUT, pointer, at_conjunct(workflow, pointer, b),
                         "never true: %.*s and %.*s %s; this step could never run", (int)left.len, left.data,
                         (int)right.len, right.data, is_opposite ? "are opposites" : "exclude each other");
    } else {
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "\"%s\" and \"%s\" have %s, %.*s and %.*s: this step could never run",
                      workflow->steps[a->step].name, workflow->steps[b->step].name,
                      is_opposite ? "opposite conditions" : "conditions that exclude each other",
                      (int)left.len, left.data, (int)right.len, right.data);
    }
}

static void check_conjuncts(const struct mg_workflow *workflow, int step, const struct conjuncts *conjuncts,
                            struct mg_json_faults *faults)
{
    for (int i = 0; i < conjuncts->count; i++) {
        for (int k = i + 1; k < conjuncts->count; k++) {
            if (never_both(&conjuncts->each[i], &conjuncts->each[k])) {
                refuse_contradiction(workflow, step, &conjuncts->each[i], &conjuncts->each[k], faults);
                return;
            }
        }
    }
}

void mg_certainty_check(const struct mg_certainty *certainty, struct mg_json_faults *faults)
{
    struct conjuncts conjuncts;
    for (int i = 0; i < certainty->workflow->plan.step_count; i++) {
        find_conjuncts(certainty->workflow, i, &conjuncts);
        check_conjuncts(certainty->workflow, i, &conjuncts, faults);
    }
}
