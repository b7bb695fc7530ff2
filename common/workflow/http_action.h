/*
 * Those members of an action that let a step call a service that was not built for Makegood: query, headers,
 * encode, accept, response. Private to common/workflow.
 */
#ifndef MG_WORKFLOW_HTTP_ACTION_H
#define MG_WORKFLOW_HTTP_ACTION_H

#include "base/json_write.h"
#include "json/reader.h"
#include "workflow/workflow.h"

#define MG_QUERY_MAX 32 /* parameters; the path's own bound is their length in all */

/* http_action_read.c */
void mg_reach_read(const struct mg_json_object *object, struct mg_arena *arena, struct mg_action *ret_action);

/* http_action_render.c. Appends the query to a rendered path. */
enum mg_class mg_reach_render_query(const struct mg_template *query, const struct mg_template_values *values,
                                    struct mg_buf *ret_path, struct mg_err *err) MG_MUSTCHECK;
/* True if the request has members that a reader of version 1 would pass over. */
bool mg_reach_is_used(const struct mg_action *action);
/* Writes the members headers, content_type, response and, unless it is JSON, body. */
enum mg_class mg_reach_render(const struct mg_action *action, const struct mg_template_values *values,
                              struct mg_json_writer *json, struct mg_err *err) MG_MUSTCHECK;

#endif
