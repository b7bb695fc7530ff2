/* The state of a check of JSON text. Private to json.c, scalar.c and mend.c. */
#ifndef MG_JSON_VALIDATOR_H
#define MG_JSON_VALIDATOR_H

#include "json/place.h"
#include "json/scan.h"

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

struct mg_mender;

struct mg_check {
    const char *at, *end;     /* after a fault: `at` is its place */
    struct mg_mender *mender; /* NULL: the first fault ends the check */
    const struct mg_json_limits *limits;
    int depth, members;
    struct mg_check_name few[MG_CHECK_NAMES_FEW], *names; /* of the open objects, the innermost's last */
    size_t name_count, name_capacity;
};

/* ---- mending, mend.c: the check of a definition goes on after a mistake ---- */

#define MG_MEND_DEPTH_MAX 64 /* deeper than the limit of any definition */

struct mg_mender {
    struct mg_slice text;
    void (*report)(void *arg, const char *at, const char *text); /* a mistake, and its place */
    void *arg;
    int count;
    const char *lost;                    /* after an unclosed string: a comma may lie within it */
    const char *open[MG_MEND_DEPTH_MAX]; /* the brackets of the open containers */
};

/* The thing that the grammar needs at the place of a fault. */
enum mg_want { MG_WANT_NAME, MG_WANT_COLON, MG_WANT_VALUE, MG_WANT_MORE };
enum mg_mend {
    MG_MEND_NONE,   /* the fault stays, and ends the check */
    MG_MEND_AGAIN,  /* the obstacle is passed; the same is needed after it */
    MG_MEND_TAKEN,  /* as if the needed thing had been there */
    MG_MEND_CLOSED, /* as if the container's closing bracket were at `at` */
};

/* Each reports a mistake before it mends. Without a mender the fault stays. */
enum mg_mend mg_check_mend(struct mg_check *check, enum mg_want want);
/* True if the fault is a comma before the closing bracket, at `at`. */
bool mg_check_mend_comma(struct mg_check *check, char close);
/* The string or number from `begin` has this fault; `at` moves after it. */
enum mg_check_fault mg_check_mend_scalar(struct mg_check *check, const char *begin,
                                         enum mg_check_fault fault);
bool mg_check_mend_twice(struct mg_check *check, struct mg_slice first, struct mg_slice second);
/* The fault that ends the check. */
void mg_check_mend_end(struct mg_check *check, enum mg_check_fault fault, const char *explanation);

/* Reports all mistakes of a definition that mg_json_check refuses. */
void mg_json_check_all(struct mg_slice text, const struct mg_json_limits *limits,
                       void (*report)(void *arg, const char *at, const char *text), void *arg);

/* Each begins at the value's first character. Without a fault, `at` is after the value afterwards. */

/* From the opening quote to after the closing one. */
enum mg_check_fault mg_check_string(struct mg_check *check, bool *ret_has_escapes);
/* From a minus or a digit. */
enum mg_check_fault mg_check_number(struct mg_check *check);

#endif
