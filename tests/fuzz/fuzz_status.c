/* Statuses of schedulers, as a client or the tool reads them, and alerts of the supervisor. The input is the
 * body; both readers get it. */
#include "fuzz.h"
#include "wire/alert.h"
#include "wire/status.h"

static void try_status(struct mg_slice body)
{
    struct mg_status_message status, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(status);
    enum mg_class class = mg_status_parse(body, &status, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, status);
        return;
    }
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_status_write(&status, &first);
    FUZZ_REQUIRE(mg_status_parse(mg_buf_slice(&first), &again, &err) == MG_OK);
    FUZZ_REQUIRE(status.seq == again.seq && status.status == again.status && status.at_ms == again.at_ms);
    FUZZ_REQUIRE(strcmp(status.reason, again.reason) == 0);
    mg_status_write(&again, &second);
    fuzz_require_same(&first, &second);
}

/* A status is identified exactly as it is read; a gateway identifies others, too. */
static void try_identity(struct mg_slice body)
{
    struct mg_status_message status;
    struct mg_status_identity identity;
    struct mg_err err, other;
    FUZZ_POISON(identity);
    enum mg_class class = mg_status_identify(body, &identity, &err);
    bool is_status = mg_status_parse(body, &status, &other) == MG_OK;
    if (class != MG_OK) {
        FUZZ_REQUIRE(!is_status);
        FUZZ_REQUIRE_REFUSAL(class, err, identity);
        return;
    }
    FUZZ_REQUIRE(!is_status || (status.seq == identity.seq && status.at_ms == identity.at_ms &&
                                strcmp(status.order_id, identity.order_id) == 0));
}

static void try_alert(struct mg_slice body)
{
    struct mg_alert_message alert, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(alert);
    enum mg_class class = mg_alert_parse(body, &alert, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, alert);
        return;
    }
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_alert_write(&alert, &first);
    FUZZ_REQUIRE(mg_alert_parse(mg_buf_slice(&first), &again, &err) == MG_OK);
    FUZZ_REQUIRE(alert.alert == again.alert && alert.is_closed == again.is_closed);
    FUZZ_REQUIRE(strcmp(alert.subject, again.subject) == 0 && strcmp(alert.text, again.text) == 0);
    mg_alert_write(&again, &second);
    fuzz_require_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice body = {(const char *)data, size};
    try_status(body);
    try_identity(body);
    try_alert(body);
    return 0;
}
