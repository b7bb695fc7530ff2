/*
 * Two JSON texts compared by meaning: blanks, escapes and the order of members do not count, and every digit
 * of a number does (14.0 is not 14.00, since a service may tell them apart).
 */
#ifndef MG_JSON_DIFFER_H
#define MG_JSON_DIFFER_H

#include "json/json.h"

enum mg_json_differ_how {
    MG_DIFFER_WHOLE, /* every member */
    MG_DIFFER_NAMED, /* of the outermost object only the members that `expected` names */
};

/* Calls `seen` for each difference, with the pointer of its place after `pointer`. `expected` or `actual` is
 * absent where one side has no such member or element. Returns the number of differences. Both texts have
 * passed mg_json_check; an absent `actual` differs from everything. */
typedef void mg_json_difference_fn(void *arg, const char *pointer, struct mg_slice expected,
                                   struct mg_slice actual);
int mg_json_differ(struct mg_slice expected, struct mg_slice actual, const char *pointer,
                   enum mg_json_differ_how how, mg_json_difference_fn *seen, void *arg);

#endif
