/* See fake_http.h. */
#include "fake_http.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct fake_http fake_http;

void fake_http_reset(void)
{
    memset(&fake_http, 0, sizeof(fake_http));
}

enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err)
{
    (void)loop, (void)err;
    fake_http.options = *options;
    *ret_client = (struct mg_http_client *)&fake_http;
    return MG_OK;
}

void mg_http_client_destroy(struct mg_http_client *client)
{
    (void)client;
    for (int i = 0; i < fake_http.count; i++) {
        fake_http.calls[i].is_open = false;
    }
}

struct mg_http_room *mg_http_room_create(struct mg_loop *loop, size_t max_bytes)
{
    (void)loop, (void)max_bytes;
    return (struct mg_http_room *)&fake_http;
}

void mg_http_room_destroy(struct mg_http_room *room)
{
    (void)room;
}

void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections)
{
    (void)client, (void)keeps_connections;
}

static void call_keep(const struct mg_http_request *request, struct fake_call *ret_call)
{
    size_t len = 0;
    ret_call->headers[0] = '\0';
    (void)snprintf(ret_call->method, sizeof(ret_call->method), "%s", request->method);
    (void)snprintf(ret_call->url, sizeof(ret_call->url), "%s", request->url);
    for (int i = 0; request->headers[i] != NULL; i++) {
        len += (size_t)snprintf(ret_call->headers + len, sizeof(ret_call->headers) - len, "%s\n",
                                request->headers[i]);
        assert(len < sizeof(ret_call->headers));
    }
    (void)snprintf(ret_call->body, sizeof(ret_call->body), "%.*s", (int)request->body.len,
                   request->body.data != NULL ? request->body.data : "");
    ret_call->timeout_ms = request->timeout_ms;
    ret_call->is_fresh = request->is_fresh;
    ret_call->is_cancelled = false;
}

enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err)
{
    (void)client;
    bool is_refused = fake_http.refusal != MG_OK;
    assert(fake_http.count < FAKE_CALLS_MAX);
    struct fake_call *call = &fake_http.calls[fake_http.count];
    call_keep(request, call);
    call->is_open = !is_refused;
    call->done = done;
    call->arg = arg;
    fake_http.count += !is_refused;
    if (fake_http.on_call != NULL) {
        fake_http.on_call(call);
    }
    *ret_call = is_refused ? NULL : (struct mg_http_call *)call;
    return is_refused ? mg_err_set(err, fake_http.refusal, "the test takes no call") : MG_OK;
}

void mg_http_call_cancel(struct mg_http_call *call)
{
    ((struct fake_call *)call)->is_open = false;
    ((struct fake_call *)call)->is_cancelled = true;
}

void fake_http_answer(int call, const struct mg_http_answer *answer)
{
    assert(call < fake_http.count && fake_http.calls[call].is_open);
    fake_http.calls[call].is_open = false;
    fake_http.calls[call].done(fake_http.calls[call].arg, answer);
}

const char *fake_http_header(const struct fake_call *call, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = call->headers; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, name, len) == 0 && strncmp(line + len, ": ", 2) == 0) {
            return line + len + 2;
        }
    }
    return NULL;
}
