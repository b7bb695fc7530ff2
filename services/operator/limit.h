/* Limits of a service as people write them. */
#ifndef MG_OPERATOR_LIMIT_H
#define MG_OPERATOR_LIMIT_H

#include <stdbool.h>

/* For struct mg_service_wish: NULL for NULL and "", "0" for "none", else the text itself. False: it is no
 * number above 0 and up to `max`, or not whole where it should be. */
bool limit_parse(const char *text, bool is_whole, double max, const char **ret_limit);

#endif
