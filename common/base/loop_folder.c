/* See loop_folder.h. */
#include "base/loop_folder.h"

#include <stdlib.h>

#include "base/loop_uv.h"

struct mg_folder_watch {
    uv_fs_event_t handle;
    mg_loop_fn *fn;
    void *arg;
};

static void on_event(uv_fs_event_t *handle, const char *name, int events, int status)
{
    struct mg_folder_watch *watch = handle->data;
    (void)name;
    (void)events;
    (void)status; /* after an error, too, the caller looks for itself */
    watch->fn(watch->arg);
}

struct mg_folder_watch *mg_folder_watch_create(struct mg_loop *loop, const char *path, mg_loop_fn *fn,
                                               void *arg)
{
    struct mg_folder_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        return NULL;
    }
    watch->fn = fn;
    watch->arg = arg;
    (void)uv_fs_event_init(mg_loop_uv(loop), &watch->handle); /* always 0 */
    watch->handle.data = watch;
    if (uv_fs_event_start(&watch->handle, on_event, path, 0) != 0) {
        mg_folder_watch_destroy(watch);
        return NULL;
    }
    return watch;
}

void mg_folder_watch_destroy(struct mg_folder_watch *watch)
{
    if (watch != NULL) {
        mg_loop_close((uv_handle_t *)&watch->handle);
    }
}
