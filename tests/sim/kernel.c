/*
 * The event queue, random draws, and the trace. Nothing in a run depends on an address, on uninitialised
 * memory, or on the machine: sim_run compares hashes of the same seed to prove it.
 */
#include "kernel.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define NODES_MAX     16
#define TRUE_START_MS INT64_C(1780000000000) /* the true time at the start of a run: a day in 2026 */
/* A run of some dozen orders has some hundred thousand events; more means an endless loop. */
#define EVENTS_MAX 20000000
/* One of so many seeds is a run in which only a clock fails (clock_run.c), one a run in which only queues
 * lose their majority (minority_run.c), one a run in which only a service is slow (full_run.c), and one a run
 * with services that misbehave (rough.c). */
#define KIND_EVERY   10
#define CLOCK_RUN    0
#define FULL_RUN     3
#define MINORITY_RUN 5
#define ROUGH_RUN    8

struct event {
    int64_t at_us;
    uint64_t number; /* events of the same moment run in the order of their numbers */
    struct sim_node *node;
    uint32_t life;
    sim_fn *fn;
    void *arg;
};

static struct {
    const struct sim_options *options;
    struct sim_result *result;
    struct event *heap;
    size_t count, room;
    uint64_t planned;
    int64_t now_us;
    struct sim_node nodes[NODES_MAX];
    int node_count;
    struct sim_node *current;
    uint64_t random;
    uint64_t rates[SIM_FAULT_COUNT];
    sim_fn *periods[SIM_FAULT_COUNT];
    void (*on_crash)(struct sim_node *node);
    bool is_healed, is_error_told;
    enum sim_fault alone; /* the only fault of this run; SIM_FAULT_COUNT: faults are drawn */
    jmp_buf escape;       /* leaves the code of a node that ends its process */
    uint64_t hash;
} sim;

static const struct {
    const char *name;
    bool is_period;
} FAULTS[SIM_FAULT_COUNT] = {
#define SIM_CHANCE(NAME, most)  {#NAME, false},
#define SIM_PERIOD(NAME, least) {#NAME, true},
#define SIM_STRUCK(NAME)        {#NAME, false},
#include "faults.def"
};

const char *sim_fault_name(enum sim_fault fault)
{
    return FAULTS[fault].name;
}

/* ---- events: a binary heap ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->number < b->number;
}

static void heap_put(struct event event)
{
    if (sim.count == sim.room) {
        sim.room = sim.room == 0 ? 1024 : 2 * sim.room;
        sim.heap = realloc(sim.heap, sim.room * sizeof(*sim.heap));
        assert(sim.heap != NULL);
    }
    size_t at = sim.count++;
    for (; at > 0 && is_before(&event, &sim.heap[(at - 1) / 2]); at = (at - 1) / 2) {
        sim.heap[at] = sim.heap[(at - 1) / 2];
    }
    sim.heap[at] = event;
}

static struct event heap_take(void)
{
    struct event first = sim.heap[0], last = sim.heap[--sim.count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < sim.count; at = child) {
        if (child + 1 < sim.count && is_before(&sim.heap[child + 1], &sim.heap[child])) {
            child++;
        }
        if (!is_before(&sim.heap[child], &last)) {
            break;
        }
        sim.heap[at] = sim.heap[child];
    }
    sim.heap[at] = last;
    return first;
}

void sim_after(struct sim_node *node, int64_t delay_us, sim_fn *fn, void *arg)
{
    assert(delay_us >= 0 && (node == NULL || node->is_alive));
    heap_put((struct event){.at_us = sim.now_us + delay_us,
                            .number = sim.planned++,
                            .node = node,
                            .life = node != NULL ? node->life : 0,
                            .fn = fn,
                            .arg = arg});
}

/* False: a node's code has ended its process; `sim.current` still names the node. Its memory is left. */
static bool event_call(const struct event *event)
{
    if (setjmp(sim.escape) != 0) {
        return false;
    }
    event->fn(event->arg);
    return true;
}

void sim_node_abort(void)
{
    if (!sim.is_error_told) {
        sim_violated("logged_why_it_ends", "%s ends its process without a line in its log",
                     sim.current->name);
    }
    if (!sim_has_happened(SIM_NODE_MEMORY)) {
        sim_violated("no_exit", "%s ends its process", sim.current->name);
    }
    longjmp(sim.escape, 1); /* NOLINT(cert-err52-cpp): memory of a dead process is left */
}

static void event_run(struct event event)
{
    struct sim_node *node = event.node;
    if (node != NULL && (!node->is_alive || node->life != event.life)) {
        return;
    }
    if (node != NULL && node->paused_until_us > sim.now_us) { /* keeps its number, and so its place */
        event.at_us = node->paused_until_us;
        heap_put(event);
        return;
    }
    sim.current = node;
    sim.is_error_told = false;
    if (!event_call(&event)) {
        struct sim_node *gone = sim.current;
        sim.current = NULL;
        sim.on_crash(gone);
    }
    sim.current = NULL;
    sim.result->events++;
    if (node != NULL && node->is_alive && sim_happens(SIM_NODE_CRASH)) {
        sim.on_crash(node);
    }
}

void sim_kernel_on_crash(void (*fn)(struct sim_node *node))
{
    sim.on_crash = fn;
}

void sim_kernel_run(int64_t until_us, bool (*is_over)(void))
{
    while (sim.count > 0 && sim.heap[0].at_us <= until_us && !is_over()) {
        struct event event = heap_take();
        sim.now_us = event.at_us;
        event_run(event);
        if (sim.result->events > EVENTS_MAX) {
            sim_violated("bounded", "more than %d events: something goes round and round", EVENTS_MAX);
        }
    }
}

int64_t sim_now_us(void)
{
    return sim.now_us;
}

int64_t sim_true_ms(void)
{
    return TRUE_START_MS + sim.now_us / 1000;
}

/* ---- nodes ---- */

int sim_node_count(void)
{
    return sim.node_count;
}

struct sim_node *sim_node_at(int index)
{
    return &sim.nodes[index];
}

struct sim_node *sim_node(void)
{
    return sim.current;
}

struct sim_node *sim_node_add(enum sim_role role, int number)
{
    static const char *const ROLES[] = {"scheduler", "agent", "supervisor"};
    assert(sim.node_count < NODES_MAX);
    struct sim_node *node = &sim.nodes[sim.node_count];
    *node = (struct sim_node){.role = role, .index = sim.node_count++};
    (void)snprintf(node->name, sizeof(node->name), "%s-%d", ROLES[role], number);
    return node;
}

void sim_node_enter(struct sim_node *node)
{
    assert(sim.current == NULL);
    sim.current = node;
}

void sim_node_leave(void)
{
    sim.current = NULL;
}

/* ---- chance ---- */

/* splitmix64 (Steele, Lea, Flood 2014): one word of state, every seed is good. */
static uint64_t random_next(void)
{
    uint64_t z = (sim.random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t sim_draw(uint64_t count)
{
    assert(count > 0);
    return random_next() % count; /* uneven by less than one in 2^40 for every count in use */
}

int64_t sim_draw_between(int64_t low, int64_t high)
{
    assert(low <= high);
    return low + (int64_t)sim_draw((uint64_t)(high - low) + 1);
}

int64_t sim_draw_delay_us(int64_t typical_us)
{
    int64_t delay_us = sim_draw_between(typical_us / 2, typical_us * 3 / 2);
    return sim_draw(32) == 0 ? delay_us * 10 : delay_us;
}

const struct sim_script *sim_script(void)
{
    return sim.options->script;
}

static bool is_at(const struct sim_strike *strike, enum sim_fault fault, uint32_t at)
{
    return strike->at == at && strike->fault == fault;
}

/* Whether the script places this fault at its current occasion. */
static bool is_written(enum sim_fault fault)
{
    const struct sim_options *options = sim.options;
    uint32_t now = ++sim.result->occasions[fault];
    if (is_at(&options->strike, fault, now)) {
        if (options->on_struck != NULL) {
            options->on_struck();
        }
        return true;
    }
    for (const struct sim_strike *strike = options->script->faults; strike->at != 0; strike++) {
        if (is_at(strike, fault, now)) {
            return true;
        }
    }
    return false;
}

bool sim_happens(enum sim_fault fault)
{
    assert(!FAULTS[fault].is_period);
    if (sim.is_healed) {
        return false;
    }
    if (sim.options->script != NULL ? !is_written(fault)
                                    : sim.rates[fault] == 0 || sim_draw(1000000) >= sim.rates[fault]) {
        return false;
    }
    sim_happened(fault);
    return true;
}

bool sim_may_happen(enum sim_fault fault)
{
    return sim.options->script != NULL || sim.rates[fault] > 0;
}

uint32_t sim_occasions(enum sim_fault fault)
{
    return sim.result->occasions[fault];
}

bool sim_has_memory(void)
{
    return !sim_happens(SIM_NODE_MEMORY);
}

void sim_happened(enum sim_fault fault)
{
    sim.result->happened[fault]++;
    sim_trace("! %s", FAULTS[fault].name);
}

bool sim_has_happened(enum sim_fault fault)
{
    return sim.result->happened[fault] > 0;
}

bool sim_is_time_true(void)
{
    return !sim_has_happened(SIM_STORE_CLOCK_JUMP);
}

/* Time until the script's next occurrence of this fault; -1: none. */
static int64_t next_written_us(enum sim_fault fault)
{
    int64_t next_us = -1;
    for (const struct sim_strike *strike = sim.options->script->faults; strike->at != 0; strike++) {
        int64_t in_us = strike->at * INT64_C(1000) - sim.now_us;
        if (strike->fault == fault && in_us > 0 && (next_us < 0 || in_us < next_us)) {
            next_us = in_us;
        }
    }
    return next_us;
}

int64_t sim_next_us(enum sim_fault fault)
{
    assert(FAULTS[fault].is_period);
    if (sim.options->script != NULL) {
        return next_written_us(fault);
    }
    int64_t mean_us = (int64_t)sim.rates[fault];
    return mean_us == 0 ? -1 : sim_draw_between(0, 2 * mean_us);
}

static void period_plan(enum sim_fault fault);

static void on_period(void *arg)
{
    enum sim_fault fault = (enum sim_fault)(intptr_t)arg;
    if (!sim.is_healed) {
        sim.periods[fault](NULL);
        period_plan(fault);
    }
}

static void period_plan(enum sim_fault fault)
{
    int64_t in_us = sim_next_us(fault);
    if (in_us >= 0) {
        sim_after(NULL, in_us, on_period, (void *)(intptr_t)fault);
    }
}

void sim_every(enum sim_fault fault, sim_fn *fn)
{
    sim.periods[fault] = fn;
    period_plan(fault);
}

bool sim_is_clock_run(void)
{
    return sim.alone == SIM_STORE_CLOCK_JUMP;
}

bool sim_is_minority_run(void)
{
    return sim.alone == SIM_BROKER_MINORITY;
}

bool sim_is_full_run(void)
{
    return sim.alone == SIM_REMOTE_FULL;
}

bool sim_is_alone(void)
{
    return sim.alone != SIM_FAULT_COUNT;
}

bool sim_is_rough_run(void)
{
    const struct sim_options *options = sim.options;
    return options->script == NULL && (options->is_rough || options->seed % KIND_EVERY == ROUGH_RUN);
}

bool sim_is_healed(void)
{
    return sim.is_healed;
}

void sim_kernel_heal(void)
{
    sim.is_healed = true;
    sim_trace("healed");
}

/* ---- the trace ---- */

void sim_trace(const char *format, ...)
{
    if (!sim.options->is_hashed && !sim.options->is_traced) {
        return;
    }
    char line[1024];
    const char *name = sim.current != NULL ? sim.current->name : "world";
    int len = snprintf(line, sizeof(line), "%10.6f %-13s ", (double)sim.now_us / 1e6, name);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
    va_end(args);
    len = more < 0 ? len : len + more < (int)sizeof(line) ? len + more : (int)sizeof(line) - 1;
    for (int i = 0; i < len; i++) { /* FNV-1a */
        sim.hash = (sim.hash ^ (uint8_t)line[i]) * UINT64_C(0x100000001b3);
    }
    if (sim.options->is_traced) {
        (void)fwrite(line, 1, (size_t)len, stdout);
        (void)fputc('\n', stdout);
    }
}

void sim_violated(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sim.result->what, sizeof(sim.result->what), format, args);
    va_end(args);
    (void)snprintf(sim.result->violated, sizeof(sim.result->violated), "%s", name);
    sim_trace("VIOLATED %s: %s", name, sim.result->what);
    sim_kernel_finish();
    (void)fflush(stdout);
    _exit(1);
}

/* Logs of the services, for readers of the trace. They are not hashed: the hash must not depend on whether
 * they are printed. */
void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    static const char *const LEVELS[] = {"debug", "info", "warn", "error"};
    sim.is_error_told = sim.is_error_told || level == MG_LOG_ERROR;
    if (!sim.options->is_traced) {
        return;
    }
    (void)printf("%10.6f %-13s   %s: %s", (double)sim.now_us / 1e6,
                 sim.current != NULL ? sim.current->name : "world", LEVELS[level], message);
    for (const struct mg_log_field *field = fields; field->key != NULL; field++) {
        if (field->text != NULL) {
            (void)printf(" %s=%s", field->key, field->text);
        } else {
            (void)printf(" %s=%lld", field->key, (long long)field->number);
        }
    }
    (void)printf("\n");
}

/* ---- the run ---- */

static enum sim_fault alone_of(const struct sim_options *options)
{
    uint64_t turn = options->seed % KIND_EVERY;
    enum sim_fault alone = turn == CLOCK_RUN      ? SIM_STORE_CLOCK_JUMP
                           : turn == MINORITY_RUN ? SIM_BROKER_MINORITY
                           : turn == FULL_RUN     ? SIM_REMOTE_FULL
                                                  : SIM_FAULT_COUNT;
    bool is_allowed = alone != SIM_FAULT_COUNT && !sim_is_rough_run() && (options->faults >> alone & 1) != 0;
    return is_allowed ? alone : SIM_FAULT_COUNT;
}

void sim_kernel_start(const struct sim_options *options, struct sim_result *result)
{
    memset(&sim, 0, sizeof(sim));
    memset(result, 0, sizeof(*result));
    sim.options = options;
    sim.result = result;
    sim.hash = UINT64_C(0xcbf29ce484222325);
    sim.random = options->seed;
    sim.alone = SIM_FAULT_COUNT;
    if (options->script != NULL) {
        return;
    }
    sim_swarm_draw(options->faults, sim.rates);
    sim.alone = alone_of(options);
    for (int i = 0; i < SIM_FAULT_COUNT && sim_is_alone(); i++) {
        sim.rates[i] = i == (int)sim.alone ? 1 : 0;
    }
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        result->faults |= sim.rates[i] > 0 ? UINT64_C(1) << i : 0;
    }
}

void sim_kernel_finish(void)
{
    sim.result->trace_hash = sim.hash;
    sim.result->simulated_us = sim.now_us;
}
