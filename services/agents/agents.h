/*
 * `makegood agents`: one makegood-agent process for each service file of its folders, which it follows. A new
 * file starts a process. A changed file starts a second process, and the first one drains once the second
 * one is ready. A removed file drains its process. A file with a mistake changes nothing.
 *
 * Processes, not threads or shared loops: a slow or crashed service harms no other, a limit or a leak of one
 * is its own, and each logs in to the broker as its own user, which has rights on its own queues only. This
 * process handles no message and no secret; if it stalls, the agents go on.
 */
#ifndef MG_AGENTS_AGENTS_H
#define MG_AGENTS_AGENTS_H

#include "process.h"

/* Bounds the processes. Each takes 2 MB at rest and its share for messages; beyond this, a second folder
 * belongs on a second machine. */
#define MG_AGENTS_MAX 64

struct mg_agents_options {
    /* Their files NAME.json; NAME is the name of the service. Of two files with one name, that of the earlier
     * folder counts. */
    const struct mg_list *folders;
    const char *agent_config; /* configuration file of each agent; "": none */
    int64_t drain_timeout_ms; /* of each agent */
};

/* This process; its `own` options are those above. It is ready when every file has a process that is
 * ready; a file with a mistake is a remark while an older process serves. A signal drains all agents, a
 * second one stops them at once. SIGHUP has each agent read its secrets again, and looks at the folders at
 * once. */
extern const struct mg_process_service MG_AGENTS;

#endif
