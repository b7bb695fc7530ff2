/*
 * The agent: common/serving with an executor that runs the handlers of the user. Its loop runs on the thread
 * of mg_agent_run, and each handler on one of the pool. Both wake the loop by a descriptor: a handler that is
 * done, and mg_agent_stop.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "core/key.h"
#include "handling.h"

#define DRAIN_TIMEOUT_MS INT64_C(30000)
/* As makegood-agent's: quiescing allows for this difference from the database's clock. */
#define SKEW_LIMIT_MS 2000
#define MEMORY_BYTES  ((size_t)128 << 20)
#define MEMORY_MIN    ((size_t)16 << 20) /* less holds no message of the largest size */
/* As the defaults of a service file. A handler is called once in an attempt. */
#define TRIES            1
#define FAILURE_RATIO    0.5
#define MIN_CALLS        20
#define WINDOW_MS        10000
#define OPEN_MS          5000
#define PROBES           1
#define RESULT_MAX_BYTES ((size_t)64 * 1024)
#define ANSWER_MAX_BYTES ((size_t)1024 * 1024)

struct library_agent {
    struct mg_agent agent; /* first: its pointer is the user's handle */
    pid_t maker;           /* a child shares its descriptors */
    struct mg_serving_options options;
    char instance[MG_INSTANCE_MAX + 1];
    char *texts[4]; /* of the options: URL and files */
    int concurrency;
    bool takes_signals, has_run;
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_pool *pool;
    struct mg_watch *watch;
    int wake_fd;
    atomic_int stops; /* calls of mg_agent_stop */
    int stops_seen;
};

/* The handlers of a service. */
struct handlers {
    mg_work_fn *of_kind[MG_KIND_COUNT];
    void *arg;
};

struct library_job {
    struct mg_job job;
    struct mg_library_work *work; /* of the try under way */
};

static struct library_agent *library_of(struct mg_agent *agent)
{
    return (struct library_agent *)agent;
}

/* ---- executor ---- */

static enum mg_class handlers_open(struct mg_served *served, struct mg_err *err)
{
    (void)served;
    (void)err;
    return MG_OK;
}

static void handlers_close(struct mg_served *served)
{
    free(served->works);
    free(served->service);
    served->works = NULL;
    served->service = NULL;
}

static void not_handled(struct mg_job *job, enum mg_outcome outcome, const char *code, const char *why)
{
    struct mg_verdict_of_try verdict;
    mg_verdict_make((struct mg_maybe){outcome, MG_EXECUTED_NO, false}, MG_CALL_VOID, MG_ERROR_REASON_NONE,
                    why, &verdict);
    mg_verdict_code_set(&verdict, code);
    mg_job_tried(job, &verdict, NULL);
}

static void handler_begin(struct mg_job *job)
{
    struct library_job *own = (struct library_job *)job;
    struct mg_pool *pool = library_of(job->served->agent)->pool;
    const struct handlers *handlers = job->served->works;
    mg_work_fn *handler = handlers->of_kind[job->request.kind];
    if (handler == NULL) {
        char why[64];
        (void)snprintf(why, sizeof(why), "the agent has no %s", mg_kind_name(job->request.kind));
        not_handled(job, MG_OUTCOME_PERMANENT, "no_handler", why);
        return;
    }
    if (mg_job_budget_ms(job) <= 0) {
        mg_job_try_is_late(job);
        return;
    }
    own->work = mg_library_work_create(job, handler, handlers->arg);
    if (own->work == NULL || !mg_pool_add(pool, own->work)) {
        if (own->work != NULL) {
            mg_library_work_free(own->work);
            own->work = NULL;
        }
        not_handled(job, MG_OUTCOME_TRANSIENT, mg_error_reason_name(MG_ERROR_REASON_BREAKER_OPEN),
                    "no memory or no thread");
    }
}

/* A handler that has begun runs on, and its answer is dropped. */
static void handler_cancel(struct mg_job *job)
{
    struct library_job *own = (struct library_job *)job;
    own->work->job = NULL;
    if (mg_pool_withdraw(library_of(job->served->agent)->pool, own->work)) {
        mg_library_work_free(own->work);
    }
    own->work = NULL;
}

static void handler_end(struct mg_library_work *work)
{
    struct mg_job *job = work->job;
    const struct mg_verdict_of_try *verdict = &work->verdict;
    const struct mg_reply_parts parts = {.result = work->result, .is_truncated = work->is_result_cut};
    ((struct library_job *)job)->work = NULL;
    mg_log(verdict->code[0] == '\0' ? MG_LOG_DEBUG : MG_LOG_INFO, "handler returned",
           MG_LOG_TEXT("order_id", job->request.order_id), MG_LOG_TEXT("step", job->request.step),
           MG_LOG_NUMBER("attempt", job->request.attempt),
           MG_LOG_TEXT("outcome", mg_outcome_name(verdict->outcome)), MG_LOG_TEXT("why", verdict->text));
    mg_job_tried(job, &work->verdict, &parts);
}

static const struct mg_executor handler_executor = {
    .job_bytes = sizeof(struct library_job),
    .open = handlers_open,
    .close = handlers_close,
    .begin = handler_begin,
    .cancel = handler_cancel,
};

/* ---- the loop ---- */

static void on_wake(void *arg, int events)
{
    struct library_agent *library = arg;
    struct mg_library_work *work;
    uint64_t count;
    (void)events;
    (void)!read(library->wake_fd, &count, sizeof(count)); /* only its readiness counts */
    while ((work = mg_pool_take_done(library->pool)) != NULL) {
        if (work->job != NULL) {
            handler_end(work);
        }
        mg_library_work_free(work);
    }
    for (; library->stops_seen < atomic_load(&library->stops); library->stops_seen++) {
        mg_agent_drain(&library->agent);
    }
}

static enum mg_class start(struct library_agent *library, struct mg_err *err)
{
    struct mg_agent *agent = &library->agent;
    int threads = agent->served_count * library->concurrency;
    library->pool = mg_pool_create(threads, library->wake_fd);
    if (library->pool == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start an agent: no memory");
    }
    if (library->takes_signals && (!mg_loop_on_signal(library->loop, SIGTERM, mg_agent_drain, agent) ||
                                   !mg_loop_on_signal(library->loop, SIGINT, mg_agent_drain, agent))) {
        return mg_err_set(err, MG_TRANSIENT, "could not start an agent: its signals cannot be taken");
    }
    enum mg_class class = mg_agent_start(agent, library->loop, library->metrics, err);
    if (class == MG_OK) {
        mg_watch_set(library->watch, MG_READABLE);
    }
    return class;
}

/* A peer that is gone is an error of write(2) here, and the program's own SIGPIPE stays as it is. */
static void pipe_signal_block(sigset_t *ret_old)
{
    sigset_t pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, ret_old);
}

static void pipe_signal_restore(const sigset_t *old)
{
    const struct timespec at_once = {0, 0};
    sigset_t pipe_only;
    if (sigismember(old, SIGPIPE) != 0) {
        return;
    }
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigtimedwait(&pipe_only, NULL, &at_once);
    (void)pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
}

static enum mg_error_code agent_check(const struct library_agent *library, struct mg_error *error)
{
    if (library == NULL) {
        return mg_error_set(error, MG_ERROR_INPUT, "there is no agent");
    }
    return mg_library_is_own(library->maker, error) ? MG_ERROR_NONE : MG_ERROR_CLOSED;
}

static enum mg_error_code agent_run_held(struct mg_agent *agent, struct mg_error *error)
{
    struct library_agent *library = library_of(agent);
    struct mg_err err;
    sigset_t old;
    enum mg_error_code code = agent_check(library, error);
    if (code != MG_ERROR_NONE) {
        return code;
    }
    if (library->has_run || agent->served_count == 0) {
        return mg_error_set(error, MG_ERROR_INPUT, "%s",
                            library->has_run ? "the agent has run" : "the agent serves no service");
    }
    library->has_run = true;
    pipe_signal_block(&old);
    enum mg_class class = start(library, &err);
    if (class == MG_OK) {
        mg_loop_run(library->loop);
    }
    int running = library->pool != NULL ? mg_pool_running(library->pool) : 0;
    mg_agent_finish(agent);
    pipe_signal_restore(&old);
    if (class != MG_OK) {
        return mg_error_from(error, &err);
    }
    return running == 0
               ? MG_ERROR_NONE
               : mg_error_set(error, MG_ERROR_TIMEOUT, "%d handlers did not return in time", running);
}

enum mg_error_code mg_agent_run(struct mg_agent *agent, struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = agent_run_held(agent, error);
    mg_library_cancel_release(state);
    return code;
}

void mg_agent_stop(struct mg_agent *agent)
{
    struct library_agent *library = library_of(agent);
    const uint64_t one = 1;
    if (library == NULL || getpid() != library->maker) {
        return;
    }
    atomic_fetch_add(&library->stops, 1);
    (void)!write(library->wake_fd, &one, sizeof(one)); /* fails only if the loop is to wake already */
}

/* ---- opening and closing ---- */

/* A limit of an operator counts instances, so each agent of a process has a name of its own. */
static void instance_name(char ret_name[MG_INSTANCE_MAX + 1])
{
    static atomic_uint agents;
    char number[16] = "";
    unsigned before = atomic_fetch_add(&agents, 1);
    if (before > 0) {
        (void)snprintf(number, sizeof(number), ":%u", before + 1);
    }
    size_t room = MG_INSTANCE_MAX + 1 - strlen(number);
    mg_instance_name(ret_name, room);
    memcpy(ret_name + strlen(ret_name), number, strlen(number) + 1);
}

static bool options_keep(struct library_agent *library, const struct mg_agent_options *options)
{
    const char *const given[] = {options->url, options->ca_file, options->cert_file, options->key_file};
    bool is_kept = true;
    for (int i = 0; i < 4; i++) {
        library->texts[i] = given[i] != NULL ? strdup(given[i]) : NULL;
        is_kept = is_kept && (library->texts[i] != NULL) == (given[i] != NULL);
    }
    if (options->instance != NULL && options->instance[0] != '\0') {
        (void)snprintf(library->instance, sizeof(library->instance), "%s", options->instance);
    } else {
        instance_name(library->instance);
    }
    library->concurrency = options->concurrency != 0 ? options->concurrency : MG_AGENT_CONCURRENCY_DEFAULT;
    library->takes_signals = options->takes_signals;
    library->options = (struct mg_serving_options){
        .broker = {.url = library->texts[0],
                   .tls = {library->texts[1], library->texts[2], library->texts[3]},
                   .is_plaintext_allowed = options->is_plaintext_allowed,
                   .names = &mg_library_names},
        .instance = library->instance,
        .drain_timeout_ms = options->drain_timeout_ms > 0 ? options->drain_timeout_ms : DRAIN_TIMEOUT_MS,
        .skew_limit_ms = SKEW_LIMIT_MS,
        .memory_bytes = options->memory_bytes != 0 ? options->memory_bytes : MEMORY_BYTES,
    };
    library->agent.options = &library->options;
    library->agent.executor = &handler_executor;
    return is_kept;
}

static enum mg_error_code options_check(const struct mg_agent_options *options, struct mg_error *error)
{
    if (options == NULL || options->url == NULL) {
        return mg_error_set(error, MG_ERROR_INPUT, "an agent needs the broker's URL");
    }
    if (options->concurrency < 0 || options->concurrency > MG_AGENT_CONCURRENCY_MAX) {
        return mg_error_set(error, MG_ERROR_INPUT, "a concurrency of %d: 1 to %d are possible",
                            options->concurrency, MG_AGENT_CONCURRENCY_MAX);
    }
    if (options->memory_bytes != 0 && options->memory_bytes < MEMORY_MIN) {
        return mg_error_set(error, MG_ERROR_INPUT, "a memory of %zu bytes: at least %zu are needed",
                            options->memory_bytes, MEMORY_MIN);
    }
    if (options->instance != NULL && strlen(options->instance) > MG_INSTANCE_MAX) {
        return mg_error_set(error, MG_ERROR_INPUT, "an instance's name has at most %d bytes",
                            MG_INSTANCE_MAX);
    }
    return MG_ERROR_NONE;
}

static enum mg_error_code agent_open_held(const struct mg_agent_options *options, struct mg_agent **ret_agent,
                                          struct mg_error *error)
{
    enum mg_error_code code = options_check(options, error);
    if (code != MG_ERROR_NONE) {
        return code;
    }
    mg_library_log_start();
    struct library_agent *library = calloc(1, sizeof(*library));
    if (library == NULL) {
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not open an agent: no memory");
    }
    library->maker = getpid();
    library->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    library->loop = mg_loop_create_as_guest();
    library->metrics = mg_metrics_create();
    library->watch = library->loop != NULL && library->wake_fd >= 0
                         ? mg_watch_create(library->loop, library->wake_fd, on_wake, library)
                         : NULL;
    if (!options_keep(library, options) || library->watch == NULL || library->metrics == NULL) {
        mg_agent_close(&library->agent);
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not open an agent: no memory or descriptors");
    }
    struct mg_err err;
    if (mg_broker_check_address(&library->options.broker, &err) != MG_OK) {
        mg_agent_close(&library->agent);
        return mg_error_from(error, &err);
    }
    *ret_agent = &library->agent;
    return MG_ERROR_NONE;
}

enum mg_error_code mg_agent_open(const struct mg_agent_options *options, struct mg_agent **ret_agent,
                                 struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = agent_open_held(options, ret_agent, error);
    mg_library_cancel_release(state);
    return code;
}

static void agent_close_held(struct mg_agent *agent)
{
    struct library_agent *library = library_of(agent);
    if (agent == NULL || getpid() != library->maker) {
        return;
    }
    mg_agent_finish(agent);
    mg_pool_close(library->pool);
    mg_watch_destroy(library->watch);
    mg_loop_destroy(library->loop);
    mg_metrics_destroy(library->metrics);
    if (library->wake_fd >= 0) {
        (void)close(library->wake_fd);
    }
    for (int i = 0; i < 4; i++) {
        free(library->texts[i]);
    }
    free(library);
}

void mg_agent_close(struct mg_agent *agent)
{
    int state = mg_library_cancel_hold();
    agent_close_held(agent);
    mg_library_cancel_release(state);
}

static struct mg_service *service_create(const char *name, int concurrency)
{
    struct mg_service *service = calloc(1, sizeof(*service));
    if (service != NULL) {
        (void)snprintf(service->name, sizeof(service->name), "%s", name);
        service->tries = TRIES;
        service->concurrency = concurrency;
        service->breaker.failure_ratio = FAILURE_RATIO;
        service->breaker.min_calls = MIN_CALLS;
        service->breaker.window_ms = WINDOW_MS;
        service->breaker.open_ms = OPEN_MS;
        service->breaker.probes = PROBES;
        service->result_max_bytes = RESULT_MAX_BYTES;
        service->answer_max_bytes = ANSWER_MAX_BYTES;
    }
    return service;
}

static enum mg_error_code service_check(const struct library_agent *library, const char *name,
                                        struct mg_error *error)
{
    const struct mg_agent *agent = &library->agent;
    if (library->has_run) {
        return mg_error_set(error, MG_ERROR_INPUT, "the agent has run");
    }
    if (name == NULL || !mg_name_is_valid(name, strlen(name))) {
        return mg_error_set(
            error, MG_ERROR_INPUT,
            "%.80s is no name of a service: 1 to %d characters a-z, 0-9, \"_\", \"-\", the first a letter",
            name != NULL ? name : "NULL", MG_NAME_MAX);
    }
    if (agent->served_count == MG_AGENT_SERVICES_MAX) {
        return mg_error_set(error, MG_ERROR_INPUT, "an agent serves at most %d services",
                            MG_AGENT_SERVICES_MAX);
    }
    for (int i = 0; i < agent->served_count; i++) {
        if (strcmp(agent->served[i].service->name, name) == 0) {
            return mg_error_set(error, MG_ERROR_INPUT, "the agent serves %s already", name);
        }
    }
    return MG_ERROR_NONE;
}

static enum mg_error_code agent_serve_held(struct mg_agent *agent, const char *service, mg_work_fn *act,
                                           mg_work_fn *undo, mg_work_fn *verify, void *arg,
                                           struct mg_error *error)
{
    const struct library_agent *library = library_of(agent);
    enum mg_error_code code = agent_check(library, error);
    code = code == MG_ERROR_NONE ? service_check(library, service, error) : code;
    if (code != MG_ERROR_NONE) {
        return code;
    }
    struct mg_served *served = &agent->served[agent->served_count++];
    struct handlers *handlers = served->works = calloc(1, sizeof(*handlers));
    served->service = service_create(service, library->concurrency);
    if (handlers == NULL || served->service == NULL) {
        handlers_close(served);
        agent->served_count--;
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not serve %s: no memory", service);
    }
    handlers->of_kind[MG_KIND_DO] = act;
    handlers->of_kind[MG_KIND_UNDO] = undo;
    handlers->of_kind[MG_KIND_VERIFY] = verify;
    handlers->arg = arg;
    return MG_ERROR_NONE;
}

enum mg_error_code mg_agent_serve(struct mg_agent *agent, const char *service, mg_work_fn *act,
                                  mg_work_fn *undo, mg_work_fn *verify, void *arg, struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = agent_serve_held(agent, service, act, undo, verify, arg, error);
    mg_library_cancel_release(state);
    return code;
}
