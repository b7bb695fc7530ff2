/*
 * Statuses that clients' queues did not take. After a sweep with room for all that it found, the leader reads
 * from the database which ones to try again. It asks the schedulers for them. The schedulers' results set how
 * seldom a queue is tried, and when its statuses are given up (io/store/owed.h).
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "io/store/owed.h"
#include "supervisor.h"

static void owed_answered(void *arg, bool is_leader, const struct mg_due *dues, int count,
                          const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_asking_owed, &supervisor->owed_failure_logged,
                                "could not query owed statuses", err) ||
        !is_leader) {
        return; /* the next sweep detects another leader, too */
    }
    if (count > 0) {
        MG_FAILPOINT(SUPERVISOR_SWEPT);
    }
    /* The rest has no room and is found again after ask-again. */
    for (int i = 0; i < count && mg_supervisor_ask(supervisor, &dues[i]); i++) {
    }
}

void mg_supervisor_owed_ask(struct mg_supervisor *supervisor)
{
    /* The other half is for deadlines and alerts. */
    int64_t room = (int64_t)mg_broker_publish_room(supervisor->broker) / 2;
    int64_t now_boot_ms = mg_clock_boot_ms();
    bool is_early = supervisor->owed_asked_boot_ms != 0 &&
                    now_boot_ms - supervisor->owed_asked_boot_ms < supervisor->options.sweep_period_ms;
    if (supervisor->is_asking_owed || is_early || room <= 0) {
        return;
    }
    int64_t batch = supervisor->options.sweep_batch;
    const struct mg_ask_owed options = {.epoch = supervisor->epoch,
                                        .holder = supervisor->holder,
                                        .limit = (int)(room < batch ? room : batch),
                                        .ask_again_ms = supervisor->options.ask_again_ms};
    supervisor->owed_asked_boot_ms = now_boot_ms;
    supervisor->is_asking_owed = true;
    mg_store_ask_owed(supervisor->store, &options, owed_answered, supervisor);
}

void mg_supervisor_owed_start(struct mg_supervisor *supervisor)
{
    supervisor->is_asking_owed = false;
    supervisor->owed_asked_boot_ms = 0;
}
