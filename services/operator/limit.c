/* See limit.h. */
#include "operator/limit.h"

#include <stdlib.h>
#include <string.h>

bool mg_limit_parse(const char *text, bool is_whole, double max, const char **ret_limit)
{
    bool is_given = text != NULL && text[0] != '\0';
    if (!is_given || strcmp(text, "none") == 0) {
        *ret_limit = is_given ? "0" : NULL;
        return true;
    }
    char *end = NULL;
    size_t digits = strspn(text, is_whole ? "0123456789" : "0123456789.");
    double number = strtod(text, &end);
    *ret_limit = text;
    return digits > 0 && text[digits] == '\0' && *end == '\0' && number > 0 && number <= max;
}
