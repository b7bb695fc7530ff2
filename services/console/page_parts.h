/* Parts of the console's reports, shared by the files of its pages. */
#ifndef MG_CONSOLE_PAGE_PARTS_H
#define MG_CONSOLE_PAGE_PARTS_H

#include "console/console_parts.h"

#define MG_PAGE_STATUS_OK             200u
#define MG_PAGE_STATUS_NOT_FOUND      404u
#define MG_PAGE_TEXT_OF(number)       MG_PAGE_TEXT_AS_IT_IS(number) /* as text, for a report's parameter */
#define MG_PAGE_TEXT_AS_IT_IS(number) #number
/* Rows of a page; further rows follow its cursor. */
#define MG_PAGE_ROWS 50

typedef unsigned int mg_page_render_fn(const struct mg_query *query, const struct mg_table *tables,
                                       struct mg_buf *out);

void mg_page_begin(struct mg_query *query, const char *name, mg_page_render_fn *render);
/* Adds a report with its parameters (NULL-ended), which become part of the key. Each parameter has passed
 * mg_page_param_read or is a constant. */
void mg_page_add(struct mg_query *query, enum mg_report report, const char *const *params);
/* Reads a parameter of the request; "" if it is absent. False: it is too long or invalid. */
bool mg_page_param_read(const struct mg_http_exchange *request, const char *name, const char **ret_text,
                        char ret_refusal[MG_REFUSAL_SIZE]);
/* Writes a table as an array, and the one cell of a table that is JSON already. */
void mg_page_array_write(struct mg_json_writer *json, const char *name, const struct mg_table *table,
                         const char *const *quoted);
void mg_page_raw_write(struct mg_json_writer *json, const char *name, const struct mg_table *table,
                       const char *column);
/* Writes the members of a page of orders: {"orders", "looked_at", "is_full", "back_to", "next"}. */
void mg_page_orders_write(struct mg_json_writer *json, const struct mg_table *page);

#endif
