/* See workflow_folder.h. */
#include "workflow_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/id.h"
#include "base/loop_folder.h"
#include "json/json.h"
#include "workflow/workflow.h"

#define FILES_MAX            128 /* a folder of one project; further files are left out, with a line */
#define DEFINITION_MAX_BYTES ((size_t)1024 * 1024) /* as `workflow load` takes it */
/* An editor writes a file in several steps; the folder is read when they are over. */
#define SETTLE_MS 100
/* The folder is also read without a report of a change, since some mounts report none. */
#define LOOK_MS 2000

struct file {
    char name[256];
    struct timespec changed_at;
    off_t size;
    ino_t inode;
    uint8_t digest[MG_SHA256_SIZE]; /* of the bytes that were last read whole */
    char refused[MG_NAME_MAX + 1];  /* the workflow that another file holds; "": not refused for one */
    bool is_there, is_waiting;      /* seen by this look; to be loaded */
    struct mg_workflow *workflow;   /* the last one without mistakes; NULL: none */
    int64_t version;                /* the one that it is loaded under; 0: none */
};

struct mg_workflows {
    struct mg_workflows_options options;
    struct mg_folder_watch *watch;
    struct mg_timer *look;
    struct file files[FILES_MAX];
    int count;
    struct file *loading;      /* NULL: none is under way */
    struct mg_workflow *fresh; /* of `loading` */
    struct mg_buf numbered;    /* its text under the new version */
    int64_t fresh_version;
    bool is_unreadable, is_crowded, is_delay_reported; /* each is reported once */
};

static void report(const struct mg_workflows *workflows, const char *format, ...) MG_PRINTF(2, 3);
static void report(const struct mg_workflows *workflows, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    workflows->options.report(workflows->options.arg, line);
}

/* ---- numbering ---- */

/* Above the limit of a definition, for the digits of a longer number. */
#define TEXT_MAX ((size_t)2 * 1024 * 1024)

int64_t mg_numbering_next(int64_t written, int64_t newest, bool is_same)
{
    if (written > newest) {
        return written; /* a version that its author has raised counts as it is */
    }
    if (is_same) {
        return 0;
    }
    return newest < MG_WORKFLOW_VERSION_MAX ? newest + 1 : -1;
}

enum mg_class mg_numbering_write(struct mg_slice text, int64_t version, struct mg_buf *ret_text,
                                 struct mg_err *err)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRId64, version);
    return mg_json_set(text, "/version", mg_slice_of(number), ret_text, err);
}

bool mg_numbering_is_same(struct mg_slice a, struct mg_slice b)
{
    struct mg_buf one, other;
    struct mg_err err;
    mg_buf_init(&one, TEXT_MAX);
    mg_buf_init(&other, TEXT_MAX);
    bool is_same = mg_numbering_write(a, 1, &one, &err) == MG_OK &&
                   mg_numbering_write(b, 1, &other, &err) == MG_OK && !one.failed && !other.failed &&
                   mg_slice_equal(mg_buf_slice(&one), mg_buf_slice(&other));
    mg_buf_finish(&one);
    mg_buf_finish(&other);
    return is_same;
}

static void next_load(struct mg_workflows *workflows);

/* ---- loading one ---- */

static void load_end(struct mg_workflows *workflows)
{
    mg_workflow_destroy(workflows->fresh);
    workflows->fresh = NULL;
    mg_buf_finish(&workflows->numbered);
    workflows->loading = NULL;
    next_load(workflows);
}

/* The file is looked at again at the next look, whether it changes or not. */
static void load_postpone(struct mg_workflows *workflows, const char *why)
{
    struct file *file = workflows->loading;
    memset(file->digest, 0, sizeof(file->digest));
    file->inode = 0;
    if (!workflows->is_delay_reported) {
        report(workflows, "%s waits to be loaded: %s", file->name, why);
    }
    workflows->is_delay_reported = true;
    load_end(workflows);
}

static bool is_served(const struct mg_workflows *workflows, const char *service)
{
    for (int i = 0; i < workflows->options.service_count; i++) {
        if (strcmp(workflows->options.services[i], service) == 0) {
            return true;
        }
    }
    return false;
}

static void services_warn(const struct mg_workflows *workflows, const struct file *file)
{
    const struct mg_workflow *workflow = file->workflow;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const char *service = workflow->steps[i].service;
        if (!workflow->plan.steps[i].is_wait && !is_served(workflows, service)) {
            report(
                workflows,
                "%s: step %s waits, since no agent here serves %s; add a service file to the folder services of the state folder, or give "
                "--service %s=URL at the next start",
                file->name, workflow->steps[i].name, service, service);
        }
    }
}

/* The loaded definition counts from now on. */
static void load_finish(struct mg_workflows *workflows, int64_t version)
{
    struct file *file = workflows->loading;
    const struct mg_workflow *fresh = workflows->fresh;
    if (version == fresh->version) {
        report(workflows, "%s: workflow %s, version %" PRId64 "", file->name, fresh->name, version);
    } else {
        report(workflows,
               "%s: workflow %s, version %" PRId64 " (the file has %" PRId64 ", which is loaded already)",
               file->name, fresh->name, version, fresh->version);
    }
    mg_workflow_destroy(file->workflow);
    file->workflow = workflows->fresh;
    file->version = version;
    workflows->fresh = NULL;
    workflows->is_delay_reported = false;
    services_warn(workflows, file);
    load_end(workflows);
}

static void on_stored(void *arg, const struct mg_err *err)
{
    struct mg_workflows *workflows = arg;
    if (err != NULL) {
        load_postpone(workflows, err->text);
    } else {
        load_finish(workflows, workflows->fresh_version);
    }
}

static void on_newest(void *arg, bool is_found, int64_t newest, struct mg_slice text,
                      const struct mg_err *err)
{
    struct mg_workflows *workflows = arg;
    const struct mg_workflow *fresh = workflows->fresh;
    struct mg_err numbering_err;
    if (err != NULL) {
        load_postpone(workflows, err->text);
        return;
    }
    newest = is_found ? newest : 0;
    bool is_same = is_found && mg_numbering_is_same(text, fresh->text);
    int64_t version = mg_numbering_next(fresh->version, newest, is_same);
    if (version == 0) {
        load_finish(workflows, newest);
        return;
    }
    if (version < 0) {
        report(workflows,
               "%s is not loaded: workflow %s has version %" PRId64
               ", behind which none is free; name the workflow anew, and begin with version 1",
               workflows->loading->name, fresh->name, newest);
        load_end(workflows);
        return;
    }
    mg_buf_init(&workflows->numbered, DEFINITION_MAX_BYTES + 32);
    if (mg_numbering_write(fresh->text, version, &workflows->numbered, &numbering_err) != MG_OK ||
        workflows->numbered.failed) {
        load_postpone(workflows, "no memory");
        return;
    }
    workflows->fresh_version = version;
    mg_store_put_workflow(workflows->options.store, fresh->name, version, mg_buf_slice(&workflows->numbered),
                          on_stored, workflows);
}

/* ---- reading one ---- */

/* Each workflow has one file: two would take turns to be the newest. */
static const struct file *other_file_of(const struct mg_workflows *workflows, const struct file *file,
                                        const char *workflow)
{
    for (int i = 0; i < workflows->count; i++) {
        const struct file *other = &workflows->files[i];
        if (other != file && other->workflow != NULL && strcmp(other->workflow->name, workflow) == 0) {
            return other;
        }
    }
    return NULL;
}

static void mistaken_report(const struct mg_workflows *workflows, const struct file *file)
{
    if (file->version > 0) {
        report(workflows, "%s has mistakes; version %" PRId64 " stays in use", file->name, file->version);
    } else {
        report(workflows, "%s has mistakes; it is not loaded", file->name);
    }
}

/* Checks the text; NULL: its mistakes are printed. */
static struct mg_workflow *text_check(const struct mg_workflows *workflows, struct file *file,
                                      struct mg_slice text)
{
    char path[PATH_MAX];
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_workflow *fresh = NULL;
    struct mg_err err;
    (void)snprintf(path, sizeof(path), "%s/%s", workflows->options.folder, file->name);
    file->refused[0] = '\0';
    if (mg_workflow_parse(text, &mistakes, &fresh, &err) != MG_OK) {
        if (printer.count == 0) {
            report(workflows, "%s: %s", path, err.text);
        }
        mistaken_report(workflows, file);
        return NULL;
    }
    const struct file *other = other_file_of(workflows, file, fresh->name);
    if (other != NULL) {
        report(workflows, "%s: workflow %s is in %s, too; keep it in one file", file->name, fresh->name,
               other->name);
        (void)snprintf(file->refused, sizeof(file->refused), "%s", fresh->name);
        mg_workflow_destroy(fresh);
        return NULL;
    }
    return fresh;
}

/* True: the file is on its way into the database. */
static bool load_begin(struct mg_workflows *workflows, struct file *file)
{
    char path[PATH_MAX];
    uint8_t digest[MG_SHA256_SIZE];
    struct mg_buf text;
    struct mg_err err;
    (void)snprintf(path, sizeof(path), "%s/%s", workflows->options.folder, file->name);
    mg_buf_init(&text, DEFINITION_MAX_BYTES);
    if (mg_file_text(path, false, &text, &err) != MG_OK) {
        report(workflows, "%s", err.text);
        mg_buf_finish(&text);
        return false;
    }
    mg_sha256(mg_buf_slice(&text), digest);
    bool is_new = memcmp(digest, file->digest, sizeof(digest)) != 0;
    memcpy(file->digest, digest, sizeof(digest));
    struct mg_workflow *fresh = is_new ? text_check(workflows, file, mg_buf_slice(&text)) : NULL;
    mg_buf_finish(&text);
    if (fresh == NULL) {
        return false;
    }
    workflows->fresh = fresh;
    workflows->loading = file;
    mg_store_get_workflow(workflows->options.store, fresh->name, 0, on_newest, workflows);
    return true;
}

/* One after the other, so that a round prints in the order of the files. */
static void next_load(struct mg_workflows *workflows)
{
    for (int i = 0; i < workflows->count && workflows->loading == NULL; i++) {
        struct file *file = &workflows->files[i];
        if (file->is_waiting) {
            file->is_waiting = false;
            (void)load_begin(workflows, file);
        }
    }
    if (workflows->loading == NULL) {
        workflows->options.changed(workflows->options.arg);
    }
}

/* ---- looking at the folder ---- */

static struct file *file_find(struct mg_workflows *workflows, const char *name)
{
    for (int i = 0; i < workflows->count; i++) {
        if (strcmp(workflows->files[i].name, name) == 0) {
            return &workflows->files[i];
        }
    }
    if (workflows->count == FILES_MAX) {
        if (!workflows->is_crowded) {
            report(workflows, "%s has more than %d files; %s and others are left out",
                   workflows->options.folder, FILES_MAX, name);
        }
        workflows->is_crowded = true;
        return NULL;
    }
    struct file *file = &workflows->files[workflows->count++];
    memset(file, 0, sizeof(*file));
    (void)snprintf(file->name, sizeof(file->name), "%s", name);
    return file;
}

static void file_look(struct mg_workflows *workflows, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s/%s", workflows->options.folder, name);
    struct file *file =
        stat(path, &status) == 0 && S_ISREG(status.st_mode) ? file_find(workflows, name) : NULL;
    if (file == NULL) {
        return;
    }
    file->is_there = true;
    bool is_changed = file->inode != status.st_ino || file->size != status.st_size ||
                      file->changed_at.tv_sec != status.st_mtim.tv_sec ||
                      file->changed_at.tv_nsec != status.st_mtim.tv_nsec;
    file->is_waiting = file->is_waiting || is_changed;
    file->inode = status.st_ino;
    file->size = status.st_size;
    file->changed_at = status.st_mtim;
}

/* A definition: no hidden file, which an editor may keep alongside it. */
static int is_definition(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

/* A file that is gone leaves its loaded versions to the orders; another file may take its workflow over. */
static void gone_forget(struct mg_workflows *workflows)
{
    int kept = 0;
    for (int i = 0; i < workflows->count; i++) {
        struct file *file = &workflows->files[i];
        if (!file->is_there) {
            report(workflows, "%s is gone; its loaded versions stay", file->name);
            mg_workflow_destroy(file->workflow);
            continue;
        }
        if (kept != i) {
            workflows->files[kept] = *file;
        }
        kept++;
    }
    workflows->count = kept;
}

/* A file that was refused is read again when its workflow has become free. */
static void refused_recall(struct mg_workflows *workflows)
{
    for (int i = 0; i < workflows->count; i++) {
        struct file *file = &workflows->files[i];
        if (file->refused[0] != '\0' && other_file_of(workflows, file, file->refused) == NULL) {
            file->refused[0] = '\0';
            memset(file->digest, 0, sizeof(file->digest));
            file->is_waiting = true;
        }
    }
}

static void on_change(void *arg);

/* A folder that was made anew is another one to watch. */
static void watch_renew(struct mg_workflows *workflows)
{
    mg_folder_watch_destroy(workflows->watch);
    workflows->watch =
        mg_folder_watch_create(workflows->options.loop, workflows->options.folder, on_change, workflows);
}

static void look(void *arg)
{
    struct mg_workflows *workflows = arg;
    struct dirent **entries = NULL;
    if (workflows->loading != NULL) {
        return; /* the rows of files stay where they are meanwhile; the next look is soon */
    }
    int count = scandir(workflows->options.folder, &entries, is_definition, alphasort);
    if (count < 0) {
        if (!workflows->is_unreadable) {
            report(workflows, "could not read the folder %s: %s; the loaded workflows stay",
                   workflows->options.folder, strerror(errno));
        }
        workflows->is_unreadable = true;
        return;
    }
    if (workflows->is_unreadable) {
        watch_renew(workflows);
    }
    workflows->is_unreadable = false;
    for (int i = 0; i < workflows->count; i++) {
        workflows->files[i].is_there = false;
    }
    for (int i = 0; i < count; i++) {
        file_look(workflows, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    gone_forget(workflows);
    refused_recall(workflows);
    next_load(workflows);
}

static void on_change(void *arg)
{
    mg_timer_start(((struct mg_workflows *)arg)->look, SETTLE_MS, LOOK_MS);
}

struct mg_workflows *mg_workflows_create(const struct mg_workflows_options *options)
{
    struct mg_workflows *workflows = calloc(1, sizeof(*workflows));
    if (workflows == NULL) {
        return NULL;
    }
    workflows->options = *options;
    workflows->look = mg_timer_create(options->loop, look, workflows);
    if (workflows->look == NULL) {
        free(workflows);
        return NULL;
    }
    watch_renew(workflows);
    mg_timer_start(workflows->look, LOOK_MS, LOOK_MS);
    look(workflows);
    return workflows;
}

void mg_workflows_destroy(struct mg_workflows *workflows)
{
    if (workflows == NULL) {
        return;
    }
    mg_folder_watch_destroy(workflows->watch);
    mg_timer_destroy(workflows->look);
    for (int i = 0; i < workflows->count; i++) {
        mg_workflow_destroy(workflows->files[i].workflow);
    }
    mg_workflow_destroy(workflows->fresh);
    mg_buf_finish(&workflows->numbered);
    free(workflows);
}

void mg_workflows_set_service_count(struct mg_workflows *workflows, int count)
{
    workflows->options.service_count = count;
}

bool mg_workflows_are_settled(const struct mg_workflows *workflows)
{
    return workflows->loading == NULL;
}

void mg_workflows_signals(const struct mg_workflows *workflows, void (*found)(void *arg, const char *signal),
                          void *arg)
{
    for (int i = 0; i < workflows->count; i++) {
        const struct mg_workflow *workflow = workflows->files[i].workflow;
        for (int step = 0; workflow != NULL && step < workflow->plan.step_count; step++) {
            if (workflow->steps[step].signal != NULL) {
                found(arg, workflow->steps[step].signal->name);
            }
        }
    }
}

/* ---- an example ---- */

const char *mg_workflows_example(const struct mg_workflows *workflows, struct mg_buf *ret_payload)
{
    for (int i = 0; i < workflows->count; i++) {
        const struct mg_workflow *workflow = workflows->files[i].workflow;
        if (workflow == NULL) {
            continue;
        }
        mg_workflow_example(workflow, ret_payload);
        return workflow->name;
    }
    return NULL;
}
