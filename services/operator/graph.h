/*
 * The picture of a workflow: its steps in layers from top to bottom, each below all steps before it. The tool
 * prints it (`workflow draw`), and the console shows it on the page of an order. Pure: the same definition
 * gives the same picture.
 */
#ifndef MG_OPERATOR_GRAPH_H
#define MG_OPERATOR_GRAPH_H

#include "base/json_write.h"
#include "workflow/workflow.h"

/* Pixels of the picture. A box holds a name of about 20 characters; longer ones are cut with an ellipsis. */
#define MG_GRAPH_BOX_WIDTH  200
#define MG_GRAPH_BOX_HEIGHT 46 /* without lines */
#define MG_GRAPH_LINE       16 /* of a condition: above a box its guards, in it the meaning of answers */
#define MG_GRAPH_GAP_X      24 /* between boxes of one layer */
#define MG_GRAPH_GAP_Y      40 /* between layers: room for the arrows */
#define MG_GRAPH_HEAD       12 /* of an arrow, which the lines above a box leave free */
#define MG_GRAPH_MARGIN     12

/* Steps, and the points at which long arrows pass the layers between their ends. 64 steps in a usual shape
 * need fewer; arrows beyond the limit are straight. */
#define MG_GRAPH_SPOTS_MAX 1024
/* Arrows that say something: one that follows from others is left out, unless it is one of `needs`. */
#define MG_GRAPH_EDGES_MAX (MG_STEPS_MAX * (MG_STEPS_MAX - 1) / 2)

/* A condition in a picture is cut at a character; the whole stands in a tooltip or a comment. */
#define MG_GRAPH_LABEL_SHOWN 32 /* bytes: the width of a box, in a smaller script */
#define MG_GRAPH_LABEL_SIZE  (MG_GRAPH_LABEL_SHOWN + 8)
#define MG_GRAPH_LABELS_MAX  4 /* a wait for a signal: its name, its time, and the meaning of the signal */

struct mg_graph_label {
    const char *word; /* "when", "require", "done when", "for signal", "fails after" */
    struct mg_slice whole;
    int more; /* further ones of the same word */
};

struct mg_graph_spot {
    int layer;
    int place; /* in its layer, from the left */
    int x, y;  /* the middle of its upper side */
    int height;
};

struct mg_graph_edge {
    int from, to;    /* steps */
    int bend, bends; /* its first point in `spots`, and their number */
    bool is_need;    /* without `from` there is no `to` */
};

struct mg_graph {
    int step_count, layer_count, spot_count, edge_count;
    int width, height;
    struct mg_graph_spot spots[MG_GRAPH_SPOTS_MAX]; /* the first step_count are the steps */
    struct mg_graph_edge edges[MG_GRAPH_EDGES_MAX];
};

void mg_graph_lay_out(const struct mg_workflow *workflow, struct mg_graph *ret_graph);

/* Lines of a step (MG_STEP_OF_ORDER: of the order itself), and their number. */
int mg_graph_guards(const struct mg_workflow *workflow, int step,
                    struct mg_graph_label ret_labels[MG_GRAPH_LABELS_MAX]);
int mg_graph_answers(const struct mg_workflow *workflow, int step,
                     struct mg_graph_label ret_labels[MG_GRAPH_LABELS_MAX]);
void mg_graph_label_cut(const struct mg_graph_label *label, char ret[MG_GRAPH_LABEL_SIZE]);

/* Writes one object. The steps stand in the definition's order; the lines of guards end MG_GRAPH_HEAD above
 * the box; the guards of the whole are those of the order itself.
 *
 * | object | members                                                                                    |
 * |--------|--------------------------------------------------------------------------------------------|
 * | whole  | width height box_width line guards: [label, …] nodes: [node, …] edges: [edge, …]           |
 * | node   | step service x y height is_pivot has_undo guards: [label, …] answers: [label, …]           |
 * | edge   | from to is_need points: [[x, y], …]                                                        |
 * | label  | text (cut) word whole                                                                      |
 */
void mg_graph_write_json(const struct mg_workflow *workflow, const struct mg_graph *graph,
                         struct mg_json_writer *json);

/* A text for other programs and for documents. With `shows_undo` dashed arrows show the way back. */
void mg_graph_write_mermaid(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                            struct mg_buf *out);
/* Appends UTF-8 text for XML 1.0, also as the value of an attribute in double quotes. XML has no way to write
 * most control characters; they become blanks, except for a line's end. */
void mg_xml_append(struct mg_buf *out, struct mg_slice text);
/* A whole SVG 1.1 document, without scripts and references. */
void mg_graph_write_svg(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out);

#endif
