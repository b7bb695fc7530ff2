/* The picture of an order's workflow, for its page. */
#include <stdlib.h>

#include "console/server.h"
#include "operator/graph.h"

void mg_picture_write(struct mg_json_writer *json, struct mg_slice definition)
{
    struct mg_workflow *workflow = NULL;
    struct mg_graph *graph = malloc(sizeof(*graph));
    struct mg_err err;
    if (graph != NULL && mg_workflow_parse(definition, NULL, &workflow, &err) == MG_OK) {
        mg_graph_lay_out(workflow, graph);
        mg_json_name(json, "graph");
        mg_graph_write_json(workflow, graph, json);
    } else {
        mg_json_member_null(json, "graph");
    }
    mg_workflow_destroy(workflow);
    free(graph);
}
