/* The forms of the picture. Names of steps and services are [a-z0-9_-] and need no escaping; conditions do.
 * See graph.h. */
#include <stdio.h>
#include <string.h>

#include "expr/expr.h"
#include "operator/graph.h"

/* Characters of a name that fit into a box. */
#define NAME_SHOWN 22

/* ---- conditions as lines ---- */

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
    if (of->signal != NULL) {
        ret_labels[count++] = (struct mg_graph_label){
            .word = workflow->plan.steps[step].is_skipped_when_over ? "skipped after" : "fails after",
            .whole = mg_workflow_wait_within(workflow, step)};
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

/* ---- JSON ---- */

static void point_write(struct mg_json_writer *json, int x, int y)
{
    char pair[32];
    (void)snprintf(pair, sizeof(pair), "[%d,%d]", x, y);
    mg_json_element_raw(json, mg_slice_of(pair));
}

/* From the lower side of a box, past each layer between, to the upper side of the other box. */
static void points_write(struct mg_json_writer *json, const struct mg_graph *graph,
                         const struct mg_graph_edge *edge)
{
    const struct mg_graph_spot *from = &graph->spots[edge->from], *to = &graph->spots[edge->to];
    mg_json_member_array(json, "points");
    point_write(json, from->x, from->y + from->height);
    for (int i = 0; i < edge->bends; i++) {
        const struct mg_graph_spot *bend = &graph->spots[edge->bend + i];
        point_write(json, bend->x, bend->y);
        point_write(json, bend->x, bend->y + bend->height);
    }
    point_write(json, to->x, to->y);
    mg_json_array_end(json);
}

static void labels_write(struct mg_json_writer *json, const char *name, const struct mg_graph_label *labels,
                         int count)
{
    char text[MG_GRAPH_LABEL_SIZE];
    mg_json_member_array(json, name);
    for (int i = 0; i < count; i++) {
        mg_graph_label_cut(&labels[i], text);
        mg_json_element_object(json);
        mg_json_member_string(json, "text", text);
        mg_json_member_word(json, "word", labels[i].word);
        mg_json_member_text(json, "whole", labels[i].whole);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

static void node_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                       const struct mg_graph *graph, int step)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    mg_json_element_object(json);
    mg_json_member_word(json, "step", workflow->steps[step].name);
    mg_json_member_word(json, "service", workflow->steps[step].service);
    mg_json_member_bool(json, "is_wait", workflow->plan.steps[step].is_wait);
    mg_json_member_int(json, "x", graph->spots[step].x);
    mg_json_member_int(json, "y", graph->spots[step].y);
    mg_json_member_int(json, "height", graph->spots[step].height);
    mg_json_member_bool(json, "is_pivot", workflow->plan.steps[step].is_pivot);
    mg_json_member_bool(json, "has_undo", workflow->plan.steps[step].has_undo);
    labels_write(json, "guards", labels, mg_graph_guards(workflow, step, labels));
    labels_write(json, "answers", labels, mg_graph_answers(workflow, step, labels));
    mg_json_object_end(json);
}

void mg_graph_write_json(const struct mg_workflow *workflow, const struct mg_graph *graph,
                         struct mg_json_writer *json)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    mg_json_object_begin(json);
    mg_json_member_int(json, "width", graph->width);
    mg_json_member_int(json, "height", graph->height);
    mg_json_member_int(json, "box_width", MG_GRAPH_BOX_WIDTH);
    mg_json_member_int(json, "line", MG_GRAPH_LINE);
    labels_write(json, "guards", labels, mg_graph_guards(workflow, MG_STEP_OF_ORDER, labels));
    mg_json_member_array(json, "nodes");
    for (int i = 0; i < graph->step_count; i++) {
        node_write(json, workflow, graph, i);
    }
    mg_json_array_end(json);
    mg_json_member_array(json, "edges");
    for (int i = 0; i < graph->edge_count; i++) {
        mg_json_element_object(json);
        mg_json_member_word(json, "from", workflow->steps[graph->edges[i].from].name);
        mg_json_member_word(json, "to", workflow->steps[graph->edges[i].to].name);
        mg_json_member_bool(json, "is_need", graph->edges[i].is_need);
        points_write(json, graph, &graph->edges[i]);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

/* ---- Mermaid: numbers as identifiers, because names such as "end" are words of its own ---- */

#define LINE_END "<br/>" /* in a label */

static void escaped_append(struct mg_buf *out, struct mg_slice text)
{
    static const char SPECIALS[] = "&<>\"#`\\";
    static const char *const ESCAPES[] = {"#amp;", "#lt;", "#gt;", "#quot;", "#35;", "#96;", "#92;"};
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        const char *special = byte != '\0' ? strchr(SPECIALS, byte) : NULL;
        if (special != NULL) {
            mg_buf_append_text(out, ESCAPES[special - SPECIALS]);
        } else {
            mg_buf_append(out, byte < 0x20 ? " " : &text.data[i], 1); /* a line's end would end the label */
        }
    }
}

static void labels_append(struct mg_buf *out, const struct mg_graph_label *labels, int count)
{
    for (int i = 0; i < count; i++) {
        char text[MG_GRAPH_LABEL_SIZE];
        mg_graph_label_cut(&labels[i], text);
        mg_buf_append_text(out, i > 0 ? LINE_END : "");
        escaped_append(out, mg_slice_of(text));
    }
}

/* Name, service and the meaning of answers; of a step without arrows also its guards. */
static void node_label_append(struct mg_buf *out, const struct mg_workflow *workflow, int step)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    mg_buf_printf(out, "%s" LINE_END "%s", workflow->steps[step].name, mg_workflow_place(workflow, step));
    int count = workflow->plan.steps[step].after == 0 ? mg_graph_guards(workflow, step, labels) : 0;
    mg_buf_append_text(out, count > 0 ? LINE_END : "");
    labels_append(out, labels, count);
    count = mg_graph_answers(workflow, step, labels);
    mg_buf_append_text(out, count > 0 ? LINE_END : "");
    labels_append(out, labels, count);
}

static void comment_append(struct mg_buf *out, struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        mg_buf_append(out, (unsigned char)text.data[i] < 0x20 ? " " : &text.data[i], 1);
    }
    mg_buf_append_text(out, "\n");
}

/* Mermaid has no tooltips without scripts; a comment has each condition whole. */
static void mermaid_comments_write(const struct mg_workflow *workflow, struct mg_buf *out)
{
    struct mg_graph_label labels[2 * MG_GRAPH_LABELS_MAX];
    for (int step = MG_STEP_OF_ORDER; step < workflow->plan.step_count; step++) {
        int count = mg_graph_guards(workflow, step, labels);
        count += step != MG_STEP_OF_ORDER ? mg_graph_answers(workflow, step, labels + count) : 0;
        for (int i = 0; i < count; i++) {
            bool is_order = step == MG_STEP_OF_ORDER;
            mg_buf_printf(out, "    %%%% %s: %s ", is_order ? "order" : workflow->steps[step].name,
                          labels[i].word);
            comment_append(out, labels[i].whole);
        }
    }
}

/* An order with requirements of its own has a node, from which the first steps begin. */
static bool order_write(const struct mg_workflow *workflow, struct mg_buf *out)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int count = mg_graph_guards(workflow, MG_STEP_OF_ORDER, labels);
    if (count > 0) {
        mg_buf_append_text(out, "    order([\"order" LINE_END);
        labels_append(out, labels, count);
        mg_buf_append_text(out, "\"])\n");
    }
    return count > 0;
}

static void mermaid_edge_write(const struct mg_workflow *workflow, const struct mg_graph_edge *edge,
                               struct mg_buf *out)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int count = mg_graph_guards(workflow, edge->to, labels);
    mg_buf_printf(out, "    s%d %s", edge->from, edge->is_need ? "==>" : "-->");
    if (count > 0) {
        mg_buf_append_text(out, "|\"");
        labels_append(out, labels, count);
        mg_buf_append_text(out, "\"|");
    }
    mg_buf_printf(out, " s%d\n", edge->to);
}

void mg_graph_write_mermaid(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                            struct mg_buf *out)
{
    mg_buf_append_text(out, "flowchart TD\n");
    mermaid_comments_write(workflow, out);
    bool has_order = order_write(workflow, out);
    for (int i = 0; i < graph->step_count; i++) {
        bool is_pivot = workflow->plan.steps[i].is_pivot;
        mg_buf_printf(out, "    s%d%s\"", i, is_pivot ? "[[" : "[");
        node_label_append(out, workflow, i);
        mg_buf_printf(out, "\"%s\n", is_pivot ? "]]" : "]");
    }
    for (int i = 0; i < graph->step_count && has_order; i++) {
        if (workflow->plan.steps[i].after == 0) {
            mg_buf_printf(out, "    order --> s%d\n", i);
        }
    }
    for (int i = 0; i < graph->edge_count; i++) {
        mermaid_edge_write(workflow, &graph->edges[i], out);
    }
    for (int i = 0; i < graph->edge_count && shows_undo; i++) {
        if (workflow->plan.steps[graph->edges[i].to].has_undo) {
            mg_buf_printf(out, "    s%d -. undo .-> s%d\n", graph->edges[i].to, graph->edges[i].from);
        }
    }
}

/* ---- XML 1.0 ---- */

void mg_xml_append(struct mg_buf *out, struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '&':
            mg_buf_append_text(out, "&amp;");
            break;
        case '<':
            mg_buf_append_text(out, "&lt;");
            break;
        case '>':
            mg_buf_append_text(out, "&gt;");
            break;
        case '"':
            mg_buf_append_text(out, "&quot;");
            break;
        default:
            mg_buf_append(
                out, (unsigned char)text.data[i] < 0x20 && text.data[i] != '\n' ? " " : &text.data[i], 1);
        }
    }
}

/* ---- SVG ---- */

static const char SVG_HEAD[] =
    "<style>rect{fill:#fff;stroke:#345;stroke-width:1.5}text{font:13px sans-serif;fill:#123;text-anchor:middle}"
    ".service{font-size:11px;fill:#567}.line{font-size:10.5px;fill:#345}"
    ".ground{fill:#fff;stroke:none;fill-opacity:.85}"
    ".arrow{fill:none;stroke:#678;stroke-width:1.5;marker-end:url(#head)}.need{stroke-width:3}"
    ".clock{fill:none;stroke:#555;stroke-width:1.5}\n"
    ".undo{fill:none;stroke:#a50;stroke-width:1.5;stroke-dasharray:4 3;marker-start:url(#back)}</style>\n"
    "<defs><marker id=\"head\" markerUnits=\"userSpaceOnUse\" markerWidth=\"10\" markerHeight=\"10\" refX=\"9\" "
    "refY=\"5\" orient=\"auto\"><path d=\"M0 0L9 5L0 10z\" fill=\"#678\"/></marker>"
    "<marker id=\"back\" markerWidth=\"7\" markerHeight=\"6\" "
    "refX=\"0\" refY=\"3\" orient=\"auto\"><path d=\"M6 0L0 3L6 6z\" fill=\"#a50\"/></marker></defs>\n";

/* The curve leaves a box and enters the next one vertically. */
static void curve_write(struct mg_buf *out, int x1, int y1, int x2, int y2)
{
    int middle = (y1 + y2) / 2;
    mg_buf_printf(out, " C%d %d %d %d %d %d", x1, middle, x2, middle, x2, y2);
}

static void edge_draw(struct mg_buf *out, const struct mg_graph *graph, const struct mg_graph_edge *edge,
                      const char *kind, int shift)
{
    const struct mg_graph_spot *from = &graph->spots[edge->from], *to = &graph->spots[edge->to];
    int x = from->x + shift, y = from->y + from->height;
    mg_buf_printf(out, "<path class=\"%s\" d=\"M%d %d", kind, x, y);
    for (int i = 0; i < edge->bends; i++) {
        const struct mg_graph_spot *bend = &graph->spots[edge->bend + i];
        curve_write(out, x, y, bend->x + shift, bend->y);
        x = bend->x + shift;
        y = bend->y + bend->height;
        mg_buf_printf(out, " L%d %d", x, y);
    }
    curve_write(out, x, y, to->x + shift, to->y);
    mg_buf_append_text(out, "\"/>\n");
}

static void text_draw(struct mg_buf *out, int x, int y, const char *class, const char *name)
{
    size_t len = strlen(name);
    mg_buf_printf(out, "<text%s x=\"%d\" y=\"%d\">%.*s%s</text>\n", class, x, y,
                  len > NAME_SHOWN ? NAME_SHOWN - 1 : (int)len, name, len > NAME_SHOWN ? "…" : "");
}

/* A condition, with the whole of it as tooltip. */
static void line_draw(struct mg_buf *out, int x, int y, const struct mg_graph_label *label)
{
    char text[MG_GRAPH_LABEL_SIZE];
    mg_graph_label_cut(label, text);
    mg_buf_printf(out, "<g><title>%s ", label->word);
    mg_xml_append(out, label->whole);
    mg_buf_printf(out, "</title><text class=\"line\" x=\"%d\" y=\"%d\">", x, y);
    mg_xml_append(out, mg_slice_of(text));
    mg_buf_append_text(out, "</text></g>\n");
}

/* The guards stand where the arrows come in. */
static void guards_draw(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_graph *graph,
                        int step)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int count = mg_graph_guards(workflow, step, labels);
    int x = graph->spots[step].x, top = graph->spots[step].y - MG_GRAPH_HEAD - count * MG_GRAPH_LINE;
    if (count > 0) {
        mg_buf_printf(out, "<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                      x - MG_GRAPH_BOX_WIDTH / 2, top, MG_GRAPH_BOX_WIDTH, count * MG_GRAPH_LINE);
    }
    for (int i = 0; i < count; i++) {
        line_draw(out, x, top + i * MG_GRAPH_LINE + 12, &labels[i]);
    }
}

static void box_draw(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_graph *graph,
                     int step)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int x = graph->spots[step].x, left = x - MG_GRAPH_BOX_WIDTH / 2, y = graph->spots[step].y;
    int height = graph->spots[step].height;
    bool is_wait = workflow->plan.steps[step].is_wait;
    mg_buf_printf(out, "<g><title>%s: %s%s%s</title>\n", workflow->steps[step].name,
                  is_wait ? "" : "service ", mg_workflow_place(workflow, step),
                  workflow->plan.steps[step].is_pivot ? ", pivot" : "");
    mg_buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", left, y,
                  MG_GRAPH_BOX_WIDTH, height);
    if (workflow->plan.steps[step].is_pivot) { /* a second line marks the point of no return */
        mg_buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", left + 4, y + 4,
                      MG_GRAPH_BOX_WIDTH - 8, height - 8);
    }
    text_draw(out, x, y + 20, "", workflow->steps[step].name);
    text_draw(out, x, y + 36, " class=\"service\"", mg_workflow_place(workflow, step));
    if (is_wait) { /* a clock */
        mg_buf_printf(
            out,
            "<g class=\"clock\"><circle cx=\"%d\" cy=\"%d\" r=\"7\"/><path d=\"M%d %dv-5m0 5h4\"/></g>\n",
            left + 14, y + 14, left + 14, y + 14);
    }
    int count = mg_graph_answers(workflow, step, labels);
    for (int i = 0; i < count; i++) {
        line_draw(out, x, y + 52 + i * MG_GRAPH_LINE, &labels[i]);
    }
    mg_buf_append_text(out, "</g>\n");
}

static void order_draw(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_graph *graph)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int count = mg_graph_guards(workflow, MG_STEP_OF_ORDER, labels);
    for (int i = 0; i < count; i++) {
        line_draw(out, graph->width / 2, MG_GRAPH_MARGIN + 12, &labels[i]);
    }
}

void mg_graph_write_svg(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out)
{
    mg_buf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "role=\"img\">\n<title>Workflow %s, version %lld</title>\n",
        graph->width, graph->height, graph->width, graph->height, workflow->name,
        (long long)workflow->version);
    mg_buf_append_text(out, SVG_HEAD);
    order_draw(out, workflow, graph);
    for (int i = 0; i < graph->edge_count; i++) {
        edge_draw(out, graph, &graph->edges[i], graph->edges[i].is_need ? "arrow need" : "arrow", 0);
        if (shows_undo && workflow->plan.steps[graph->edges[i].to].has_undo) {
            edge_draw(out, graph, &graph->edges[i], "undo", 10);
        }
    }
    for (int i = 0; i < graph->step_count; i++) {
        guards_draw(out, workflow, graph, i);
        box_draw(out, workflow, graph, i);
    }
    mg_buf_append_text(out, "</svg>\n");
}
