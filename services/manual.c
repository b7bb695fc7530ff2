/* The manual pages of the services: the shared parts, then each service's own. */
#include "manual.h"

static const struct mg_manual_entry SIGNALS[] = {
    {"SIGTERM, SIGINT",
     "Takes nothing new, finishes what is in hand, ends. What does not finish in time comes again "
     "elsewhere, as it would after a crash."},
    {"SIGHUP",
     "Reads the files of secrets and certificates again. A secret that cannot be read stays as it was; "
     "with certificates that cannot be read, new connections fail; both are logged. "
     "Open connections go on; the next ones use what is new."},
    {0}};

static const struct mg_manual_entry EXIT_CODES[] = {
    {"0", "ended as asked"},
    {"1", "could not start, or must not go on"},
    {"2", "usage or configuration; starting again does not help"},
    {0}};

static const struct mg_manual_entry SCHEDULER_FILES[] = {
    {"/etc/makegood/scheduler.conf", "The configuration that the unit makegood-scheduler@.service names."},
    {"/etc/makegood/scheduler@INSTANCE.env", "Variables of one instance, such as MAKEGOOD_HTTP."},
    {"/etc/makegood/secrets/scheduler/", "Its secrets, readable for root and the group makegood."},
    {0}};

static const struct mg_manual_entry AGENT_FILES[] = {
    {"/etc/makegood/agent.conf", "The configuration that the unit makegood-agent@.service names."},
    {"/etc/makegood/services/SERVICE.json", "The service file of makegood-agent@SERVICE.service."},
    {"/etc/makegood/agent@SERVICE.env", "Variables of one instance, such as MAKEGOOD_HTTP."},
    {"/etc/makegood/secrets/agent-SERVICE/", "Its secrets, readable for root and the group makegood."},
    {0}};

static const struct mg_manual_entry SUPERVISOR_FILES[] = {
    {"/etc/makegood/supervisor.conf", "The configuration that the unit makegood-supervisor.service names."},
    {"/etc/makegood/secrets/supervisor/", "Its secrets, readable for root and the group makegood."},
    {0}};

static const struct mg_manual_part SCHEDULER_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", SCHEDULER_FILES}, {0}};
static const struct mg_manual_part AGENT_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", AGENT_FILES}, {0}};
static const struct mg_manual_part SUPERVISOR_PARTS[] = {
    {"SIGNALS", SIGNALS}, {"EXIT STATUS", EXIT_CODES}, {"FILES", SUPERVISOR_FILES}, {0}};

const struct mg_manual mg_manual_scheduler = {
    8,
    "makegood-scheduler takes orders from RabbitMQ, keeps them in PostgreSQL, and carries each through the steps "
    "of its workflow: it sends requests to agents and takes their replies. If a step fails for good, it has "
    "undone what may have happened.\n\n"
    "Any number of schedulers share the work. One that ends, however it ends, delays no order: what it had in "
    "hand goes to the others at once.\n\n"
    "It answers /healthz, /readyz and /metrics where --http says.",
    NULL, SCHEDULER_PARTS, "makegood(1), makegood-agent(8), makegood-supervisor(8)"};

const struct mg_manual mg_manual_agent = {
    8,
    "makegood-agent takes the requests of one service, or of a few, from RabbitMQ, calls the service over HTTP, and "
    "replies. It knows no database and no other service.\n\n"
    "Every call carries the header Idempotency-Key, the same for every try and every agent, so that the service can "
    "recognise a repeated request. Past a request's deadline the agent says nothing: the schedulers judge that "
    "attempt.\n\n"
    "Any number of agents share the work of a service.",
    NULL, AGENT_PARTS, "makegood(1), makegood-scheduler(8), makegood-supervisor(8)"};

const struct mg_manual mg_manual_supervisor = {
    8,
    "makegood-supervisor looks periodically for what is due: attempts that are overdue, waits that are over, orders "
    "that have expired, messages still owed. It asks the schedulers to see to it; it changes no order itself.\n\n"
    "Of several supervisors one leads. If it ends, another takes over within seconds.",
    NULL, SUPERVISOR_PARTS, "makegood(1), makegood-scheduler(8), makegood-agent(8)"};
