/* The run of one case, shared by the play itself and its judge. Private to services/rehearse. */
#ifndef MG_REHEARSE_PLAY_H
#define MG_REHEARSE_PLAY_H

#include "desk.h"
#include "rehearsal.h"

/* A call as a service would have received it. */
struct mg_call {
    struct mg_call *next;
    int step;
    enum mg_kind kind;
    struct mg_slice request; /* the member `request` of the message: method, path, body, … */
};

/* A reply or a signal on its way to the scheduler. */
struct mg_coming {
    struct mg_coming *next;
    int64_t at_ms;
    struct mg_slice body;                /* of a reply */
    const struct mg_case_signal *signal; /* NULL: a reply */
};

struct mg_play {
    const struct mg_workflow *workflow;
    const struct mg_cases *cases;
    const struct mg_case *one;
    const struct mg_service *const *services;
    struct mg_coverage *coverage;
    struct mg_rehearsal *rehearsal;
    struct mg_desk *desk;
    int64_t now_ms;
    struct mg_coming *coming; /* by time */
    struct mg_call *calls, **last_call;
    int taken[MG_STEPS_MAX][MG_KIND_COUNT]; /* answers */
    struct mg_slice output, cause, refusal; /* of the statuses; absent: none */
    bool is_rejected;
    bool lacks_answer; /* a call had no answer, and the play stopped there */
    bool has_failed;   /* no memory */
};

/* Puts a copy in its place by time, behind others of the same moment. */
void mg_play_await(struct mg_play *play, const struct mg_coming *coming);
void mg_play_fault(struct mg_play *play, const char *pointer, const char *format, ...) MG_PRINTF(3, 4);
/* Compares the end of the play with the expectations. */
void mg_play_judge(struct mg_play *play);

/* rehearsed_agent.c: makes the calls of a request, and puts the reply on its way. */
void mg_play_call(struct mg_play *play, int step, const struct mg_request *request);

#endif
