/* `POST /v1/orders`: one submission (post.c). */
#include "gateway/call.h"

bool mg_post_key_read(const struct mg_http_exchange *request, struct mg_slice *ret_key)
{
    struct mg_slice key = mg_slice_of(mg_http_exchange_header(request, MG_KEY_HEADER));
    if (key.len >= 2 && key.data[0] == '"' && key.data[key.len - 1] == '"') {
        key = (struct mg_slice){key.data + 1, key.len - 2};
    }
    *ret_key = key;
    return key.data == NULL ||
           (mg_post_key_is_valid(key) && mg_http_exchange_header_count(request, MG_KEY_HEADER) == 1);
}

static void on_posted(struct mg_post *post, unsigned int status, const char *text)
{
    struct mg_call *call = post->arg;
    if (text != NULL) {
        mg_call_refuse(call, status, "%s", text);
    } else {
        mg_call_accept(call);
    }
}

void mg_submit_run(struct mg_call *call)
{
    struct mg_slice key;
    if (!mg_post_key_read(call->request, &key)) {
        mg_call_refuse(call, 400, MG_KEY_HEADER ": expected one of 1 to %d printable ASCII characters",
                       MG_POST_KEY_MAX);
        return;
    }
    mg_post_trace_read(call->request, call->traceparent);
    call->post = (struct mg_post){.gateway = call->gateway,
                                  .client = call->client,
                                  .body = mg_http_exchange_body(call->request),
                                  .key = key,
                                  .key_name = "the header " MG_KEY_HEADER,
                                  .traceparent = call->traceparent,
                                  .done = on_posted,
                                  .arg = call};
    mg_post_begin(&call->post);
}
