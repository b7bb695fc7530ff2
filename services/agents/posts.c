/* See posts.h. */
#include "agents/posts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/folder.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

/* A process that ran for this long had started well; its end is no fault of its file. */
#define SETTLED_MS     10000
#define RESTART_MIN_MS 500
#define RESTART_MAX_MS 30000 /* bounds the logs of a service that cannot start, not its recovery */
/* A file that is missing at one look may be between an editor's removal and its new one. */
#define MISSING_LOOKS 2
/* Above the agent's own bound of its end after the drain. */
#define KILL_AFTER_DRAIN_MS 20000
/* The exit code of an agent that refuses its configuration. Its service file is right, so the mistake is in a
 * file that it names, or a secret is missing: these may be repaired without a change of the service file. */
#define EXIT_REFUSED     2
#define REFUSED_RETRY_MS 60000
/* Agents that fill the memory for messages of this machine or control group: so many share it. */
#define MEMORY_SHARES 16

struct post {
    TAILQ_ENTRY(post) entry;
    struct mg_posts *posts;
    char name[MG_NAME_MAX + 1];
    int folder;                  /* of its file */
    struct mg_stamp seen, tried; /* the file at the last look; the one that was last acted upon */
    bool is_tried;
    int missing;                 /* looks without the file */
    char fault[MG_ERR_TEXT_MAX]; /* of the file as tried; "": none */
    bool is_refused;             /* by the last process started */
    struct mg_agents_child *serving, *coming;
    bool is_outdated; /* `serving` has an older file */
    int failures;     /* since a process ran for a while */
    int64_t start_at_ms;
    struct mg_metric *up, *refused, *starts;
};

struct mg_posts {
    struct mg_posts_setup setup;
    TAILQ_HEAD(, post) list;
    struct mg_agents_children stopping;
    struct mg_listing listing;
    int64_t memory_budget;
    int surplus;         /* as last logged */
    bool is_folder_lost; /* as last logged */
    bool has_looked, is_draining;
};

static bool is_ready(const struct mg_agents_child *child)
{
    return child != NULL && mg_notified_is_ready(&child->notified);
}

/* ---- processes ---- */

static void post_on_end(struct mg_agents_child *child, int exit_code);

static void path_of(const struct post *post, char ret_path[MG_SERVICE_PATH_SIZE])
{
    mg_service_path(post->posts->setup.options->folders, post->folder, post->name, ret_path);
}

/* Starts the process that is to serve. Only a failed start is logged: the process logs its own. */
static void post_start(struct post *post)
{
    const struct mg_posts_setup *of = &post->posts->setup;
    char path[MG_SERVICE_PATH_SIZE];
    struct mg_err err;
    path_of(post, path);
    const struct mg_agents_child_setup setup = {.loop = of->loop,
                                                .name = post->name,
                                                .path = path,
                                                .agent_config = of->options->agent_config,
                                                .notify_socket = of->notify_socket,
                                                .drain_timeout_ms = of->options->drain_timeout_ms,
                                                .memory_budget = post->posts->memory_budget,
                                                .on_end = post_on_end,
                                                .arg = post};
    mg_metric_add(post->starts, 1);
    if (mg_agents_child_start(&setup, &post->coming, &err) != MG_OK) {
        mg_log(MG_LOG_ERROR, "could not start an agent; it is tried again",
               MG_LOG_TEXT("service", post->name), MG_LOG_TEXT("reason", err.text));
        post->start_at_ms = mg_clock_boot_ms() + RESTART_MAX_MS;
    }
}

static void child_retire(struct mg_posts *posts, struct mg_agents_child *child)
{
    if (child == NULL) {
        return;
    }
    child->arg = posts; /* it belongs to no post any more */
    TAILQ_INSERT_TAIL(&posts->stopping, child, entry);
    mg_agents_child_stop(child,
                         mg_clock_boot_ms() + posts->setup.options->drain_timeout_ms + KILL_AFTER_DRAIN_MS);
}

static int64_t restart_delay_ms(const struct post *post)
{
    int64_t delay_ms = RESTART_MIN_MS;
    for (int i = 1; i < post->failures && delay_ms < RESTART_MAX_MS; i++) {
        delay_ms *= 2;
    }
    return delay_ms < RESTART_MAX_MS ? delay_ms : RESTART_MAX_MS;
}

/* A new process that refuses its configuration has printed the reason. */
static void post_refused(struct post *post)
{
    post->is_refused = true;
    post->start_at_ms = mg_clock_boot_ms() + REFUSED_RETRY_MS;
    mg_log(MG_LOG_ERROR, "an agent has refused its configuration; repair the files of its message above",
           MG_LOG_TEXT("service", post->name),
           MG_LOG_TEXT("serves", post->serving != NULL ? "the old file" : "nothing"),
           MG_LOG_NUMBER("tried_again_after_ms", REFUSED_RETRY_MS));
}

static void post_failed(struct post *post, const struct mg_agents_child *child, int exit_code)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool was_well = now_ms - child->begun_ms >= SETTLED_MS;
    post->failures = was_well ? 0 : post->failures + 1;
    int64_t delay_ms = was_well ? 0 : restart_delay_ms(post);
    post->start_at_ms = now_ms + delay_ms;
    mg_log(MG_LOG_ERROR, "an agent has ended; another one is started", MG_LOG_TEXT("service", post->name),
           MG_LOG_NUMBER(exit_code < 0 ? "signal" : "exit_code", exit_code < 0 ? -exit_code : exit_code),
           MG_LOG_NUMBER("after_ms", delay_ms));
}

/* Starts a process if one is needed and due. */
static void post_start_due(struct post *post)
{
    bool is_needed = post->coming == NULL && (post->serving == NULL || post->is_outdated);
    if (is_needed && post->is_tried && post->fault[0] == '\0' && post->start_at_ms <= mg_clock_boot_ms()) {
        post_start(post);
    }
}

static void retired_end(struct mg_posts *posts, struct mg_agents_child *child)
{
    TAILQ_REMOVE(&posts->stopping, child, entry);
    mg_log(MG_LOG_INFO, "an agent has drained", MG_LOG_TEXT("service", child->name));
    mg_agents_child_destroy(child);
    if (posts->is_draining && TAILQ_EMPTY(&posts->stopping)) {
        posts->setup.on_empty(posts->setup.arg);
    }
}

static void post_on_end(struct mg_agents_child *child, int exit_code)
{
    if (child->is_stopping) {
        retired_end(child->arg, child);
        return;
    }
    struct post *post = child->arg;
    bool is_coming = child == post->coming;
    if (is_coming) {
        post->coming = NULL;
    } else {
        post->serving = NULL;
    }
    if (is_coming && exit_code == EXIT_REFUSED) {
        post_refused(post);
    } else {
        post_failed(post, child, exit_code);
    }
    mg_agents_child_destroy(child);
    post_start_due(post);
}

static void post_take_over(struct post *post)
{
    if (post->coming == NULL || !post->coming->notified.has_started ||
        (is_ready(post->serving) && !is_ready(post->coming))) {
        return;
    }
    mg_log(MG_LOG_INFO, post->serving != NULL ? "a new agent takes over" : "an agent serves",
           MG_LOG_TEXT("service", post->name), MG_LOG_NUMBER("pid", post->coming->pid));
    child_retire(post->posts, post->serving);
    post->serving = post->coming;
    post->coming = NULL;
    post->is_outdated = post->is_refused = false;
}

/* ---- posts ---- */

static struct mg_metric *series(const struct post *post, enum mg_metric_type type, const char *name,
                                const char *help)
{
    char labels[MG_NAME_MAX + 16];
    (void)snprintf(labels, sizeof(labels), "service=\"%s\"", post->name);
    return mg_metrics_series(post->posts->setup.metrics, type, name, labels, help);
}

static struct post *post_create(struct mg_posts *posts, const char *name)
{
    struct post *post = calloc(1, sizeof(*post));
    if (post == NULL) {
        return NULL; /* the next look tries again */
    }
    post->posts = posts;
    (void)snprintf(post->name, sizeof(post->name), "%s", name);
    post->up = series(post, MG_GAUGE, "makegood_agents_up", "1 while the service has an agent that is ready");
    post->refused = series(post, MG_GAUGE, "makegood_agents_file_refused",
                           "1 while the service's file has a mistake and is not used");
    post->starts =
        series(post, MG_COUNTER, "makegood_agents_starts_total", "processes started for the service");
    TAILQ_INSERT_TAIL(&posts->list, post, entry);
    return post;
}

/* Its processes drain. */
static void post_destroy(struct post *post)
{
    mg_metric_silence(post->up);
    mg_metric_silence(post->refused);
    child_retire(post->posts, post->serving);
    child_retire(post->posts, post->coming);
    TAILQ_REMOVE(&post->posts->list, post, entry);
    free(post);
}

/* The file is as at the last look, and differs from the one last acted upon. */
static void post_act(struct post *post)
{
    char path[MG_SERVICE_PATH_SIZE];
    struct mg_err err;
    path_of(post, path);
    post->tried = post->seen;
    post->is_tried = true;
    post->fault[0] = '\0';
    if (mg_service_file_check(path, post->name, &err) != MG_OK) {
        (void)snprintf(post->fault, sizeof(post->fault), "%s", err.text);
        mg_log(MG_LOG_ERROR, "a service file has a mistake and is not used until it is repaired",
               MG_LOG_TEXT("service", post->name), MG_LOG_TEXT("reason", err.text),
               MG_LOG_TEXT("serves", post->serving != NULL ? "the old file" : "nothing"));
        return;
    }
    child_retire(post->posts, post->coming); /* of an older file that never served */
    post->coming = NULL;
    post->is_outdated = true;
    post->failures = 0;
    post->start_at_ms = 0;
    post_start_due(post);
}

static void post_look(struct post *post, const struct mg_stamp *stamp)
{
    bool is_still = mg_stamp_equal(&post->seen, stamp);
    post->seen = *stamp;
    post->missing = 0;
    if (is_still && !(post->is_tried && mg_stamp_equal(&post->tried, stamp))) {
        post_act(post);
    }
}

static struct post *post_find(struct mg_posts *posts, const char *name)
{
    struct post *post = NULL;
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        if (strcmp(post->name, name) == 0) {
            break;
        }
    }
    return post;
}

static void surplus_log(struct mg_posts *posts)
{
    if (posts->listing.surplus > 0 && posts->listing.surplus != posts->surplus) {
        mg_log(MG_LOG_ERROR, "too many service files: some are not served; serve them by another process",
               MG_LOG_NUMBER("served", MG_AGENTS_MAX), MG_LOG_NUMBER("not_served", posts->listing.surplus));
    }
    posts->surplus = posts->listing.surplus;
}

static bool folder_list(struct mg_posts *posts)
{
    struct mg_err err;
    if (mg_folders_list(posts->setup.options->folders, &posts->listing, &err) == MG_OK) {
        posts->is_folder_lost = false;
        surplus_log(posts);
        return true;
    }
    if (!posts->is_folder_lost) {
        mg_log(MG_LOG_ERROR, "a folder is unreadable: all agents go on as they are",
               MG_LOG_TEXT("reason", err.text));
    }
    posts->is_folder_lost = true;
    return false;
}

static void folder_look(struct mg_posts *posts)
{
    struct post *post, *next;
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        post->missing++;
    }
    for (int i = 0; i < posts->listing.count; i++) {
        post = post_find(posts, posts->listing.files[i].name);
        if (post == NULL) {
            post = post_create(posts, posts->listing.files[i].name);
            if (post != NULL && !posts->has_looked) {
                post->seen = posts->listing.files[i].stamp; /* at the start there is no earlier look */
            }
        }
        if (post != NULL) {
            post->folder = posts->listing.files[i].folder;
            post_look(post, &posts->listing.files[i].stamp);
        }
    }
    for (post = TAILQ_FIRST(&posts->list); post != NULL; post = next) {
        next = TAILQ_NEXT(post, entry);
        if (post->missing >= MISSING_LOOKS) {
            mg_log(MG_LOG_INFO, "a service file is gone: its agent drains",
                   MG_LOG_TEXT("service", post->name));
            post_destroy(post);
        }
    }
    posts->has_looked = true;
}

/* Children that stall end by themselves afterwards, through post_on_end. */
static void children_look(struct mg_posts *posts, int64_t now_ms)
{
    struct post *post;
    struct mg_agents_child *child;
    TAILQ_FOREACH(child, &posts->stopping, entry)
    {
        (void)mg_agents_child_look(child, now_ms);
    }
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        if (post->serving != NULL) {
            (void)mg_agents_child_look(post->serving, now_ms);
        }
        if (post->coming != NULL) {
            (void)mg_agents_child_look(post->coming, now_ms);
        }
    }
}

void mg_posts_look(struct mg_posts *posts)
{
    struct post *post;
    children_look(posts, mg_clock_boot_ms());
    if (posts->is_draining) {
        return;
    }
    if (folder_list(posts)) {
        folder_look(posts);
    }
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        post_take_over(post);
        post_start_due(post);
        mg_metric_set(post->up, is_ready(post->serving));
        mg_metric_set(post->refused, post->fault[0] != '\0' || post->is_refused);
    }
}

struct mg_posts *mg_posts_create(const struct mg_posts_setup *setup)
{
    struct mg_posts *posts = calloc(1, sizeof(*posts));
    if (posts == NULL) {
        return NULL;
    }
    size_t share = mg_memory_budget(0, mg_memory_limit(NULL, NULL)) / MEMORY_SHARES;
    posts->setup = *setup;
    posts->memory_budget = share > MG_MEMORY_BUDGET_MIN ? (int64_t)share : MG_MEMORY_BUDGET_MIN;
    TAILQ_INIT(&posts->list);
    TAILQ_INIT(&posts->stopping);
    return posts;
}

void mg_posts_destroy(struct mg_posts *posts)
{
    if (posts == NULL) {
        return;
    }
    while (!TAILQ_EMPTY(&posts->list)) {
        post_destroy(TAILQ_FIRST(&posts->list));
    }
    while (!TAILQ_EMPTY(&posts->stopping)) {
        struct mg_agents_child *child = TAILQ_FIRST(&posts->stopping);
        TAILQ_REMOVE(&posts->stopping, child, entry);
        mg_agents_child_destroy(child);
    }
    free(posts);
}

void mg_posts_drain(struct mg_posts *posts)
{
    if (posts->is_draining) {
        struct mg_agents_child *child;
        TAILQ_FOREACH(child, &posts->stopping, entry)
        {
            mg_agents_child_signal(child, SIGTERM);
        }
        return;
    }
    posts->is_draining = true;
    while (!TAILQ_EMPTY(&posts->list)) {
        post_destroy(TAILQ_FIRST(&posts->list));
    }
    if (TAILQ_EMPTY(&posts->stopping)) {
        posts->setup.on_empty(posts->setup.arg);
    }
}

void mg_posts_reload(struct mg_posts *posts)
{
    struct post *post;
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        post->start_at_ms = 0; /* a secret may have come */
        if (post->serving != NULL) {
            mg_agents_child_signal(post->serving, SIGHUP);
        }
        /* Before its loop runs, a signal would end it. It has not read its files yet, or just now. */
        if (post->coming != NULL && post->coming->notified.has_started) {
            mg_agents_child_signal(post->coming, SIGHUP);
        }
    }
}

void mg_posts_take(struct mg_posts *posts, pid_t pid, const char *text, size_t len)
{
    struct post *post;
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        struct mg_agents_child *child = post->coming;
        if (child == NULL || child->pid != pid) {
            child = post->serving;
        }
        if (child != NULL && child->pid == pid) {
            mg_agents_child_take(child, text, len);
            post_take_over(post);
            return;
        }
    }
}

static void note(char *ret_reason, size_t size, const char *name, const char *text)
{
    size_t len = strlen(ret_reason);
    (void)snprintf(ret_reason + len, size - len, "%s%s: %s", len > 0 ? "; " : "", name, text);
}

bool mg_posts_are_ready(const struct mg_posts *posts, char *ret_reason, size_t size)
{
    const struct post *post;
    bool are_ready = true;
    ret_reason[0] = '\0';
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        bool has_agent = is_ready(post->serving);
        are_ready = are_ready && has_agent;
        if (post->fault[0] != '\0') {
            note(ret_reason, size, post->name, post->fault);
        } else if (post->is_refused) {
            note(ret_reason, size, post->name, "its agent has refused its configuration (see its log)");
        } else if (!has_agent) {
            bool is_known = post->serving != NULL && post->serving->notified.status[0] != '\0';
            note(ret_reason, size, post->name,
                 is_known ? post->serving->notified.status : "no agent runs yet");
        }
    }
    if (posts->is_folder_lost) {
        note(ret_reason, size, "folders", "one is unreadable; the agents go on");
    } else if (TAILQ_EMPTY(&posts->list)) {
        note(ret_reason, size, "folders", "no service file is there");
    }
    return are_ready && !posts->is_draining;
}

void mg_posts_walk(const struct mg_posts *posts,
                   void (*visit)(void *arg, const struct mg_agents_child *child), void *arg)
{
    const struct post *post;
    TAILQ_FOREACH(post, &posts->list, entry)
    {
        if (post->serving != NULL) {
            visit(arg, post->serving);
        }
    }
}
