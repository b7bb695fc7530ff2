/*
 * The services of a simulation, as their orders meet them. Each remembers its keys, as a good service does:
 * one answer for each key, and none for one that it has not seen. Agents are their own code: meaning of an
 * answer, tries and breaker; each service has one.
 */
#ifndef MG_REHEARSE_PLAYED_SERVICE_H
#define MG_REHEARSE_PLAYED_SERVICE_H

#include "profile.h"
#include "service/service.h"
#include "serving/tries.h"

/* A call, as its agent sees it end. */
enum mg_call_end {
    MG_CALL_END_DONE,
    MG_CALL_END_ACCEPTED, /* 202: it works on it */
    MG_CALL_END_ABSENT,   /* 404: it has no such key */
    MG_CALL_END_FAILED,   /* 503 */
    MG_CALL_END_REFUSED,  /* 422 */
    MG_CALL_END_BROKEN,   /* the connection broke after the service had handled it */
    MG_CALL_END_TIMEOUT,
    MG_CALL_END_UNREACHABLE,
    MG_CALL_END_COUNT
};

/* The service's record of the key of one step of one order. */
struct mg_key_record {
    enum {
        MG_KEY_UNKNOWN,
        MG_KEY_WORKING,
        MG_KEY_STANDS,
        MG_KEY_REFUSED,
        MG_KEY_UNDOING,
        MG_KEY_UNDONE
    } state;
    int64_t until_ms;                 /* the end of its work */
    bool is_drawn, refuses;           /* whether it refuses the do */
    bool is_undo_drawn, refuses_undo; /* and the undo */
};

/* The call that an agent has under way for a step, with the knowledge from the tries before. */
struct mg_agent_call {
    uint32_t attempt;
    enum mg_kind kind;
    bool asks_undone; /* a verify of the undo */
    int64_t complete_by_ms;
    struct mg_tries tries;
    enum mg_call_end last; /* of its last try */
    enum mg_executed executed;
    bool is_probe, is_out, is_never_made;
    uint32_t ticket; /* of the breaker */
};

/* The meaning of each end, by mg_classify_answer with the service's own file. */
struct mg_meanings {
    struct mg_verdict_of_try ends[MG_CALL_COUNT][MG_CALL_END_COUNT];
};
void mg_meanings_make(const struct mg_workflow *workflow, int step, const struct mg_service *service,
                      struct mg_meanings *ret);

/* Handles a call at the service, which is up. `is_late`: its agent has given it up. */
enum mg_call_end mg_key_handle(struct mg_key_record *key, const struct mg_habit *habit,
                               const struct mg_agent_call *call, bool is_late, int64_t now_ms,
                               uint64_t *stream);

bool mg_outages_have(const struct mg_outages *outages, int64_t at_ms);

#endif
