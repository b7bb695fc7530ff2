/* The forms of the picture. Names of steps and services are [a-z0-9_-] and need no escaping. See graph.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "operator/graph.h"

/* Characters of a name that fit into a box. */
#define NAME_SHOWN 22

static void put(struct mg_buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct mg_buf *out, const char *format, ...)
{
    char line[512]; /* the longest line holds two names and numbers */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    mg_buf_append_text(out, line);
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
    point_write(json, from->x, from->y + MG_GRAPH_BOX_HEIGHT);
    for (int i = 0; i < edge->bends; i++) {
        const struct mg_graph_spot *bend = &graph->spots[edge->bend + i];
        point_write(json, bend->x, bend->y);
        point_write(json, bend->x, bend->y + MG_GRAPH_BOX_HEIGHT);
    }
    point_write(json, to->x, to->y);
    mg_json_array_end(json);
}

static void node_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                       const struct mg_graph *graph, int step)
{
    mg_json_element_object(json);
    mg_json_member_word(json, "step", workflow->steps[step].name);
    mg_json_member_word(json, "service", workflow->steps[step].service);
    mg_json_member_int(json, "x", graph->spots[step].x);
    mg_json_member_int(json, "y", graph->spots[step].y);
    mg_json_member_bool(json, "is_pivot", workflow->plan.steps[step].is_pivot);
    mg_json_member_bool(json, "has_undo", workflow->plan.steps[step].has_undo);
    mg_json_object_end(json);
}

void mg_graph_write_json(const struct mg_workflow *workflow, const struct mg_graph *graph,
                         struct mg_json_writer *json)
{
    mg_json_object_begin(json);
    mg_json_member_int(json, "width", graph->width);
    mg_json_member_int(json, "height", graph->height);
    mg_json_member_int(json, "box_width", MG_GRAPH_BOX_WIDTH);
    mg_json_member_int(json, "box_height", MG_GRAPH_BOX_HEIGHT);
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
        points_write(json, graph, &graph->edges[i]);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

/* ---- Mermaid and DOT: numbers as identifiers, because names such as "end" are words of theirs ---- */

void mg_graph_write_mermaid(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                            struct mg_buf *out)
{
    put(out, "flowchart TD\n");
    for (int i = 0; i < graph->step_count; i++) {
        bool is_pivot = workflow->plan.steps[i].is_pivot;
        put(out, "    s%d%s\"%s<br/>%s\"%s\n", i, is_pivot ? "[[" : "[", workflow->steps[i].name,
            workflow->steps[i].service, is_pivot ? "]]" : "]");
    }
    for (int i = 0; i < graph->edge_count; i++) {
        put(out, "    s%d --> s%d\n", graph->edges[i].from, graph->edges[i].to);
    }
    for (int i = 0; i < graph->edge_count && shows_undo; i++) {
        if (workflow->plan.steps[graph->edges[i].to].has_undo) {
            put(out, "    s%d -. undo .-> s%d\n", graph->edges[i].to, graph->edges[i].from);
        }
    }
}

void mg_graph_write_dot(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out)
{
    put(out, "digraph \"%s\" {\n    node [shape=box];\n", workflow->name);
    for (int i = 0; i < graph->step_count; i++) {
        put(out, "    s%d [label=\"%s\\n%s\"%s];\n", i, workflow->steps[i].name, workflow->steps[i].service,
            workflow->plan.steps[i].is_pivot ? ", peripheries=2" : "");
    }
    for (int i = 0; i < graph->edge_count; i++) {
        put(out, "    s%d -> s%d;\n", graph->edges[i].from, graph->edges[i].to);
    }
    for (int i = 0; i < graph->edge_count && shows_undo; i++) {
        if (workflow->plan.steps[graph->edges[i].to].has_undo) {
            put(out, "    s%d -> s%d [style=dashed, label=\"undo\", constraint=false];\n", graph->edges[i].to,
                graph->edges[i].from);
        }
    }
    put(out, "}\n");
}

/* ---- SVG ---- */

static const char SVG_HEAD[] =
    "<style>rect{fill:#fff;stroke:#345;stroke-width:1.5}text{font:13px sans-serif;fill:#123;text-anchor:middle}"
    ".service{font-size:11px;fill:#567}.arrow{fill:none;stroke:#678;stroke-width:1.5;marker-end:url(#head)}"
    ".undo{fill:none;stroke:#a50;stroke-width:1.5;stroke-dasharray:4 3;marker-start:url(#back)}</style>\n"
    "<defs><marker id=\"head\" markerWidth=\"7\" markerHeight=\"6\" refX=\"6\" refY=\"3\" orient=\"auto\">"
    "<path d=\"M0 0L6 3L0 6z\" fill=\"#678\"/></marker><marker id=\"back\" markerWidth=\"7\" markerHeight=\"6\" "
    "refX=\"0\" refY=\"3\" orient=\"auto\"><path d=\"M6 0L0 3L6 6z\" fill=\"#a50\"/></marker></defs>\n";

/* The curve leaves a box and enters the next one vertically. */
static void curve_write(struct mg_buf *out, int x1, int y1, int x2, int y2)
{
    int middle = (y1 + y2) / 2;
    put(out, " C%d %d %d %d %d %d", x1, middle, x2, middle, x2, y2);
}

static void edge_draw(struct mg_buf *out, const struct mg_graph *graph, const struct mg_graph_edge *edge,
                      const char *kind, int shift)
{
    const struct mg_graph_spot *from = &graph->spots[edge->from], *to = &graph->spots[edge->to];
    int x = from->x + shift, y = from->y + MG_GRAPH_BOX_HEIGHT;
    put(out, "<path class=\"%s\" d=\"M%d %d", kind, x, y);
    for (int i = 0; i < edge->bends; i++) {
        const struct mg_graph_spot *bend = &graph->spots[edge->bend + i];
        curve_write(out, x, y, bend->x + shift, bend->y);
        x = bend->x + shift;
        y = bend->y + MG_GRAPH_BOX_HEIGHT;
        put(out, " L%d %d", x, y);
    }
    curve_write(out, x, y, to->x + shift, to->y);
    put(out, "\"/>\n");
}

static void text_draw(struct mg_buf *out, int x, int y, const char *class, const char *name)
{
    size_t len = strlen(name);
    put(out, "<text%s x=\"%d\" y=\"%d\">%.*s%s</text>\n", class, x, y,
        len > NAME_SHOWN ? NAME_SHOWN - 1 : (int)len, name, len > NAME_SHOWN ? "…" : "");
}

static void box_draw(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_graph *graph,
                     int step)
{
    int x = graph->spots[step].x, left = x - MG_GRAPH_BOX_WIDTH / 2, y = graph->spots[step].y;
    put(out, "<g><title>%s: service %s%s</title>\n", workflow->steps[step].name,
        workflow->steps[step].service, workflow->plan.steps[step].is_pivot ? ", pivot" : "");
    put(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", left, y, MG_GRAPH_BOX_WIDTH,
        MG_GRAPH_BOX_HEIGHT);
    if (workflow->plan.steps[step].is_pivot) { /* a second line marks the point of no return */
        put(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", left + 4, y + 4,
            MG_GRAPH_BOX_WIDTH - 8, MG_GRAPH_BOX_HEIGHT - 8);
    }
    text_draw(out, x, y + 20, "", workflow->steps[step].name);
    text_draw(out, x, y + 36, " class=\"service\"", workflow->steps[step].service);
    put(out, "</g>\n");
}

void mg_graph_write_svg(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out)
{
    put(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "role=\"img\">\n<title>Workflow %s, version %lld</title>\n",
        graph->width, graph->height, graph->width, graph->height, workflow->name,
        (long long)workflow->version);
    mg_buf_append_text(out, SVG_HEAD);
    for (int i = 0; i < graph->edge_count; i++) {
        edge_draw(out, graph, &graph->edges[i], "arrow", 0);
        if (shows_undo && workflow->plan.steps[graph->edges[i].to].has_undo) {
            edge_draw(out, graph, &graph->edges[i], "undo", 10);
        }
    }
    for (int i = 0; i < graph->step_count; i++) {
        box_draw(out, workflow, graph, i);
    }
    put(out, "</svg>\n");
}
