/* The state of a check of JSON text. Private to json.c and json_scalar.c. */
#ifndef MG_WIRE_JSON_CHECK_H
#define MG_WIRE_JSON_CHECK_H

#include "wire/json_scan.h"

#define MG_CHECK_NAMES_FEW 64 /* of all open objects together: a usual message needs no allocation */

enum mg_check_fault {
    MG_FAULT_NONE,
    MG_FAULT_SYNTAX,
    MG_FAULT_END,
    MG_FAULT_MORE,
    MG_FAULT_UTF8,
    MG_FAULT_NUL,
    MG_FAULT_NUL_ESCAPE,
    MG_FAULT_SURROGATE,
    MG_FAULT_TWICE,
    MG_FAULT_RANGE,
    MG_FAULT_DEPTH,
    MG_FAULT_MEMBERS,
    MG_FAULT_MEMORY,
};

struct mg_check_name {
    struct mg_slice quoted;
    bool has_escapes;
};

struct mg_check {
    const char *at, *end; /* after a fault: `at` is its place */
    const struct mg_json_limits *limits;
    int depth, members;
    struct mg_check_name few[MG_CHECK_NAMES_FEW], *names; /* of the open objects, the innermost's last */
    size_t name_count, name_capacity;
};

/* Each begins at the value's first character. Without a fault, `at` is behind the value afterwards. */

/* From the opening quote to behind the closing one. */
enum mg_check_fault mg_check_string(struct mg_check *check, bool *ret_has_escapes);
/* From a minus or a digit. */
enum mg_check_fault mg_check_number(struct mg_check *check);

#endif
