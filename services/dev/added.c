/*
 * Services that are added while all runs: a new service file in the folder `services` of the state folder.
 * Its queues are declared, and an agent serves it. Files that were there at the start belong to --service, or
 * to an earlier run.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/loop_folder.h"
#include "dev_run.h"

#define FILES_MAX (4 * MG_LIST_MAX) /* with those of earlier runs */
/* As for workflows: an editor writes a file in several steps, and some mounts report no change. */
#define SETTLE_MS 100
#define LOOK_MS   2000

struct seen {
    char name[NAME_MAX + 1];
    struct timespec changed_at; /* 0: to be looked at again */
};

struct mg_added {
    struct mg_dev *dev;
    char folder[PATH_MAX];
    mg_dev_work_fn *declare;
    struct mg_folder_watch *watch;
    struct mg_timer *look;
    struct seen seen[FILES_MAX];
    int count;
    struct seen *declaring; /* the file of the newest service, while its queues are being declared */
    bool is_delay_reported;
};

static int is_file(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

/* The file if it has changed since the last look; NULL: it has not, is gone, or there are too many. */
static struct seen *changed_find(struct mg_added *added, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int i = 0;
    if (snprintf(path, sizeof(path), "%s/%s", added->folder, name) >= (int)sizeof(path) ||
        stat(path, &status) != 0) {
        return NULL;
    }
    while (i < added->count && strcmp(added->seen[i].name, name) != 0) {
        i++;
    }
    if (i == FILES_MAX) {
        return NULL;
    }
    struct seen *seen = &added->seen[i];
    if (i == added->count) {
        added->count++;
        (void)snprintf(seen->name, sizeof(seen->name), "%s", name);
    }
    bool is_changed = memcmp(&seen->changed_at, &status.st_mtim, sizeof(seen->changed_at)) != 0;
    seen->changed_at = status.st_mtim;
    return is_changed ? seen : NULL;
}

static bool is_served(const struct mg_dev_services *services, const char *name)
{
    for (int i = 0; i < services->count; i++) {
        if (strcmp(services->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- a new service ---- */

static void on_declared(struct mg_dev *dev)
{
    struct mg_added *added = dev->added;
    const struct mg_dev_service *service = &dev->services.items[dev->services.count - 1];
    struct seen *seen = added->declaring;
    struct mg_err err;
    added->declaring = NULL;
    if (dev->is_over) {
        return;
    }
    if (dev->job.class != MG_OK) {
        if (!added->is_delay_reported) {
            mg_dev_print("service %s waits for its queues: %s\n", service->name, dev->job.err.text);
        }
        added->is_delay_reported = true;
        dev->services.count--;
        seen->changed_at = (struct timespec){0};
        return;
    }
    added->is_delay_reported = false;
    if (mg_dev_start_agent(dev, service, &err) != MG_OK) {
        mg_dev_print("service %s: %s\n", service->name, err.text);
        return;
    }
    mg_dev_print("%s: an agent serves %s from now on\n", seen->name, service->name);
    if (dev->workflows != NULL) {
        mg_workflows_set_service_count(dev->workflows, dev->services.count);
    }
}

static void file_take(struct mg_added *added, struct seen *seen)
{
    struct mg_dev *dev = added->dev;
    struct mg_dev_services *services = &dev->services;
    char path[PATH_MAX];
    struct mg_err err;
    if (services->count == MG_LIST_MAX) {
        mg_dev_print("%s is left out: there are %d services already\n", seen->name, MG_LIST_MAX);
        return;
    }
    struct mg_dev_service *service = &services->items[services->count];
    if (snprintf(path, sizeof(path), "%s/%s", added->folder, seen->name) >= (int)sizeof(path)) {
        return; /* it was found by this path */
    }
    if (mg_dev_service_read(path, service, &err) != MG_OK) {
        mg_dev_print("%s: %s\n", seen->name, err.text);
        return;
    }
    if (is_served(services, service->name)) {
        mg_dev_print("%s: an agent serves %s already; this file counts at the next start with --service\n",
                     seen->name, service->name);
        return;
    }
    services->names[services->count++] = service->name;
    added->declaring = seen;
    if (!mg_dev_begin_job(dev, added->declare, on_declared)) {
        added->declaring = NULL;
        services->count--;
        seen->changed_at = (struct timespec){0};
    }
}

/* ---- looking ---- */

/* One new file is taken at a time; the others stay new for the next look. */
static void look(struct mg_added *added, bool is_first)
{
    struct dirent **entries = NULL;
    int count = scandir(added->folder, &entries, is_file, alphasort);
    for (int i = 0; i < count; i++) {
        struct seen *seen = added->declaring == NULL ? changed_find(added, entries[i]->d_name) : NULL;
        if (seen != NULL && !is_first) {
            file_take(added, seen);
        }
        free(entries[i]);
    }
    free(entries);
}

static void on_look(void *arg)
{
    struct mg_added *added = arg;
    mg_dev_bind_signals(added->dev);
    if (!added->dev->is_over && !added->dev->job.is_busy) {
        look(added, false);
    }
}

static void on_change(void *arg)
{
    mg_timer_start(((struct mg_added *)arg)->look, SETTLE_MS, LOOK_MS);
}

enum mg_class mg_dev_take_services(struct mg_dev *dev, mg_dev_work_fn *declare, struct mg_err *err)
{
    enum mg_class class = mg_state_folder(&dev->state, MG_DEV_SERVICES_FOLDER, false, err);
    struct mg_added *added = calloc(1, sizeof(*added));
    if (class != MG_OK || added == NULL) {
        free(added);
        return class != MG_OK ? class : mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    added->dev = dev;
    added->declare = declare;
    added->look = mg_timer_create(dev->loop, on_look, added);
    dev->added = added;
    if (added->look == NULL || !mg_state_path(&dev->state, MG_DEV_SERVICES_FOLDER, added->folder)) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory, or the path is too long");
    }
    look(added, true);
    added->watch = mg_folder_watch_create(dev->loop, added->folder, on_change,
                                          added); /* or NULL: looks find it, later */
    mg_timer_start(added->look, LOOK_MS, LOOK_MS);
    return MG_OK;
}

void mg_dev_leave_services(struct mg_dev *dev)
{
    if (dev->added != NULL) {
        mg_folder_watch_destroy(dev->added->watch);
        mg_timer_destroy(dev->added->look);
    }
    free(dev->added);
    dev->added = NULL;
}
