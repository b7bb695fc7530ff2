/* The manual pages of the services: the shared parts, then each service's own. */
#include "manual.h"

static const struct mg_manual_entry SIGNALS[] = {
    {"SIGTERM, SIGINT",
     "Drain: the process takes no new work, finishes the work in hand, and exits. Work that does not "
     "finish in time is delivered to another process, as after a crash."},
    {"SIGHUP",
     "Re-reads the files of secrets and certificates. If a secret cannot be read, the old one stays in "
     "use. If certificates cannot be read, new connections fail. Both are logged. Open connections go on; "
     "later ones use the new files."},
    {0}};

static const struct mg_manual_entry EXIT_CODES[] = {
    {"0", "ended on request"},
    {"1", "could not start, or must not continue"},
    {"2", "usage or configuration error; a restart does not help"},
    {0}};

static const struct mg_manual_entry SCHEDULER_FILES[] = {
    {"/etc/makegood/scheduler.conf", "Configuration of the unit makegood-scheduler@.service."},
    {"/etc/makegood/scheduler@INSTANCE.env", "Variables of one instance, such as MAKEGOOD_HTTP."},
    {"/etc/makegood/secrets/scheduler/", "Secrets, readable by root and the group makegood."},
    {0}};

static const struct mg_manual_entry AGENT_FILES[] = {
    {"/etc/makegood/agent.conf", "Configuration of the unit makegood-agent@.service."},
    {"/etc/makegood/services/SERVICE.json", "Service file of makegood-agent@SERVICE.service."},
    {"/etc/makegood/agent@SERVICE.env", "Variables of one instance, such as MAKEGOOD_HTTP."},
    {"/etc/makegood/secrets/agent-SERVICE/", "Secrets, readable by root and the group makegood."},
    {0}};

static const struct mg_manual_entry SUPERVISOR_FILES[] = {
    {"/etc/makegood/supervisor.conf", "Configuration of the unit makegood-supervisor.service."},
    {"/etc/makegood/secrets/supervisor/", "Secrets, readable by root and the group makegood."},
    {0}};

static const struct mg_manual_part SCHEDULER_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", SCHEDULER_FILES}, {0}};
static const struct mg_manual_part AGENT_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", AGENT_FILES}, {0}};
static const struct mg_manual_part SUPERVISOR_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", SUPERVISOR_FILES}, {0}};

const struct mg_manual mg_manual_scheduler = {
    8,
    "makegood-scheduler takes orders from RabbitMQ, stores them in PostgreSQL, and carries each through "
    "the steps of its workflow. It sends requests to agents and takes their replies. If a step fails for "
    "good, the scheduler compensates every step that may have taken effect.\n\n"
    "Any number of schedulers share the work. If one ends, normally or by a crash, its unfinished work "
    "goes to the others at once.\n\n"
    "The process serves /healthz, /readyz and /metrics at the address of --http.",
    NULL, SCHEDULER_PARTS, "makegood(1), makegood-agent(8), makegood-supervisor(8)"};

const struct mg_manual mg_manual_agent = {
    8,
    "makegood-agent takes the requests of one or several services from RabbitMQ, calls the service over "
    "HTTP, and replies. It has no connection to the database.\n\n"
    "Every call carries the header Idempotency-Key, the same for every try and every agent, so that the "
    "service can recognise a repeated request. After a request's deadline the agent sends no reply: the "
    "schedulers judge that attempt.\n\n"
    "Any number of agents share the work of a service.",
    NULL, AGENT_PARTS, "makegood(1), makegood-scheduler(8), makegood-supervisor(8)"};

const struct mg_manual mg_manual_supervisor = {
    8,
    "makegood-supervisor sweeps the database periodically for due orders: overdue attempts, ended waits, "
    "expired orders, unpublished messages. It requests that the schedulers check them, and changes no order "
    "itself.\n\n"
    "One of several supervisors leads. If it ends, another takes over within seconds.",
    NULL, SUPERVISOR_PARTS, "makegood(1), makegood-scheduler(8), makegood-agent(8)"};
