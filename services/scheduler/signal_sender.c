/* See signal_sender.h. */
#include "signal_sender.h"

#include <string.h>

#define CLIENT_PREFIX "client:"
#define CLIENT_LEN    (sizeof(CLIENT_PREFIX) - 1)

static bool is_client(struct mg_slice by)
{
    return by.len >= CLIENT_LEN && memcmp(by.data, CLIENT_PREFIX, CLIENT_LEN) == 0;
}

static struct mg_slice client_of(struct mg_slice by)
{
    return (struct mg_slice){by.data + CLIENT_LEN, by.len - CLIENT_LEN};
}

const char *mg_signal_by_fault(const char *by)
{
    static const char SERVICE[] = "service:"; /* of callbacks */
    if (by[0] == '\0') {
        return "a signal of an operator has the person's name in \"by\"";
    }
    bool is_taken = is_client(mg_slice_of(by)) || strncmp(by, SERVICE, sizeof(SERVICE) - 1) == 0;
    return is_taken
               ? "\"by\" of an operator may not begin with \"client:\" or \"service:\": those are proven senders"
               : NULL;
}

/* The senders that a step names, or those that count for a step without `from`. */
static const struct mg_sender *senders_of(const struct mg_signal_wait *wait, int *ret_count)
{
    static const struct mg_sender DEFAULT[] = {{.kind = MG_SENDER_OPERATOR}, {.kind = MG_SENDER_OWN}};
    *ret_count = wait->sender_count > 0 ? wait->sender_count : (int)(sizeof(DEFAULT) / sizeof(DEFAULT[0]));
    return wait->sender_count > 0 ? wait->senders : DEFAULT;
}

static bool is_named(struct mg_slice by, const struct mg_order_record *record, const struct mg_sender *named)
{
    switch (named->kind) {
    case MG_SENDER_OPERATOR:
        return !is_client(by);
    case MG_SENDER_OWN:
        return is_client(by) && record->client.len > 0 && mg_slice_equal(client_of(by), record->client);
    case MG_SENDER_CLIENT:
        return is_client(by) && mg_slice_is(client_of(by), named->client);
    }
    return false;
}

bool mg_signal_may_send(struct mg_slice by, const struct mg_order_record *record,
                        const struct mg_signal_wait *wait)
{
    int count;
    const struct mg_sender *senders = senders_of(wait, &count);
    for (int i = 0; i < count; i++) {
        if (is_named(by, record, &senders[i])) {
            return true;
        }
    }
    return false;
}

void mg_signal_senders_write(const struct mg_order_record *record, const struct mg_signal_wait *wait,
                             struct mg_buf *ret_json)
{
    int count;
    const struct mg_sender *senders = senders_of(wait, &count);
    mg_buf_append_text(ret_json, "[");
    const char *comma = "";
    for (int i = 0; i < count; i++) {
        struct mg_slice name =
            senders[i].kind == MG_SENDER_OWN ? record->client : mg_slice_of(senders[i].client);
        if (senders[i].kind == MG_SENDER_OPERATOR) {
            mg_buf_printf(ret_json, "%s\"operator\"", comma);
        } else if (name.len > 0) {
            mg_buf_printf(ret_json, "%s\"" CLIENT_PREFIX, comma);
            mg_buf_append_json_part(ret_json, name);
            mg_buf_append_text(ret_json, "\"");
        } else {
            continue;
        }
        comma = ",";
    }
    mg_buf_append_text(ret_json, "]");
}
