/* The check of JSON text in its parts, for json.c and the second reader of definitions, mend.c. */
#ifndef MG_JSON_VALIDATOR_H
#define MG_JSON_VALIDATOR_H

#include "json/place.h"
#include "json/scan.h"

#define MG_CHECK_NAMES_FEW 64 /* of all open objects together: a usual message needs no allocation */

enum mg_check_fault {
    MG_FAULT_NONE,
    MG_FAULT_EMPTY,
    MG_FAULT_BYTES,
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

/* The memory of names. False: there is none for one more. */
void mg_check_names_begin(struct mg_check *check);
bool mg_check_keep_name(struct mg_check *check, struct mg_check_name name);
void mg_check_names_end(struct mg_check *check);
bool mg_check_is_same_name(const struct mg_check_name *a, const struct mg_check_name *b);

#define MG_CHECK_EXPLANATION_SIZE 128
/* The fault with its remedy. */
const char *mg_check_explain(const struct mg_check *check, enum mg_check_fault fault,
                             char ret_text[MG_CHECK_EXPLANATION_SIZE]);

/* mend.c: reports all mistakes of a definition that mg_json_check has refused. */
void mg_json_check_all(struct mg_slice text, const struct mg_json_limits *limits,
                       void (*report)(void *arg, const char *at, const char *text), void *arg);

/* Each begins at the value's first character. Without a fault, `at` is after the value afterwards. */

/* From the opening quote to after the closing one. */
enum mg_check_fault mg_check_string(struct mg_check *check, bool *ret_has_escapes);
/* From a minus or a digit. */
enum mg_check_fault mg_check_number(struct mg_check *check);

#endif
