/* See claim.h. */
#include "claim.h"

#include <stdio.h>

#include "bare_order.h"

enum { ROOT_END, ROOT_STATE, ROOT_STANDS, ROOT_COUNT };

/* The ends of an order that runs without commands of an operator, and the states of a step. */
static const char *const ENDS[] = {"processed", "compensated", "error", "waiting", NULL};
static const char *const STATES[] = {
#define MG_STEP_STATE(NAME, word) word,
#include "core/words.def"
    NULL};

struct shape {
    enum mg_expr_type type;
    const char *const *words;
};
static const struct shape SHAPES[ROOT_COUNT] = {[ROOT_END] = {MG_EXPR_TEXT, ENDS},
                                                [ROOT_STATE] = {MG_EXPR_TEXT, STATES},
                                                [ROOT_STANDS] = {MG_EXPR_BOOLEAN, NULL}};

static const void *shape_of_root(void *arg, int root, int member)
{
    (void)arg, (void)member;
    return &SHAPES[root];
}

static enum mg_expr_type shape_type(void *arg, const void *shape)
{
    (void)arg;
    return shape != NULL ? ((const struct shape *)shape)->type : MG_EXPR_UNKNOWN;
}

/* None of the values has members. */
static const void *shape_member(void *arg, const void *shape, struct mg_slice name, bool *ret_is_there,
                                const char **ret_nearest)
{
    (void)arg, (void)shape, (void)name;
    *ret_is_there = false;
    *ret_nearest = NULL;
    return NULL;
}

static const void *shape_element(void *arg, const void *shape)
{
    (void)arg, (void)shape;
    return NULL;
}

static const char *const *shape_words(void *arg, const void *shape)
{
    (void)arg;
    return shape != NULL ? ((const struct shape *)shape)->words : NULL;
}

enum mg_class mg_claim_compile(const struct mg_workflow *workflow, struct mg_slice text,
                               struct mg_arena *arena, const struct mg_expr **ret_expr, struct mg_err *err)
{
    static const struct mg_expr_shapes shapes = {.root = shape_of_root,
                                                 .type = shape_type,
                                                 .member = shape_member,
                                                 .element = shape_element,
                                                 .words = shape_words};
    const char *steps[MG_STEPS_MAX + 1] = {NULL};
    for (int i = 0; i < workflow->plan.step_count; i++) {
        steps[i] = workflow->steps[i].name;
    }
    const struct mg_expr_root roots[ROOT_COUNT] = {
        [ROOT_END] = {"end", NULL}, [ROOT_STATE] = {"state", steps}, [ROOT_STANDS] = {"stands", steps}};
    const struct mg_expr_names names = {.roots = roots, .root_count = ROOT_COUNT, .shapes = &shapes};
    enum mg_class class = mg_expr_compile(text, &names, arena, ret_expr, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    if (mg_expr_type_of(*ret_expr) != MG_EXPR_BOOLEAN && mg_expr_type_of(*ret_expr) != MG_EXPR_UNKNOWN) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "%s; a condition is expected, as in \"end == 'compensated' && stands.%s\"",
                          mg_expr_type_name(mg_expr_type_of(*ret_expr)), workflow->steps[0].name);
    }
    return mg_expr_is_constant(*ret_expr)
               ? mg_err_set(err, MG_BAD_INPUT,
                            "it names neither end, state.STEP nor stands.STEP: it says nothing")
               : MG_OK;
}

struct values {
    const struct mg_workflow *workflow;
    const struct mg_order *order;
    char words[ROOT_COUNT][MG_STEPS_MAX][24]; /* JSON texts */
};

static struct mg_expr_found find(void *arg, int root, int member)
{
    struct values *values = arg;
    const struct mg_order *order = values->order;
    char *word = values->words[root][member >= 0 ? member : 0];
    if (root == ROOT_STANDS) {
        bool stands = mg_bare_stands(&values->workflow->plan, order, member);
        return (struct mg_expr_found){.json = mg_slice_of(stands ? "true" : "false")};
    }
    const char *end =
        mg_order_state_is_terminal(order->state) ? mg_order_state_name(order->state) : "waiting";
    (void)snprintf(word, sizeof(values->words[0][0]), "\"%s\"",
                   root == ROOT_END ? end : mg_step_state_name(order->steps[member].state));
    return (struct mg_expr_found){.json = mg_slice_of(word)};
}

enum mg_class mg_claim_decide(const struct mg_workflow *workflow, const struct mg_expr *claim,
                              const struct mg_order *order, bool *ret_is_true, struct mg_err *err)
{
    struct values values;
    values.workflow = workflow;
    values.order = order;
    struct mg_expr_room room;
    room.used = 0;
    const struct mg_expr_scope scope = {.find = find, .arg = &values};
    return mg_expr_decide(claim, &scope, &room, ret_is_true, err);
}
