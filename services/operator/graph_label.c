/* The conditions of a step as lines of a picture. See graph.h. */
#include <stdio.h>
#include <string.h>

#include "expr/expr.h"
#include "operator/graph.h"

int mg_graph_guards(const struct mg_workflow *workflow, int step,
                    struct mg_graph_label ret_labels[MG_GRAPH_LABELS_MAX])
{
    struct mg_slice expr, text;
    int count = 0, required = 0;
    if (mg_workflow_condition(workflow, step, MG_CONDITION_WHEN, &expr, &text)) {
        ret_labels[count++] = (struct mg_graph_label){.word = "when", .whole = expr};
    }
    while (mg_workflow_condition(workflow, step, required, &expr, &text)) {
        if (required++ == 0) {
            ret_labels[count++] = (struct mg_graph_label){.word = "require", .whole = expr};
        }
    }
    if (required > 1) {
        ret_labels[count - 1].more = required - 1;
    }
    return count;
}

int mg_graph_answers(const struct mg_workflow *workflow, int step,
                     struct mg_graph_label ret_labels[MG_GRAPH_LABELS_MAX])
{
    const struct mg_workflow_step *of = &workflow->steps[step];
    int count = 0;
    if (mg_workflow_wait(workflow, step, &ret_labels[0].word, &ret_labels[0].whole)) {
        ret_labels[count++].more = 0;
    }
    if (of->conditions.done_when != NULL) {
        ret_labels[count++] =
            (struct mg_graph_label){.word = "done when", .whole = mg_expr_text(of->conditions.done_when)};
    }
    if (of->conditions.refused_when != NULL) {
        ret_labels[count++] = (struct mg_graph_label){.word = "refused when",
                                                      .whole = mg_expr_text(of->conditions.refused_when)};
    }
    return count;
}

/* White space within an expression may be a line's end, which would end a line of the picture. */
static void blanks_mend(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
}

void mg_graph_label_cut(const struct mg_graph_label *label, char ret[MG_GRAPH_LABEL_SIZE])
{
    char more[24] = "";
    if (label->more > 0) {
        (void)snprintf(more, sizeof(more), " +%d", label->more);
    }
    size_t room = MG_GRAPH_LABEL_SHOWN - strlen(label->word) - 1 - strlen(more);
    bool is_cut = label->whole.len > room;
    size_t len = mg_utf8_cut(label->whole, is_cut ? room - 1 : room);
    (void)snprintf(ret, MG_GRAPH_LABEL_SIZE, "%s %.*s%s%s", label->word, (int)len, label->whole.data,
                   is_cut ? "…" : "", more);
    blanks_mend(ret);
}
