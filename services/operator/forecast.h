/*
 * The next request of a step, or the end of its wait, and the consequences of a failure. Each is tried on a
 * copy, by the core's own decisions. It takes for given that services take requests, that guards let steps
 * go, and that every undo is done.
 */
#ifndef MG_OPERATOR_FORECAST_H
#define MG_OPERATOR_FORECAST_H

#include "core/model.h"

enum mg_coming {
    MG_COMING_NOTHING, /* only a person moves it, or it waits for another step */
    MG_COMING_REQUEST, /* a request goes out at `at_ms` */
    MG_COMING_GATE,    /* a request goes out as soon as the service takes one */
    MG_COMING_ANSWER,  /* the running request is answered, by `at_ms` at the latest */
    MG_COMING_SIGNAL,  /* a signal ends the wait, until `at_ms` at the latest */
    MG_COMING_MOMENT,  /* the wait ends at `at_ms` */
    MG_COMING_TURN,    /* the orders before it in its line end */
};

struct mg_coming_request {
    bool is_known; /* false: none follows */
    enum mg_kind kind;
    bool asks_undone; /* a verify is that of the undo */
    bool is_cooled;   /* a cool-down goes before it */
    /* The attempt's number by the policy of its direction, from 1; 0: the request counts as none. */
    uint32_t number, allowed;
};

/* The end that an order comes to. */
struct mg_ending {
    bool is_known;
    enum mg_order_state state; /* the client gets the status of this word */
    int undone[MG_STEPS_MAX];  /* the steps that are undone until then, in the order of their undos */
    int undone_count;
};

struct mg_forecast {
    enum mg_coming coming;
    int64_t at_ms; /* 0: no moment is set */
    struct mg_coming_request request;
    /* The one after it, if the service finds nothing, fails in a way that may pass, or gives no answer. */
    struct mg_coming_request again;
    struct mg_ending failed;    /* the service refuses, or a wait is over without its signal */
    struct mg_ending succeeded; /* it and all that follows succeed */
    int64_t expires_at_ms;      /* the order's time is over then; 0: that ends nothing any more */
    struct mg_ending expired;
    int64_t finish_at_ms; /* accepted work that is not finished then is given up; 0: none is polled */
    struct mg_ending unfinished;
};

/* The step that holds an order where it is. In error: one that needs a person; else the undo that moves
 * first, then a step in doubt, then one that waits, then one that runs. -1: none. */
int mg_forecast_step(const struct mg_order *order);
/* `context`: as now, with every gate open. */
void mg_forecast_find(const struct mg_plan *plan, const struct mg_context *context,
                      const struct mg_order *order, int step, struct mg_forecast *ret_forecast);
/* Attempts of a step's direction that its policy has counted: the failed ones since the last cool-down, and
 * one that runs or has succeeded. `ret_allowed`: of so many. */
uint32_t mg_forecast_counted(const struct mg_plan *plan, const struct mg_order *order, int step,
                             uint32_t *ret_allowed);

#endif
