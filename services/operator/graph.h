/*
 * The picture of a workflow: its steps in layers from top to bottom, each below all steps before it. The tool
 * prints it (`workflow draw`), and the console shows it on the page of an order. Pure: the same definition
 * gives the same picture.
 */
#ifndef MG_OPERATOR_GRAPH_H
#define MG_OPERATOR_GRAPH_H

#include "base/json_write.h"
#include "wire/workflow.h"

/* Pixels of the picture. A box holds a name of about 20 characters; longer ones are cut with an ellipsis. */
#define MG_GRAPH_BOX_WIDTH  176
#define MG_GRAPH_BOX_HEIGHT 46
#define MG_GRAPH_GAP_X      24 /* between boxes of one layer */
#define MG_GRAPH_GAP_Y      40 /* between layers: room for the arrows */
#define MG_GRAPH_MARGIN     12

/* Steps, and the points at which long arrows pass the layers between their ends. 64 steps in a usual shape
 * need fewer; arrows beyond the limit are straight. */
#define MG_GRAPH_SPOTS_MAX 1024
/* Arrows that say something: one that follows from others is left out. At most a quarter of the square of
 * the steps can remain (Mantel 1907: a graph without triangles). */
#define MG_GRAPH_EDGES_MAX (MG_STEPS_MAX * MG_STEPS_MAX / 4)

struct mg_graph_spot {
    int layer;
    int place; /* in its layer, from the left */
    int x, y;  /* the middle of its upper side */
};

struct mg_graph_edge {
    int from, to;    /* steps */
    int bend, bends; /* its first point in `spots`, and their number */
};

struct mg_graph {
    int step_count, layer_count, spot_count, edge_count;
    int width, height;
    struct mg_graph_spot spots[MG_GRAPH_SPOTS_MAX]; /* the first step_count are the steps */
    struct mg_graph_edge edges[MG_GRAPH_EDGES_MAX];
};

void mg_graph_lay_out(const struct mg_workflow *workflow, struct mg_graph *ret_graph);

/* Writes {"width", "height", "nodes": [{"step", "service", "x", "y", "is_pivot", "has_undo"}, …],
 * "edges": [{"from", "to", "points": [[x, y], …]}, …]}. The steps stand in the definition's order. */
void mg_graph_write_json(const struct mg_workflow *workflow, const struct mg_graph *graph,
                         struct mg_json_writer *json);

/* Texts for other programs and for documents. With `shows_undo` dashed arrows show the way back. */
void mg_graph_write_mermaid(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                            struct mg_buf *out);
void mg_graph_write_dot(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out);
/* A whole SVG 1.1 document, without scripts and references. */
void mg_graph_write_svg(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out);

#endif
