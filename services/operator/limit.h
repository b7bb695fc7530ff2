/* Limits of a service as operators write them. */
#ifndef MG_OPERATOR_LIMIT_H
#define MG_OPERATOR_LIMIT_H

#include <stdbool.h>

/* Reads a limit for struct mg_service_setting: NULL for NULL and "", "0" for "none", else `text` itself.
 * False: it is not a number above 0 and up to `max`, or it has a fraction although `is_whole`. */
bool mg_limit_parse(const char *text, bool is_whole, double max, const char **ret_limit);

#endif
