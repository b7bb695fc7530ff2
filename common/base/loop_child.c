/* See loop_child.h. */
#include "base/loop_child.h"

#include <signal.h>
#include <stdlib.h>

#include "base/loop_uv.h"

struct mg_child {
    uv_process_t handle;
    mg_child_fn *fn;
    void *arg;
    int pid;
    bool has_ended;
};

static void on_exit_of(uv_process_t *handle, int64_t exit_code, int signal_number)
{
    struct mg_child *child = handle->data;
    child->has_ended = true;
    child->fn(child->arg, (int)exit_code, signal_number);
}

enum mg_class mg_child_spawn(struct mg_loop *loop, const struct mg_child_plan *plan, mg_child_fn *fn,
                             void *arg, struct mg_child **ret_child, struct mg_err *err)
{
    struct mg_child *child = calloc(1, sizeof(*child));
    if (child == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory", plan->argv[0]);
    }
    uv_stdio_container_t stdio[] = {{.flags = UV_IGNORE},
                                    {.flags = UV_INHERIT_FD, .data.fd = plan->output_fd},
                                    {.flags = UV_INHERIT_FD, .data.fd = plan->output_fd}};
    const uv_process_options_t options = {.exit_cb = on_exit_of,
                                          .file = plan->argv[0],
                                          .args = plan->argv,
                                          .env = plan->env,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = (int)(sizeof(stdio) / sizeof(stdio[0])),
                                          .stdio = stdio};
    child->fn = fn;
    child->arg = arg;
    int rc = uv_spawn(mg_loop_uv(loop), &child->handle, &options);
    child->handle.data = child;
    if (rc != 0) {
        child->has_ended = true;
        mg_child_destroy(child); /* a handle is initialized even by a failed spawn */
        return mg_err_set(err, MG_PERMANENT, "could not start %s: %s", plan->argv[0], uv_strerror(rc));
    }
    child->pid = uv_process_get_pid(&child->handle);
    *ret_child = child;
    return MG_OK;
}

int mg_child_pid(const struct mg_child *child)
{
    return child->pid;
}

void mg_child_signal(struct mg_child *child, int signal_number)
{
    if (!child->has_ended) {
        (void)uv_process_kill(&child->handle, signal_number); /* fails only for a process that is gone */
    }
}

void mg_child_kill(struct mg_child *child)
{
    if (!child->has_ended) {
        (void)kill(-child->pid, SIGKILL); /* likewise */
    }
}

void mg_child_destroy(struct mg_child *child)
{
    if (child != NULL) {
        mg_loop_close((uv_handle_t *)&child->handle);
    }
}
