/*
 * The scenarios. Workflows and services are those of ../definitions.c. Occasions are counted from the run's
 * start. The third occasion of REMOTE_REFUSES is the third do, since "line" makes no other calls.
 */
#include "scenarios.h"

static const struct sim_script SCENARIOS[] = {
    {.name = "processed", .workflows = {"line"}},
    {.name = "parallel", .workflows = {"fan", "line", "build"}},
    {.name = "compensated", .workflows = {"line"}, .faults = {{SIM_REMOTE_REFUSES, 3}}},
    {.name = "cancelled",
     .workflows = {"build"},
     .turns = {{MG_CAUSE_CANCEL, MG_ORDER_PROCESSING}},
     .turn_count = 1},
    {.name = "resumed",
     .workflows = {"strict"},
     .faults = {{SIM_REMOTE_REFUSES, 1}},
     .turns = {{MG_CAUSE_RESUME, MG_ORDER_ERROR}},
     .turn_count = 1},
    {.name = "skipped",
     .workflows = {"strict"},
     .faults = {{SIM_REMOTE_REFUSES, 2}},
     .turns = {{MG_CAUSE_SKIP, MG_ORDER_ERROR}},
     .turn_count = 1},
    {.name = "branched", .workflows = {"branch", "branch", "fork", "fork"}},
    {.name = "branch_undone", .workflows = {"branch"}, .faults = {{SIM_REMOTE_REFUSES, 4}}},
    {.name = "judged", .workflows = {"claim"}},
    {.name = "refused",
     .workflows = {"line", "line", "line"},
     .faults = {{SIM_CLIENT_UNKNOWN, 1},
                {SIM_CLIENT_GARBAGE, 2},
                {SIM_CLIENT_CONFLICT, 2},
                {SIM_CLIENT_TWICE, 2},
                {SIM_CLIENT_TWICE, 3}},
     .least_ms = 3000},
    {.name = "unheard", .workflows = {"line"}, .faults = {{SIM_CLIENT_GONE, 1}}},
    {.name = "timed_out",
     .workflows = {"fan"},
     .faults = {{SIM_REMOTE_LATE, 1}, {SIM_REMOTE_SLOW, 2}, {SIM_REMOTE_DROPPED_AFTER, 2}}},
    {.name = "unreachable",
     .workflows = {"line", "line"},
     .faults = {{SIM_REMOTE_UNREACHABLE, 1},
                {SIM_REMOTE_UNREACHABLE, 2},
                {SIM_REMOTE_UNREACHABLE, 3},
                {SIM_REMOTE_UNREACHABLE, 4},
                {SIM_REMOTE_UNREACHABLE, 5},
                {SIM_REMOTE_UNREACHABLE, 6}}},
    {.name = "broker_away",
     .workflows = {"line", "fan", "build"},
     .faults = {{SIM_BROKER_CUT, 330},
                {SIM_BROKER_CUT, 350},
                {SIM_BROKER_CUT, 370},
                {SIM_BROKER_BLOCKED, 390},
                {SIM_BROKER_DOWN, 1500}},
     .least_ms = 3000},
    {.name = "database_away",
     .workflows = {"line", "fan", "build"},
     .faults = {{SIM_STORE_SESSION_KILLED, 330},
                {SIM_STORE_SESSION_KILLED, 350},
                {SIM_STORE_SESSION_SILENT, 370},
                {SIM_STORE_READ_ONLY, 390},
                {SIM_STORE_DOWN, 1500}},
     .least_ms = 3000},
    {.name = "killed",
     .workflows = {"line", "fan", "build"},
     .faults = {{SIM_NODE_KILL, 330},
                {SIM_NODE_KILL, 360},
                {SIM_NODE_KILL, 400},
                {SIM_NODE_KILL, 600},
                {SIM_NODE_PAUSE, 1000},
                {SIM_STORE_DOWN, 1500}},
     .least_ms = 3000},
    {.name = "drained",
     .workflows = {"line", "fan", "build"},
     .faults = {{SIM_NODE_DRAIN, 330},
                {SIM_NODE_DRAIN, 360},
                {SIM_NODE_DRAIN, 400},
                {SIM_NODE_DRAIN, 450},
                {SIM_NODE_DRAIN, 600},
                {SIM_NODE_DRAIN, 1000},
                {SIM_NODE_DRAIN, 1500},
                {SIM_NODE_DRAIN, 2000}},
     .least_ms = 3000},
};

int sim_scenario_count(void)
{
    return (int)(sizeof(SCENARIOS) / sizeof(SCENARIOS[0]));
}

const struct sim_script *sim_scenario_at(int index)
{
    return &SCENARIOS[index];
}
