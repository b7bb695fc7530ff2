/*
 * Cases of a workflow (proto/cases.schema.json): payloads, the answers of the services, signals, and the
 * expected ends. `makegood workflow test` runs them. Expectations stay JSON text: they are compared as such.
 */
#ifndef MG_WORKFLOW_CASE_FILE_H
#define MG_WORKFLOW_CASE_FILE_H

#include "core/model.h"
#include "json/reader.h"
#include "wire/command.h"
#include "workflow/workflow.h"

#define MG_CASES_MAX         1000 /* of one file: a second of work */
#define MG_CASES_MAX_BYTES   (4 * 1024 * 1024)
#define MG_CASE_NAME_MAX     127
#define MG_CASE_SERVICES_MAX 64 /* as many as a workflow has steps */
/* A case lives in simulated time; the longest cool-downs and waits of a definition fit. */
#define MG_CASE_AFTER_MAX_MS (INT64_C(365) * 24 * 3600 * 1000)
/* 2026-01-01T00:00:00Z: cases that name no moment begin here, so that their bytes repeat. */
#define MG_CASE_ACCEPTED_AT_MS INT64_C(1767225600000)
/* 9000-01-01T00:00:00Z: the moments after it, of a case's messages, still have a year of four digits. */
#define MG_CASE_ACCEPTED_BEFORE_MS INT64_C(221845392000000)

/* How a call ends, if it has no answer. */
enum mg_case_fate {
    MG_FATE_ANSWERED,    /* with the status and the body */
    MG_FATE_TIMEOUT,     /* no answer in the call's time */
    MG_FATE_BROKEN,      /* the connection breaks after the request went out */
    MG_FATE_UNREACHABLE, /* there is no connection */
    MG_FATE_LOST,        /* the service acts, and the agent dies: no reply comes */
};

/* The answer to one call. */
struct mg_case_answer {
    struct mg_case_answer *next;
    int step;
    enum mg_kind kind;
    enum mg_case_fate fate;
    int status;
    struct mg_slice body;   /* absent: none */
    bool is_text;           /* the body is a JSON string, and the service sends its text as text/plain */
    int64_t after_ms;       /* between the call and its end */
    int64_t retry_after_ms; /* -1: none */
    char pointer[128];      /* its place in the file */
};

/* A signal that comes to the order. */
struct mg_case_signal {
    struct mg_case_signal *next;
    int64_t at_ms; /* since the acceptance */
    char name[MG_NAME_MAX + 1];
    char id[MG_ORDER_ID_MAX + 1];
    char by[MG_COMMAND_BY_MAX + 1]; /* an operator; "client": the order's own one; "client:NAME" */
    struct mg_slice payload;        /* absent: null */
    enum mg_signal_outcome answer;  /* expected; NONE: taken, kept or counted */
    char pointer[128];              /* its place in the file */
};

struct mg_case {
    char name[MG_CASE_NAME_MAX + 1];
    struct mg_slice payload;
    int64_t accepted_at_ms;         /* the submission's acceptance; the case begins there */
    struct mg_case_answer *answers; /* in the order of the file */
    struct mg_case_signal *signals; /* likewise */
    enum mg_order_state end;
    bool is_rejected; /* expected: the submission is refused */
    bool is_stuck;    /* expected: a step waits for an operator */
    /* Absent: not compared. */
    struct mg_slice steps, calls, requests, output, cause, labels;
    char pointer[64];
};

struct mg_cases {
    struct mg_slice text; /* owned; all slices are in it */
    struct mg_arena *arena;
    struct mg_slice services[MG_CASE_SERVICES_MAX]; /* quoted paths of service files */
    int service_count;
    struct mg_case_answer *defaults; /* for calls of a step and kind that a case has no answers for */
    struct mg_case *cases;
    int case_count;
    struct mg_slice uncovered; /* an object: branch and reason; absent: none */
};

/* Takes a copy of the text. MG_BAD_INPUT after all mistakes were passed to `mistakes`. `workflow` gives
 * the names of its steps; NULL: names are not checked. */
enum mg_class mg_cases_parse(struct mg_slice text, const struct mg_workflow *workflow,
                             const struct mg_mistakes *mistakes, struct mg_cases **ret_cases,
                             struct mg_err *err) MG_MUSTCHECK;
void mg_cases_destroy(struct mg_cases *cases); /* accepts NULL */

/* Reads the member "services", which profiles of simulations have, too. Returns the number of paths. */
int mg_service_paths_read(const struct mg_json_object *object,
                          struct mg_slice ret_paths[MG_CASE_SERVICES_MAX]);

#endif
