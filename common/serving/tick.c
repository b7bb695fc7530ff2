/* The agent's work of each second, independent of deliveries. */
#include "agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "wire/reply.h"

/* Then requests in hand go back for other agents. Each return counts as a delivery, so a queue that is full
 * only now and then must not cause many. */
#define PUT_BACK_AFTER_MS 2000

static void put_back_if_mute(struct mg_served *served)
{
    if (mg_served_is_mute(served) && mg_clock_boot_ms() - served->mute.since_boot_ms >= PUT_BACK_AFTER_MS) {
        mg_served_put_back_waiting(served);
    }
}

void mg_agent_on_tick(void *arg)
{
    struct mg_agent *agent = arg;
    mg_agent_turn(agent);
    char reason[MG_ERROR_TEXT_MAX + 1];
    bool is_ready = mg_agent_is_sound(agent, reason, sizeof(reason));
    int64_t ahead_ms;
    if (mg_skew_measure(&agent->skew, mg_clock_boot_ms(), mg_clock_wall_ms(), &ahead_ms)) {
        mg_metric_set(agent->skew_metric, (double)ahead_ms / 1000.0);
    }
    if (is_ready != agent->was_ready) {
        mg_log(is_ready ? MG_LOG_INFO : MG_LOG_WARN, is_ready ? "ready again" : "not ready",
               MG_LOG_TEXT("why", reason));
    }
    agent->ticks++;
    if (is_ready != agent->was_ready ||
        agent->ticks % (MG_SERVICE_REPORT_PERIOD_MS / MG_AGENT_TICK_MS) == 0) {
        agent->was_ready = is_ready;
        mg_agent_report(agent);
    }
    for (int i = 0; i < agent->served_count; i++) {
        mg_served_expire_health(&agent->served[i]);
        mg_served_judge_mute(&agent->served[i]);
        put_back_if_mute(&agent->served[i]);
        mg_served_set_gauges(&agent->served[i]);
    }
    mg_rest_look(&agent->rest, agent->jobs_made, mg_clock_boot_ms());
}
