/* How far the work of yard and clerk is, and the bodies of all answers. */
#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "nodes.h"
#include "orders.h"
#include "remote.h"

/* A step forward of the clock by 30 s leaves that much less time to work that ends later. */
#define CLOCK_RUN_WORK_US  5000000
#define QUEUE_US           300000
#define WORK_MIN_US        100000
#define WORK_MAX_US        15000000
#define AT_ONCE_ONE_IN     3  /* of the works of clerk */
#define DECLINED_ONE_IN    6  /* the same */
#define SILENT_ONE_IN      16 /* answers of clerk that do not give the state of the work */
#define DEED_SILENT_ONE_IN 5  /* the same, for deed */
/* The number of a deed: quotes are needed in an expression, and an escape in a pointer. */
#define DEED_NUMBER "deed/no"

/* Otherwise every order must go well. */
static bool may_vary(void)
{
    return sim_script() == NULL && !sim_is_alone();
}

/* Without `finish_within` an answer that leaves the work open counts as a failure. */
static bool is_to_end_at_once(const struct sim_work *work)
{
    bool is_unpolled = strcmp(work->step, "sign") == 0 || strcmp(work->step, "write") == 0;
    return work->service == SIM_CLERK && !may_vary() && is_unpolled;
}

void sim_work_draw(struct sim_work *work)
{
    work->is_to_decline = work->service == SIM_CLERK && may_vary() && sim_draw(DECLINED_ONE_IN) == 0;
}

int64_t sim_work_begins_in_us(const struct sim_work *work)
{
    bool is_at_once =
        is_to_end_at_once(work) || (work->service == SIM_CLERK && sim_draw(AT_ONCE_ONE_IN) == 0);
    return is_at_once ? 0 : sim_draw_delay_us(QUEUE_US);
}

int64_t sim_work_takes_us(const struct sim_work *work)
{
    if (is_to_end_at_once(work) || (work->service == SIM_CLERK && sim_draw(AT_ONCE_ONE_IN) == 0)) {
        return 0;
    }
    return sim_draw_between(WORK_MIN_US, sim_is_clock_run() ? CLOCK_RUN_WORK_US : WORK_MAX_US);
}

bool sim_is_at_work(const struct sim_work *work)
{
    bool is_slow = work->service == SIM_YARD || work->service == SIM_CLERK || work->service == SIM_PIER;
    return is_slow && (work->is_queued || sim_now_us() < work->done_at_us);
}

static const char *state_of(const struct sim_work *work)
{
    return sim_is_at_work(work) ? "at_work" : work->is_declined ? "refused" : "done";
}

static bool is_deed(const struct sim_work *work)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(work->order_id));
    bool is_known = order != NULL && order->workflow >= 0;
    return is_known && work->service == SIM_CLERK && strcmp(sim_workflow_name(order->workflow), "deed") == 0;
}

struct mg_slice sim_answer_number(struct mg_slice body)
{
    struct mg_slice number = mg_json_find(body, "/number");
    return number.data != NULL ? number : mg_json_find(body, "/deed~1no");
}

void sim_answer_write(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(work->order_id));
    char state[32] = "";
    if (work->service == SIM_CLERK) {
        (void)snprintf(state, sizeof(state), ",\"state\":\"%s\"", state_of(work));
    }
    (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"%s\":%llu,\"grade\":\"%s\"%s}",
                   is_deed(work) ? DEED_NUMBER : "number", (unsigned long long)work->number,
                   order->choice.is_gold ? "gold" : "plain", state);
}

/* Without a state, without the number, or without both. Finished work always gives its number. */
static void deed_answer_draw(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    bool has_number = sim_draw(2) == 0, is_silent = sim_draw(DEED_SILENT_ONE_IN) == 0;
    if (is_silent && has_number) {
        (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"" DEED_NUMBER "\":%llu}",
                       (unsigned long long)work->number);
    } else if (is_silent) {
        (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"grade\":\"none\"}");
    } else if (sim_is_at_work(work) && !has_number) {
        (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"state\":\"at_work\"}");
    }
}

void sim_answer_draw(const struct sim_work *work, char ret_body[SIM_ANSWER_SIZE])
{
    sim_answer_write(work, ret_body);
    if (work->service != SIM_CLERK || !may_vary()) {
        return;
    }
    if (is_deed(work)) {
        deed_answer_draw(work, ret_body);
    } else if (sim_draw(SILENT_ONE_IN) == 0) {
        (void)snprintf(ret_body, SIM_ANSWER_SIZE, "{\"number\":%llu}", (unsigned long long)work->number);
    }
}
