/* The simulated database's side: plays the given seed and prints the answers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../nodes.h"
#include "../store.h"
#include "fidelity.h"

static struct sim_side {
    struct fidelity_peer peer;
    bool is_up;
} sides[FIDELITY_PEERS];
static struct fidelity_peer *waiting;

/* Replaces the checker: PostgreSQL is the reference here. */
void sim_check_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    (void)before;
    (void)write;
}

void sim_check_tail_lost(const char *order_id, bool is_all, uint64_t lost_marks)
{
    (void)order_id;
    (void)is_all;
    (void)lost_marks;
}

void sim_check_deadline(const char *order_id, int step, int64_t of, bool is_asked, int64_t sent_us)
{
    (void)order_id;
    (void)step;
    (void)of;
    (void)is_asked;
    (void)sent_us;
}

void sim_check_sweeps_lost(void)
{
}

void sim_check_clock_was_set(void)
{
}

void sim_check_parked_asked(const char *order_id, int step)
{
    (void)order_id;
    (void)step;
}

void sim_check_led(uint64_t epoch, const char *holder)
{
    (void)epoch;
    (void)holder;
}

void sim_check_asked_owed(struct mg_slice queue)
{
    (void)queue;
}

/* No process runs here, so none ends. */
void sim_node_ended(struct sim_node *node)
{
    (void)node;
}

struct fidelity_peer *fidelity_peer(int index)
{
    return &sides[index].peer;
}

static bool is_answered(void)
{
    return waiting->is_answered;
}

void fidelity_wait(struct fidelity_peer *peer)
{
    waiting = peer;
    sim_kernel_run(INT64_MAX, is_answered);
    assert(peer->is_answered);
}

void fidelity_wake(struct fidelity_peer *peer)
{
    (void)peer;
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    (void)reason;
    ((struct sim_side *)arg)->is_up = is_up;
}

static bool are_up(void)
{
    bool is_up = true;
    for (int i = 0; i < FIDELITY_PEERS; i++) {
        is_up = is_up && sides[i].is_up;
    }
    return is_up;
}

static bool is_one_down(void)
{
    return !are_up();
}

void fidelity_lose(struct fidelity_peer *peer)
{
    sim_store_kill_session(peer->store);
    sim_kernel_run(INT64_MAX, is_one_down);
    sim_kernel_run(INT64_MAX, are_up);
}

void fidelity_set_clock(int64_t now_ms)
{
    sim_store_stop_clock(now_ms);
}

int main(int argc, char **argv)
{
    assert(argc == 2);
    static struct sim_result result;
    const struct sim_options options = {.seed = strtoull(argv[1], NULL, 10)};
    sim_kernel_start(&options, &result);
    sim_kernel_heal();
    sim_store_start();
    for (int i = 0; i < FIDELITY_PEERS; i++) {
        struct mg_err err;
        const struct mg_store_options store = {
            .dsn = "host=127.0.0.1", .is_leader_session = i >= 2, .on_state = on_state, .arg = &sides[i]};
        bool is_made = mg_store_create(NULL, &store, &sides[i].peer.store, &err) == MG_OK;
        assert(is_made);
    }
    sim_kernel_run(INT64_MAX, are_up);
    fidelity_play(options.seed, stdout);
    (void)fflush(stdout);
    _exit(0); /* remaining memory belongs to the run */
}
