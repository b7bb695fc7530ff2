/* The layout: layers by the longest path, then four sweeps that put each spot near the middle of its
 * neighbours (Sugiyama, Tagawa, Toda 1981). See graph.h. */
#include "operator/graph.h"

#include <string.h>

#define SWEEPS 4
/* A point of a passing arrow takes less room than a box. */
#define BEND_WIDTH 28

static bool has_bit(uint64_t bits, int step)
{
    return (bits >> step & 1) != 0;
}

/* For each step, all steps before it, directly or not. */
static void find_before(const struct mg_plan *plan, uint64_t ret_before[MG_STEPS_MAX])
{
    for (int i = 0; i < plan->step_count; i++) {
        ret_before[i] = plan->steps[i].after;
    }
    for (bool has_grown = true; has_grown;) { /* bits are only added */
        has_grown = false;
        for (int i = 0; i < plan->step_count; i++) {
            uint64_t bits = ret_before[i];
            for (int j = 0; j < plan->step_count; j++) {
                bits |= has_bit(bits, j) ? ret_before[j] : 0;
            }
            has_grown = has_grown || bits != ret_before[i];
            ret_before[i] = bits;
        }
    }
}

static int bit_count(uint64_t bits)
{
    int count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

/* A step's layer is one below the lowest step before it. Steps with fewer steps before them come first. */
static void layers_find(const struct mg_plan *plan, const uint64_t before[MG_STEPS_MAX],
                        struct mg_graph *graph)
{
    graph->step_count = graph->spot_count = plan->step_count;
    for (int depth = 0; depth < plan->step_count; depth++) {
        for (int i = 0; i < plan->step_count; i++) {
            if (bit_count(before[i]) != depth) {
                continue;
            }
            int layer = 0;
            for (int j = 0; j < plan->step_count; j++) {
                if (has_bit(plan->steps[i].after, j) && graph->spots[j].layer >= layer) {
                    layer = graph->spots[j].layer + 1;
                }
            }
            graph->spots[i].layer = layer;
            graph->layer_count = layer >= graph->layer_count ? layer + 1 : graph->layer_count;
        }
    }
}

/* True if another step before `to` is after `from`: the arrow adds nothing. */
static bool is_implied(const struct mg_plan *plan, const uint64_t before[MG_STEPS_MAX], int from, int to)
{
    for (int k = 0; k < plan->step_count; k++) {
        if (k != from && has_bit(plan->steps[to].after, k) && has_bit(before[k], from)) {
            return true;
        }
    }
    return false;
}

static void edge_add(struct mg_graph *graph, int from, int to, bool is_need)
{
    int bends = graph->spots[to].layer - graph->spots[from].layer - 1;
    if (graph->spot_count + bends > MG_GRAPH_SPOTS_MAX) {
        bends = 0;
    }
    graph->edges[graph->edge_count++] = (struct mg_graph_edge){
        .from = from, .to = to, .bend = graph->spot_count, .bends = bends, .is_need = is_need};
    for (int i = 0; i < bends; i++) {
        graph->spots[graph->spot_count++].layer = graph->spots[from].layer + 1 + i;
    }
}

static void edges_find(const struct mg_plan *plan, const uint64_t before[MG_STEPS_MAX],
                       struct mg_graph *graph)
{
    for (int to = 0; to < plan->step_count; to++) {
        for (int from = 0; from < plan->step_count; from++) {
            bool is_need = has_bit(plan->steps[to].needs, from);
            bool is_shown = is_need || !is_implied(plan, before, from, to);
            if (has_bit(plan->steps[to].after, from) && is_shown && graph->edge_count < MG_GRAPH_EDGES_MAX) {
                edge_add(graph, from, to, is_need);
            }
        }
    }
}

/* ---- the order in each layer ---- */

/* The spots of each layer from left to right, layer after layer. */
struct rows {
    int first[MG_STEPS_MAX + 1];
    int spots[MG_GRAPH_SPOTS_MAX];
};

static void rows_fill(const struct mg_graph *graph, struct rows *rows)
{
    int count = 0;
    for (int layer = 0; layer < graph->layer_count; layer++) {
        rows->first[layer] = count;
        for (int i = 0; i < graph->spot_count; i++) {
            if (graph->spots[i].layer == layer) {
                rows->spots[count++] = i;
            }
        }
    }
    rows->first[graph->layer_count] = count;
}

static void places_number(const struct rows *rows, int layer, struct mg_graph *graph)
{
    for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
        graph->spots[rows->spots[i]].place = i - rows->first[layer];
    }
}

/* Point `index` of an arrow: 0 is its beginning, bends + 1 its end. */
static int spot_of(const struct mg_graph_edge *edge, int index)
{
    return index == 0 ? edge->from : index > edge->bends ? edge->to : edge->bend + index - 1;
}

/* For each spot of a layer the sum of its neighbours' places in the layer above (step -1) or below (1), in
 * thousandths, divided by their number; without neighbours its own place. */
static void middles_find(const struct mg_graph *graph, int layer, int step, int *ret_middles)
{
    int counts[MG_GRAPH_SPOTS_MAX] = {0}, sums[MG_GRAPH_SPOTS_MAX] = {0};
    for (int e = 0; e < graph->edge_count; e++) {
        const struct mg_graph_edge *edge = &graph->edges[e];
        for (int i = 0; i <= edge->bends; i++) {
            int upper = spot_of(edge, i), lower = spot_of(edge, i + 1);
            int here = step < 0 ? lower : upper, there = step < 0 ? upper : lower;
            if (graph->spots[here].layer == layer) {
                counts[here]++;
                sums[here] += graph->spots[there].place;
            }
        }
    }
    for (int i = 0; i < graph->spot_count; i++) {
        ret_middles[i] = counts[i] > 0 ? 1000 * sums[i] / counts[i] : 1000 * graph->spots[i].place;
    }
}

/* Insertion keeps the order of equal ones. */
static void layer_sort(struct rows *rows, int layer, const int *middles)
{
    for (int i = rows->first[layer] + 1; i < rows->first[layer + 1]; i++) {
        int spot = rows->spots[i], at = i;
        for (; at > rows->first[layer] && middles[rows->spots[at - 1]] > middles[spot]; at--) {
            rows->spots[at] = rows->spots[at - 1];
        }
        rows->spots[at] = spot;
    }
}

static void crossings_lessen(struct mg_graph *graph, struct rows *rows)
{
    int middles[MG_GRAPH_SPOTS_MAX];
    for (int layer = 0; layer < graph->layer_count; layer++) {
        places_number(rows, layer, graph);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int step = sweep % 2 == 0 ? -1 : 1;
        for (int i = 1; i < graph->layer_count; i++) {
            int layer = step < 0 ? i : graph->layer_count - 1 - i;
            middles_find(graph, layer, step, middles);
            layer_sort(rows, layer, middles);
            places_number(rows, layer, graph);
        }
    }
}

/* ---- coordinates ---- */

static int width_of(const struct mg_graph *graph, int spot)
{
    return spot < graph->step_count ? MG_GRAPH_BOX_WIDTH : BEND_WIDTH;
}

static int layer_width(const struct mg_graph *graph, const struct rows *rows, int layer)
{
    int width = -MG_GRAPH_GAP_X;
    for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
        width += width_of(graph, rows->spots[i]) + MG_GRAPH_GAP_X;
    }
    return width;
}

/* Lines above the boxes of a layer. */
static int layer_lines(const struct mg_workflow *workflow, const struct mg_graph *graph,
                       const struct rows *rows, int layer)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int lines = 0;
    for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
        int spot = rows->spots[i];
        int count = spot < graph->step_count ? mg_graph_guards(workflow, spot, labels) : 0;
        lines = count > lines ? count : lines;
    }
    return lines;
}

/* Of the highest box; a passing arrow is as long. */
static int layer_height(const struct mg_workflow *workflow, struct mg_graph *graph, const struct rows *rows,
                        int layer)
{
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int most = MG_GRAPH_BOX_HEIGHT;
    for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
        int spot = rows->spots[i];
        int lines = spot < graph->step_count ? mg_graph_answers(workflow, spot, labels) : 0;
        graph->spots[spot].height = MG_GRAPH_BOX_HEIGHT + lines * MG_GRAPH_LINE;
        most = graph->spots[spot].height > most ? graph->spots[spot].height : most;
    }
    for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
        struct mg_graph_spot *spot = &graph->spots[rows->spots[i]];
        spot->height = rows->spots[i] < graph->step_count ? spot->height : most;
    }
    return most;
}

static void spots_place(const struct mg_workflow *workflow, struct mg_graph *graph, const struct rows *rows)
{
    int widest = 0;
    for (int layer = 0; layer < graph->layer_count; layer++) {
        int width = layer_width(graph, rows, layer);
        widest = width > widest ? width : widest;
    }
    struct mg_graph_label labels[MG_GRAPH_LABELS_MAX];
    int y = MG_GRAPH_MARGIN + mg_graph_guards(workflow, MG_STEP_OF_ORDER, labels) * MG_GRAPH_LINE;
    for (int layer = 0; layer < graph->layer_count; layer++) {
        int lines = layer_lines(workflow, graph, rows, layer);
        /* Above the first layer there is no arrow's room. */
        y += lines * MG_GRAPH_LINE + (layer == 0 && lines > 0 ? MG_GRAPH_HEAD : 0);
        int x = MG_GRAPH_MARGIN + (widest - layer_width(graph, rows, layer)) / 2;
        for (int i = rows->first[layer]; i < rows->first[layer + 1]; i++) {
            struct mg_graph_spot *spot = &graph->spots[rows->spots[i]];
            spot->x = x + width_of(graph, rows->spots[i]) / 2;
            spot->y = y;
            x += width_of(graph, rows->spots[i]) + MG_GRAPH_GAP_X;
        }
        y += layer_height(workflow, graph, rows, layer) + MG_GRAPH_GAP_Y;
    }
    graph->width = widest + 2 * MG_GRAPH_MARGIN;
    graph->height = y - MG_GRAPH_GAP_Y + MG_GRAPH_MARGIN;
}

void mg_graph_lay_out(const struct mg_workflow *workflow, struct mg_graph *graph)
{
    uint64_t before[MG_STEPS_MAX];
    struct rows rows;
    memset(graph, 0, sizeof(*graph));
    find_before(&workflow->plan, before);
    layers_find(&workflow->plan, before, graph);
    edges_find(&workflow->plan, before, graph);
    rows_fill(graph, &rows);
    crossings_lessen(graph, &rows);
    spots_place(workflow, graph, &rows);
}
