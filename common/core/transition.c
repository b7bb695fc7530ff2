/*
 * The meaning of each event in each state: two tables, row by row, every cell written out. There is no
 * wildcard and no default: a new state or event fails the tables' test until each of its cells is written.
 *
 * DONE_SO  the order or step is already in the state to which the event leads
 * NOT_NOW  an operator's command that this state does not allow
 * NEVER    no correct run produces this pair: a bug, in Makegood or in the sender
 */
#include "core/transition.h"

#include <assert.h>

#define GO(next, effects, why)                                                                               \
    {                                                                                                        \
        MG_GO, MG_STEP_##next, effects, why                                                                  \
    }
#define DONE_SO(state, why)                                                                                  \
    {                                                                                                        \
        MG_DUPLICATE, MG_STEP_##state, 0, why                                                                \
    }
#define NOT_NOW(state, why)                                                                                  \
    {                                                                                                        \
        MG_REFUSED, MG_STEP_##state, 0, why                                                                  \
    }
#define NEVER(state, why)                                                                                    \
    {                                                                                                        \
        MG_IMPOSSIBLE, MG_STEP_##state, 0, why                                                               \
    }
#define ON(event) [MG_STEP_EVENT_##event]

static const struct mg_cell step_table[MG_STEP_STATE_COUNT][MG_STEP_EVENT_COUNT] =
    {
        [MG_STEP_PENDING] =
            {
                ON(DISPATCH) = GO(RUNNING, MG_CELL_REQUEST, "every step before it is done"),
                ON(PARK) = GO(WAITING, 0, "ready, but no request can go out now"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS, "the operator found an earlier attempt done"),
                ON(ACCEPT) = GO(WAITING, 0, "an earlier attempt was accepted; its polls go on"),
                ON(RETRY) = NEVER(PENDING, "no request has gone out"),
                ON(COOL_DOWN) = NEVER(PENDING, "no request has gone out"),
                ON(DOUBT) = GO(UNKNOWN, MG_CELL_ALERT, "an earlier attempt may have happened"),
                ON(FAIL) = NEVER(PENDING, "no request has gone out"),
                ON(SKIP) = GO(SKIPPED, 0, "its guard or the operator skips it"),
                ON(LAPSE) = GO(FAILED, 0, "its guard refuses it, or it is sent at most once and was"),
                ON(OPEN) = GO(WAITING, 0, "it waits, as its definition has it"),
                ON(ARRIVE) = NEVER(PENDING, "it has not begun to wait"),
                ON(CLEAR) = GO(PENDING, 0, "the operator found that it had not happened"),
                ON(REVIVE) = DONE_SO(PENDING, "it is at its beginning"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "an earlier attempt may have happened"),
                ON(ABANDON) = DONE_SO(PENDING, "it has done nothing"),
                ON(LEARN) = NEVER(PENDING, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(PENDING, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(PENDING, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(PENDING, "no undo is running"),
            },
        [MG_STEP_RUNNING] =
            {
                ON(DISPATCH) = NEVER(RUNNING, "an attempt is running"),
                ON(PARK) =
                    GO(WAITING, 0, "the attempt did not reach a service that works; it counts nothing"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS, "the service did it"),
                ON(ACCEPT) = GO(WAITING, 0, "the service works on it; a verify follows"),
                ON(RETRY) = GO(WAITING, 0, "it failed, and attempts are left"),
                ON(COOL_DOWN) = GO(WAITING, 0, "attempts are used up, a cool-down is left"),
                ON(DOUBT) = GO(UNKNOWN, MG_CELL_ALERT, "it may or may not have happened"),
                ON(FAIL) = GO(FAILED, 0, "it will not happen by itself any more"),
                ON(SKIP) = NOT_NOW(RUNNING, "an attempt is running; wait until it has answered or expired"),
                ON(LAPSE) = NEVER(RUNNING, "its guard was evaluated before it ran"),
                ON(OPEN) = NEVER(RUNNING, "an attempt is running"),
                ON(ARRIVE) = NEVER(RUNNING, "it is not open"),
                ON(CLEAR) = NOT_NOW(RUNNING, "an attempt is running; wait until it has answered or expired"),
                ON(REVIVE) = NOT_NOW(RUNNING, "an attempt is running"),
                ON(PLAN_UNDO) = NEVER(RUNNING, "undo does not overtake do"),
                ON(ABANDON) = NEVER(RUNNING, "a running attempt may still act"),
                ON(LEARN) = NEVER(RUNNING, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(RUNNING, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(RUNNING, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(RUNNING, "no undo is running"),
            },
        [MG_STEP_WAITING] =
            {
                ON(DISPATCH) = GO(RUNNING, MG_CELL_REQUEST, "its wait is over"),
                ON(PARK) = GO(WAITING, 0, "no request can go out yet"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS, "it is found done, by the operator or a late answer"),
                ON(ACCEPT) = NEVER(WAITING, "no attempt is running"),
                ON(RETRY) = NEVER(WAITING, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(WAITING, "no attempt is running"),
                ON(DOUBT) = NEVER(WAITING, "no attempt is running"),
                ON(FAIL) = NEVER(WAITING, "no attempt is running"),
                ON(SKIP) = GO(SKIPPED, 0, "its time is over, or the operator skips it"),
                ON(LAPSE) = GO(FAILED, 0, "no signal ended its wait in time, or one refused it"),
                ON(OPEN) = NEVER(WAITING, "it waits already"),
                ON(ARRIVE) = GO(DONE, MG_CELL_STATUS, "its moment or its signal has come"),
                ON(CLEAR) = GO(PENDING, 0, "the operator found that it had not happened"),
                ON(REVIVE) = GO(PENDING, 0, "the operator waits no longer"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "an attempt may have happened"),
                ON(ABANDON) = GO(PENDING, 0, "the order turns back and it has done nothing"),
                ON(LEARN) = NEVER(WAITING, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(WAITING, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(WAITING, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(WAITING, "no undo is running"),
            },
        [MG_STEP_UNKNOWN] =
            {
                ON(DISPATCH) = GO(RUNNING, MG_CELL_REQUEST, "a verify settles it"),
                ON(PARK) = GO(UNKNOWN, 0, "verify cannot go out yet"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS | MG_CELL_CLOSE_ALERT, "it is found done"),
                ON(ACCEPT) = NEVER(UNKNOWN, "no attempt is running"),
                ON(RETRY) = NEVER(UNKNOWN, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(UNKNOWN, "no attempt is running"),
                ON(DOUBT) = DONE_SO(UNKNOWN, "it is in doubt"),
                ON(FAIL) = NEVER(UNKNOWN, "no attempt is running"),
                ON(SKIP) = GO(SKIPPED, MG_CELL_CLOSE_ALERT, "the operator skips it"),
                ON(LAPSE) = NEVER(UNKNOWN, "its guard was evaluated before it ran"),
                ON(OPEN) = NEVER(UNKNOWN, "it has begun"),
                ON(ARRIVE) = NEVER(UNKNOWN, "it is not open"),
                ON(CLEAR) = GO(PENDING, MG_CELL_CLOSE_ALERT, "the operator found that it had not happened"),
                ON(REVIVE) = GO(PENDING, MG_CELL_CLOSE_ALERT, "the operator resumes it, by its policy"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, MG_CELL_CLOSE_ALERT, "it may have happened"),
                ON(ABANDON) = NEVER(UNKNOWN, "a step in doubt is undone, not abandoned"),
                ON(LEARN) = NEVER(UNKNOWN, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(UNKNOWN, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(UNKNOWN, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(UNKNOWN, "no undo is running"),
            },
        [MG_STEP_DONE] =
            {
                ON(DISPATCH) = NEVER(DONE, "it is done"),
                ON(PARK) = NEVER(DONE, "it is done"),
                ON(COMPLETE) = DONE_SO(DONE, "it is done"),
                ON(ACCEPT) = NEVER(DONE, "it is done"),
                ON(RETRY) = NEVER(DONE, "it is done"),
                ON(COOL_DOWN) = NEVER(DONE, "it is done"),
                ON(DOUBT) = NEVER(DONE, "it is done"),
                ON(FAIL) = NEVER(DONE, "it is done"),
                ON(SKIP) = NOT_NOW(DONE, "it is done"),
                ON(LAPSE) = NEVER(DONE, "it is done"),
                ON(OPEN) = NEVER(DONE, "it has begun"),
                ON(ARRIVE) = NEVER(DONE, "it is not open"),
                ON(CLEAR) = NOT_NOW(DONE, "it is proven done; have it undone instead"),
                ON(REVIVE) = GO(PENDING, 0, "the order starts again, and with it each wait"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "the order turns back"),
                ON(ABANDON) = NEVER(DONE, "a step that is done is undone, not abandoned"),
                ON(LEARN) = NEVER(DONE, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(DONE, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(DONE, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(DONE, "no undo is running"),
            },
        [MG_STEP_FAILED] =
            {
                ON(DISPATCH) = NEVER(FAILED, "it has failed; an operator must resume it"),
                ON(PARK) = NEVER(FAILED, "it has failed"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS, "the operator found it done"),
                ON(ACCEPT) = NEVER(FAILED, "no attempt is running"),
                ON(RETRY) = NEVER(FAILED, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(FAILED, "no attempt is running"),
                ON(DOUBT) = NEVER(FAILED, "no attempt is running"),
                ON(FAIL) = DONE_SO(FAILED, "it has failed"),
                ON(SKIP) = GO(SKIPPED, 0, "the operator skips it"),
                ON(LAPSE) = NEVER(FAILED, "it has failed; an operator must resume it"),
                ON(OPEN) = NEVER(FAILED, "it has begun"),
                ON(ARRIVE) = NEVER(FAILED, "it is not open"),
                ON(CLEAR) = GO(FAILED, 0, "the operator found that it had not happened"),
                ON(REVIVE) = GO(PENDING, 0, "the operator resumes it"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "an attempt may have happened"),
                ON(ABANDON) = DONE_SO(FAILED, "it has done nothing"),
                ON(LEARN) = NEVER(FAILED, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(FAILED, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(FAILED, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(FAILED, "no undo is running"),
            },
        [MG_STEP_SKIPPED] =
            {
                ON(DISPATCH) = NEVER(SKIPPED, "it is skipped"),
                ON(PARK) = NEVER(SKIPPED, "it is skipped"),
                ON(COMPLETE) = GO(DONE, MG_CELL_STATUS, "the operator found an earlier attempt done"),
                ON(ACCEPT) = NEVER(SKIPPED, "no attempt is running"),
                ON(RETRY) = NEVER(SKIPPED, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(SKIPPED, "no attempt is running"),
                ON(DOUBT) = NEVER(SKIPPED, "no attempt is running"),
                ON(FAIL) = NEVER(SKIPPED, "no attempt is running"),
                ON(SKIP) = DONE_SO(SKIPPED, "it is skipped"),
                ON(LAPSE) = NEVER(SKIPPED, "it is skipped"),
                ON(OPEN) = NEVER(SKIPPED, "it has begun"),
                ON(ARRIVE) = NEVER(SKIPPED, "it is not open"),
                ON(CLEAR) = GO(SKIPPED, 0, "the operator found that it had not happened"),
                ON(REVIVE) = GO(PENDING, 0, "the order starts again"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "an attempt may have happened before it was skipped"),
                ON(ABANDON) = DONE_SO(SKIPPED, "it has done nothing"),
                ON(LEARN) = NEVER(SKIPPED, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = NEVER(SKIPPED, "no undo is running"),
                ON(UNDO_RETRY) = NEVER(SKIPPED, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(SKIPPED, "no undo is running"),
            },
        [MG_STEP_UNDO_PENDING] =
            {
                ON(DISPATCH) = GO(UNDO_RUNNING, MG_CELL_REQUEST, "all that followed it is undone"),
                ON(PARK) = GO(UNDO_WAITING, 0, "no undo can go out now"),
                ON(COMPLETE) = NOT_NOW(UNDO_PENDING, "it is being undone"),
                ON(ACCEPT) = NEVER(UNDO_PENDING, "no attempt is running"),
                ON(RETRY) = NEVER(UNDO_PENDING, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(UNDO_PENDING, "no attempt is running"),
                ON(DOUBT) = NEVER(UNDO_PENDING, "no attempt is running"),
                ON(FAIL) = NEVER(UNDO_PENDING, "no attempt is running"),
                ON(SKIP) = NOT_NOW(UNDO_PENDING, "it is being undone"),
                ON(LAPSE) = NEVER(UNDO_PENDING, "it is being undone"),
                ON(OPEN) = NEVER(UNDO_PENDING, "it has begun"),
                ON(ARRIVE) = NEVER(UNDO_PENDING, "it is not open"),
                ON(CLEAR) = GO(UNDONE, 0, "the operator found nothing left to undo"),
                ON(REVIVE) = DONE_SO(UNDO_PENDING, "its undo is at its beginning"),
                ON(PLAN_UNDO) = DONE_SO(UNDO_PENDING, "its undo is planned"),
                ON(ABANDON) = NEVER(UNDO_PENDING, "an undo that is due is not abandoned"),
                ON(LEARN) = NEVER(UNDO_PENDING, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = GO(UNDONE, 0, "another copy of the last request was answered as done"),
                ON(UNDO_RETRY) = NEVER(UNDO_PENDING, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(UNDO_PENDING, "no undo is running"),
            },
        [MG_STEP_UNDO_RUNNING] =
            {
                ON(DISPATCH) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(PARK) =
                    GO(UNDO_WAITING, 0, "the undo did not reach a service that works; it counts nothing"),
                ON(COMPLETE) = NOT_NOW(UNDO_RUNNING, "it is being undone"),
                ON(ACCEPT) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(RETRY) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(COOL_DOWN) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(DOUBT) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(FAIL) = NEVER(UNDO_RUNNING, "an undo is running"),
                ON(SKIP) = NOT_NOW(UNDO_RUNNING, "it is being undone"),
                ON(LAPSE) = NEVER(UNDO_RUNNING, "it is being undone"),
                ON(OPEN) = NEVER(UNDO_RUNNING, "it has begun"),
                ON(ARRIVE) = NEVER(UNDO_RUNNING, "it is not open"),
                ON(CLEAR) =
                    NOT_NOW(UNDO_RUNNING, "an undo is running; wait until it has answered or expired"),
                ON(REVIVE) = NOT_NOW(UNDO_RUNNING, "an undo is running"),
                ON(PLAN_UNDO) = DONE_SO(UNDO_RUNNING, "it is being undone"),
                ON(ABANDON) = NEVER(UNDO_RUNNING, "an undo under way is not abandoned"),
                ON(LEARN) = GO(UNDO_PENDING, 0, "the result that its undo needs is known now"),
                ON(UNDO_COMPLETE) = GO(UNDONE, 0, "the service undid it, or there was nothing to undo"),
                ON(UNDO_RETRY) =
                    GO(UNDO_WAITING, 0, "the attempt failed, and attempts or cool-downs are left"),
                ON(UNDO_FAIL) = GO(UNDO_FAILED, MG_CELL_ALERT, "the undo will not happen by itself any more"),
            },
        [MG_STEP_UNDO_WAITING] =
            {
                ON(DISPATCH) = GO(UNDO_RUNNING, MG_CELL_REQUEST, "its wait is over"),
                ON(PARK) = GO(UNDO_WAITING, 0, "no undo can go out yet"),
                ON(COMPLETE) = NOT_NOW(UNDO_WAITING, "it is being undone"),
                ON(ACCEPT) = NEVER(UNDO_WAITING, "no attempt is running"),
                ON(RETRY) = NEVER(UNDO_WAITING, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(UNDO_WAITING, "no attempt is running"),
                ON(DOUBT) = NEVER(UNDO_WAITING, "no attempt is running"),
                ON(FAIL) = NEVER(UNDO_WAITING, "no attempt is running"),
                ON(SKIP) = NOT_NOW(UNDO_WAITING, "it is being undone"),
                ON(LAPSE) = NEVER(UNDO_WAITING, "it is being undone"),
                ON(OPEN) = NEVER(UNDO_WAITING, "it has begun"),
                ON(ARRIVE) = NEVER(UNDO_WAITING, "it is not open"),
                ON(CLEAR) = GO(UNDONE, 0, "the operator found nothing left to undo"),
                ON(REVIVE) = GO(UNDO_PENDING, 0, "the operator waits no longer"),
                ON(PLAN_UNDO) = DONE_SO(UNDO_WAITING, "it is being undone"),
                ON(ABANDON) = NEVER(UNDO_WAITING, "an undo that is due is not abandoned"),
                ON(LEARN) = NEVER(UNDO_WAITING, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = GO(UNDONE, 0, "another copy of the last request was answered as done"),
                ON(UNDO_RETRY) = NEVER(UNDO_WAITING, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(UNDO_WAITING, "no undo is running"),
            },
        [MG_STEP_UNDONE] =
            {
                ON(DISPATCH) = NEVER(UNDONE, "it is undone"),
                ON(PARK) = NEVER(UNDONE, "it is undone"),
                ON(COMPLETE) = NOT_NOW(UNDONE, "it is undone"),
                ON(ACCEPT) = NEVER(UNDONE, "no attempt is running"),
                ON(RETRY) = NEVER(UNDONE, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(UNDONE, "no attempt is running"),
                ON(DOUBT) = NEVER(UNDONE, "no attempt is running"),
                ON(FAIL) = NEVER(UNDONE, "no attempt is running"),
                ON(SKIP) = NOT_NOW(UNDONE, "it is undone"),
                ON(LAPSE) = NEVER(UNDONE, "it is undone"),
                ON(OPEN) = NEVER(UNDONE, "it has begun"),
                ON(ARRIVE) = NEVER(UNDONE, "it is not open"),
                ON(CLEAR) = GO(UNDONE, 0, "the operator found no effect of it"),
                ON(REVIVE) = GO(PENDING, 0, "the order starts again"),
                ON(PLAN_UNDO) = GO(UNDO_PENDING, 0, "an attempt turned up that the database had lost"),
                ON(ABANDON) = DONE_SO(UNDONE, "it is undone"),
                ON(LEARN) = NEVER(UNDONE, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) = DONE_SO(UNDONE, "it is undone"),
                ON(UNDO_RETRY) = NEVER(UNDONE, "no undo is running"),
                ON(UNDO_FAIL) = NEVER(UNDONE, "no undo is running"),
            },
        [MG_STEP_UNDO_FAILED] =
            {
                ON(DISPATCH) = NEVER(UNDO_FAILED, "its undo has failed; an operator must resume it"),
                ON(PARK) = NEVER(UNDO_FAILED, "its undo has failed"),
                ON(COMPLETE) = NOT_NOW(UNDO_FAILED, "it is being undone"),
                ON(ACCEPT) = NEVER(UNDO_FAILED, "no attempt is running"),
                ON(RETRY) = NEVER(UNDO_FAILED, "no attempt is running"),
                ON(COOL_DOWN) = NEVER(UNDO_FAILED, "no attempt is running"),
                ON(DOUBT) = NEVER(UNDO_FAILED, "no attempt is running"),
                ON(FAIL) = NEVER(UNDO_FAILED, "no attempt is running"),
                ON(SKIP) = NOT_NOW(UNDO_FAILED, "its undo has failed; settle it instead"),
                ON(LAPSE) = NEVER(UNDO_FAILED, "its undo has failed"),
                ON(OPEN) = NEVER(UNDO_FAILED, "it has begun"),
                ON(ARRIVE) = NEVER(UNDO_FAILED, "it is not open"),
                ON(CLEAR) = GO(UNDONE, MG_CELL_CLOSE_ALERT, "the operator found nothing left to undo"),
                ON(REVIVE) = GO(UNDO_PENDING, MG_CELL_CLOSE_ALERT, "the operator resumes the undo"),
                ON(PLAN_UNDO) = DONE_SO(UNDO_FAILED, "its undo has failed; an operator must resume it"),
                ON(ABANDON) = NEVER(UNDO_FAILED, "an undo that failed is not abandoned"),
                ON(LEARN) = NEVER(UNDO_FAILED, "no attempt to learn a result is running"),
                ON(UNDO_COMPLETE) =
                    GO(UNDONE, MG_CELL_CLOSE_ALERT, "another copy of the last request was answered as done"),
                ON(UNDO_RETRY) = NEVER(UNDO_FAILED, "no undo is running"),
                ON(UNDO_FAIL) = DONE_SO(UNDO_FAILED, "its undo has failed"),
            },
};

#undef GO
#undef DONE_SO
#undef NOT_NOW
#undef NEVER
#undef ON
#define GO(next, effects, why)                                                                               \
    {                                                                                                        \
        MG_GO, MG_ORDER_##next, effects, why                                                                 \
    }
#define DONE_SO(state, why)                                                                                  \
    {                                                                                                        \
        MG_DUPLICATE, MG_ORDER_##state, 0, why                                                               \
    }
#define NOT_NOW(state, why)                                                                                  \
    {                                                                                                        \
        MG_REFUSED, MG_ORDER_##state, 0, why                                                                 \
    }
#define NEVER(state, why)                                                                                    \
    {                                                                                                        \
        MG_IMPOSSIBLE, MG_ORDER_##state, 0, why                                                              \
    }
#define ON(event) [MG_ORDER_EVENT_##event]

static const struct mg_cell order_table[MG_ORDER_STATE_COUNT][MG_ORDER_EVENT_COUNT] =
    {
        [MG_ORDER_PENDING] =
            {
                ON(BEGIN) = GO(PROCESSING, 0, "the first step goes out"),
                ON(FINISH) = GO(PROCESSED, MG_CELL_STATUS, "every step is skipped"),
                ON(AMEND) = GO(COMPENSATING, MG_CELL_STATUS, "the order turns back"),
                ON(FORWARD) = DONE_SO(PENDING, "it goes forward"),
                ON(AMENDED) = NEVER(PENDING, "it is not turned back"),
                ON(CALLED_OFF) = NEVER(PENDING, "it is not turned back"),
                ON(RAISE) = GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT, "an operator must decide"),
                ON(RESTART) = NOT_NOW(PENDING, "it has not ended"),
            },
        [MG_ORDER_PROCESSING] =
            {
                ON(BEGIN) = DONE_SO(PROCESSING, "it is on its way"),
                ON(FINISH) = GO(PROCESSED, MG_CELL_STATUS, "every step is done or skipped"),
                ON(AMEND) = GO(COMPENSATING, MG_CELL_STATUS, "the order turns back"),
                ON(FORWARD) = DONE_SO(PROCESSING, "it goes forward"),
                ON(AMENDED) = NEVER(PROCESSING, "it is not turned back"),
                ON(CALLED_OFF) = NEVER(PROCESSING, "it is not turned back"),
                ON(RAISE) = GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT, "an operator must decide"),
                ON(RESTART) = NOT_NOW(PROCESSING, "it has not ended; cancel it first"),
            },
        [MG_ORDER_PROCESSED] =
            {
                ON(BEGIN) = NEVER(PROCESSED, "it has ended"),
                ON(FINISH) = DONE_SO(PROCESSED, "it is processed"),
                ON(AMEND) = GO(COMPENSATING, MG_CELL_STATUS, "the operator undoes it"),
                ON(FORWARD) = NOT_NOW(PROCESSED, "it is processed; there is nothing to resume"),
                ON(AMENDED) = NEVER(PROCESSED, "it is not turned back"),
                ON(CALLED_OFF) = NEVER(PROCESSED, "it is not turned back"),
                ON(RAISE) = GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT,
                               "the database lost the order's newest rows"),
                ON(RESTART) = NOT_NOW(PROCESSED, "it is processed; submit a new order"),
            },
        [MG_ORDER_COMPENSATING] =
            {
                ON(BEGIN) = NEVER(COMPENSATING, "it is turned back"),
                ON(FINISH) = NEVER(COMPENSATING, "it is turned back"),
                ON(AMEND) = DONE_SO(COMPENSATING, "it is being undone; the first reason stands"),
                ON(FORWARD) = GO(PROCESSING, 0, "its pivot is done: it can only go forward"),
                ON(AMENDED) = GO(COMPENSATED, MG_CELL_STATUS, "all that may have happened is undone"),
                ON(CALLED_OFF) = GO(CANCELLED, MG_CELL_STATUS, "all that may have happened is undone"),
                ON(RAISE) = GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT, "not everything could be undone"),
                ON(RESTART) = NOT_NOW(COMPENSATING, "it has not ended"),
            },
        [MG_ORDER_COMPENSATED] =
            {
                ON(BEGIN) = NEVER(COMPENSATED, "it has ended"),
                ON(FINISH) = NEVER(COMPENSATED, "it has ended"),
                ON(AMEND) = NOT_NOW(COMPENSATED, "it is undone"),
                ON(FORWARD) = NOT_NOW(COMPENSATED, "it is undone; restart it instead"),
                ON(AMENDED) = DONE_SO(COMPENSATED, "it is undone"),
                ON(CALLED_OFF) = NEVER(COMPENSATED, "it has ended"),
                ON(RAISE) =
                    GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT, "the database lost the order's newest rows"),
                ON(RESTART) = GO(PENDING, MG_CELL_STATUS, "an operator starts it again in a new generation"),
            },
        [MG_ORDER_CANCELLED] =
            {
                ON(BEGIN) = NEVER(CANCELLED, "it has ended"),
                ON(FINISH) = NEVER(CANCELLED, "it has ended"),
                ON(AMEND) = NOT_NOW(CANCELLED, "it is cancelled"),
                ON(FORWARD) = NOT_NOW(CANCELLED, "it is cancelled; restart it instead"),
                ON(AMENDED) = NEVER(CANCELLED, "it has ended"),
                ON(CALLED_OFF) = DONE_SO(CANCELLED, "it is cancelled"),
                ON(RAISE) =
                    GO(ERROR, MG_CELL_STATUS | MG_CELL_ALERT, "the database lost the order's newest rows"),
                ON(RESTART) = GO(PENDING, MG_CELL_STATUS, "an operator starts it again in a new generation"),
            },
        [MG_ORDER_ERROR] =
            {
                ON(BEGIN) = NEVER(ERROR, "an operator must decide first"),
                ON(FINISH) = NEVER(ERROR, "an operator must decide first"),
                ON(AMEND) = GO(COMPENSATING, MG_CELL_STATUS | MG_CELL_CLOSE_ALERT, "the operator undoes it"),
                ON(FORWARD) = GO(PROCESSING, MG_CELL_CLOSE_ALERT, "an operator resumes it"),
                ON(AMENDED) = NEVER(ERROR, "an operator must decide first"),
                ON(CALLED_OFF) = NEVER(ERROR, "an operator must decide first"),
                ON(RAISE) = DONE_SO(ERROR, "it is in error"),
                ON(RESTART) = GO(PENDING, MG_CELL_STATUS | MG_CELL_CLOSE_ALERT,
                                 "an operator starts it again in a new generation"),
            },
};

const struct mg_cell *mg_step_cell(enum mg_step_state state, enum mg_step_event event)
{
    assert(state < MG_STEP_STATE_COUNT && event < MG_STEP_EVENT_COUNT);
    return &step_table[state][event];
}

const struct mg_cell *mg_order_cell(enum mg_order_state state, enum mg_order_event event)
{
    assert(state < MG_ORDER_STATE_COUNT && event < MG_ORDER_EVENT_COUNT);
    return &order_table[state][event];
}
