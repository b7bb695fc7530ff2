/* Parts of a seed's sequence: orders with any values, right and wrong versions, and values that must be
 * refused. */
#include "fidelity.h"

#include <string.h>

#include "io/store/columns.def"

#define STEPS    4
#define USED_MAX 8192
#define NO_JSON  "{ no JSON"
#define NO_UTF8  "\xc3("

static struct {
    uint64_t state;
    int64_t now_ms;
    int64_t used[USED_MAX]; /* moments in use: no two items are due at the same moment */
    int used_count;
} draw;

void fidelity_draw_begin(uint64_t seed)
{
    draw.state = seed;
    draw.used_count = 0;
}

void fidelity_draw_around(int64_t now_ms)
{
    draw.now_ms = now_ms;
}

uint64_t fidelity_draw(uint64_t count)
{
    uint64_t z = (draw.state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % count;
}

bool fidelity_is_rare(void)
{
    return fidelity_draw(20) == 0;
}

/* The clock passes by milliseconds and by an hour, so orders are of the last seconds or of the last hours. */
static int64_t draw_past(void)
{
    return draw.now_ms - (int64_t)fidelity_draw(UINT64_C(1) << fidelity_draw(25));
}

void fidelity_draw_grace(struct mg_sweep_options *options)
{
    if (fidelity_draw(2) == 0) {
        return;
    }
    options->grace_before_ms = draw.now_ms - (int64_t)fidelity_draw(8000);
    options->grace_after_ms = options->grace_before_ms - (int64_t)fidelity_draw(8000);
    options->grace_high_after_ms = options->grace_before_ms - (int64_t)fidelity_draw(30000);
    options->high.from_ms = draw.now_ms - (INT64_C(1) << fidelity_draw(25));
    options->high.until_ms = fidelity_draw(3) == 0 ? draw_past() : draw.now_ms;
    options->high.low_from_ms = draw_past();
    options->high.low_until_ms = options->high.low_from_ms + (INT64_C(1) << fidelity_draw(25));
}

static int64_t draw_moment(void)
{
    if (fidelity_draw(4) == 0 || draw.used_count == USED_MAX) {
        return 0;
    }
    int64_t at_ms = draw.now_ms - 20000 + (int64_t)fidelity_draw(50000);
    for (int i = 0; i < draw.used_count; i++) {
        if (draw.used[i] == at_ms) {
            at_ms++;
            i = -1;
        }
    }
    draw.used[draw.used_count++] = at_ms;
    return at_ms;
}

const char *fidelity_order_id(int order)
{
    static char names[FIDELITY_ORDERS][16];
    (void)snprintf(names[order], sizeof(names[order]), "o-%03d", order);
    return names[order];
}

struct mg_slice fidelity_draw_text(void)
{
    static const char *const TEXTS[] = {NULL, "", "a", "reply.1", "\xc3\xa4\"{},NULL\\", "0123456789"};
    return mg_slice_of(FIDELITY_ANY(TEXTS));
}

const char *fidelity_draw_cause(void)
{
    static const char *const CAUSES[] = {"m-1", "reply.1", "reply.2", "overdue.1", "due.7"};
    return FIDELITY_ANY(CAUSES);
}

/* One in three parks a step that waits. */
static enum mg_reason draw_reason(void)
{
    static const enum mg_reason GATES[] = {MG_REASON_NO_CONSUMER, MG_REASON_BREAKER_OPEN,
                                           MG_REASON_SERVICE_PAUSED, MG_REASON_WINDOW_FULL};
    return fidelity_draw(3) == 0 ? FIDELITY_ANY(GATES) : (enum mg_reason)fidelity_draw(MG_REASON_COUNT);
}

/* By conversion: any value. */
#define DRAW_INT(member, with)  member = (__typeof__(member))fidelity_draw(9);
#define DRAW_BOOL(member, with) member = fidelity_draw(2) == 0;
#define DRAW_TIME(member, with) member = draw_moment();
#define DRAW_WORD(member, with) member = (__typeof__(member))fidelity_draw(COUNT_##with);
#define DRAW_TEXT(member, with) member = fidelity_draw_text();
#define DRAW_DIGEST(member, with)                                                                            \
    with = fidelity_draw(2) == 0;                                                                            \
    memset(member, (int)fidelity_draw(256), sizeof(member));
#define DRAW_STRING(member, with)
#define DRAW_FLAG(member, with)
#define COUNT_mg_order_state MG_ORDER_STATE_COUNT
#define COUNT_mg_step_state  MG_STEP_STATE_COUNT
#define COUNT_mg_goal        MG_GOAL_COUNT
#define COUNT_mg_reason      MG_REASON_COUNT
#define COUNT_mg_kind        MG_KIND_COUNT

#define DRAW(name, type, written, loaded, listed, conversion, member, with) DRAW_##conversion(member, with)

static void change_step(struct mg_order_record *record, int index)
{
    static const char *const NAMES[] = {"reserve", "charge", "ship", "mail"};
    static const char *const SERVICES[] = {"inventory", "payment", "courier", "payment"};
    static const char *const OPEN[] = {NULL, "{}",
                                       "{\"since\":\"2026-06-01T00:00:00.000Z\",\"key\":\"paid/1\"}"};
    struct mg_step *step = &record->order.steps[index];
    struct mg_step_record *more = &record->steps[index];
    uint32_t attempt = step->attempt;
    record->step_names[index] = NAMES[index];
    record->services[index] = SERVICES[index];
    MG_STEP_COLUMNS(MG_EACH, DRAW);
    more->open = mg_slice_of(FIDELITY_ANY(OPEN)); /* indexes read it */
    step->reason = draw_reason();
    step->attempt = attempt + (uint32_t)fidelity_draw(2);
}

/* The caller sets the version. */
static void change_order(struct mg_order_record *record)
{
    struct mg_order *order = &record->order;
    uint64_t seq = order->seq;
    uint32_t failure_count = order->failure_count;
    int64_t revision = record->revision;
    MG_ORDER_COLUMNS(MG_EACH, DRAW);
    order->state = (enum mg_order_state)(fidelity_draw(3) == 0 ? order->state : MG_ORDER_PROCESSING);
    order->goal = (enum mg_goal)(fidelity_draw(3) == 0 ? order->goal : MG_GOAL_PROCESSED);
    order->seq = seq + fidelity_draw(2);
    order->failure_count = failure_count + (uint32_t)fidelity_draw(2);
    record->revision = revision;
}

struct mg_alert_write fidelity_draw_alert(void)
{
    static const char *const SUBJECTS[] = {"o-000", "o-001", "inventory", "queue"};
    static const enum mg_alert ALERTS[] = {MG_ALERT_ORDER_ERROR, MG_ALERT_UNPUBLISHABLE, MG_ALERT_STATE_LOST};
    static const struct mg_failure WHOLE = {
        {"fulfilment", 10}, {"charge", 6}, {"payment", 7}, {"http_500", 8}};
    static const struct mg_failure OF_ORDER = {.workflow = {"refund", 6},
                                               .error_code = {"order_expired", 13}};
    static const struct mg_failure *const FAILURES[] = {NULL, &WHOLE, &OF_ORDER};
    return (struct mg_alert_write){
        .alert = FIDELITY_ANY(ALERTS),
        .is_closed = fidelity_draw(2) == 0,
        .subject = FIDELITY_ANY(SUBJECTS),
        .order_id = fidelity_draw(2) == 0 ? "" : fidelity_order_id((int)fidelity_draw(FIDELITY_ORDERS)),
        .text = fidelity_draw_text(),
        .failure = FIDELITY_ANY(FAILURES)};
}

/* Whether a limit leaves out no woken order: these use the places left by `timely`, at least a quarter. */
static bool takes_all_woken(int limit, int timely, int woken)
{
    int left = timely < limit ? limit - timely : 0, share = (limit + 3) / 4;
    return woken <= (left > share ? left : share);
}

/* Whether the share of the latest separates no two of the `count` that wake at the same moment. */
static bool parts_no_latest(int limit, const int64_t *wakes, int count)
{
    int first = count - (limit + 3) / 4;
    return first <= limit || wakes[first - 1] != wakes[first];
}

int fidelity_draw_limit(const struct mg_order_record *known, int64_t now_ms)
{
    int limit = 1 + (int)fidelity_draw(FIDELITY_ORDERS), timely = 0, woken = 0;
    int64_t wakes[FIDELITY_ORDERS];
    for (int i = 0; i < FIDELITY_ORDERS; i++) {
        int64_t at_ms = known[i].order.wake_at_ms;
        woken += known[i].order.version != 0 && at_ms == 1;
        if (known[i].order.version == 0 || at_ms <= 1 || at_ms > now_ms) {
            continue;
        }
        int at = timely++;
        for (; at > 0 && wakes[at - 1] > at_ms; at--) {
            wakes[at] = wakes[at - 1];
        }
        wakes[at] = at_ms;
    }
    while ((limit < timely && wakes[limit - 1] == wakes[limit]) || !parts_no_latest(limit, wakes, timely) ||
           !takes_all_woken(limit, timely, woken)) {
        limit++;
    }
    return limit;
}

static void draw_events(struct fidelity_writing *writing, struct mg_order_write *write)
{
    static const char *const STATUSES[] = {
        NULL,
        "[]",
        "[{\"seq\": 1}]",
        "[ {\"v\":1,\"order_id\":\"o\", \"seq\":1,\"status\":\"accepted\",\"at\":\"2026-01-01T00:00:00Z\"} ,"
        "{\"v\":1,\"order_id\":\"o\",\"seq\":2,\"status\":\"error\",\"at\":\"2026-01-01T00:00:00Z\"}]",
        "[{\"v\":1,\"order_id\":\"o\",\"seq\":12,\"status\":\"error\",\"at\":\"2026-01-01T00:00:01Z\"},"
        "{\"v\":1,\"order_id\":\"o\",\"seq\":9,\"status\":\"error\",\"at\":\"2026-01-01T00:00:02Z\"},"
        "{\"v\":1,\"order_id\":\"o\",\"seq\":12,\"status\":\"error\",\"at\":\"2026-01-01T00:00:03Z\"}]",
    };
    uint64_t count = write->record->order.version - write->expected_version;
    write->event_count = (int)count;
    for (uint64_t i = 0; i < count; i++) {
        writing->events[i] = (struct mg_event_record){
            .version = write->expected_version + i + 1,
            .cause_kind = (enum mg_cause_kind)fidelity_draw(MG_CAUSE_COUNT),
            .cause = mg_slice_of(fidelity_draw_cause()),
            .by = fidelity_draw_text(),
            .step = fidelity_draw_text(),
            .attempt = (uint32_t)fidelity_draw(5),
            .reason = fidelity_draw_text(),
            .transitions = mg_slice_of("[{\"from\": \"pending\"}]"),
            .statuses = mg_slice_of(FIDELITY_ANY(STATUSES)),
            .is_owed = fidelity_draw(4) == 0,
        };
    }
}

/* Makes a write invalid; it must not affect the others in its batch. */
static void spoil(struct fidelity_writing *writing, struct mg_order_write *write)
{
    switch (fidelity_draw(8)) {
    case 6: /* a label, if the order is new */
        writing->labels[0].value = mg_slice_of(NO_UTF8);
        break;
    case 7: /* the same label twice */
        writing->labels[1].name = writing->labels[0].name;
        break;
    case 0:
        writing->events[0].transitions = mg_slice_of(NO_JSON);
        break;
    case 1:
        writing->events[0].reason = mg_slice_of(NO_UTF8);
        break;
    case 2:
        writing->record.reply_to = mg_slice_of(NO_UTF8);
        break;
    case 3: /* steps that do not exist, or exist already */
        writing->record.stored_steps ^= (UINT64_C(1) << STEPS) - 1;
        write->changed_steps |= 1;
        change_step(&writing->record, 0);
        break;
    case 4: /* an event that exists already, unless it is the first */
        writing->events[0].version = 1;
        break;
    default: /* a payload with a revision that is in use */
        write->is_payload_changed = true;
        break;
    }
}

void fidelity_draw_write(const struct mg_order_record *known, int order, struct fidelity_writing *writing,
                         struct mg_order_write *write)
{
    static const char *const PAYLOADS[] = {"{}", "{\"price\":14.00}", ""};
    writing->record = *known;
    struct mg_order_record *record = &writing->record;
    uint64_t expected = record->order.version;
    if (fidelity_draw(8) == 0) { /* a row that exists already, or differs from the known one */
        expected = expected > 0 ? expected - 1 : 1;
    }
    if (expected == 0) {
        *record = (struct mg_order_record){.workflow_version = 1 + (int64_t)fidelity_draw(3),
                                           .revision = 1,
                                           .created_at_ms = draw_past(),
                                           .is_high = fidelity_draw(2) == 0};
        (void)snprintf(record->order_id, sizeof(record->order_id), "%s", fidelity_order_id(order));
        (void)snprintf(record->workflow, sizeof(record->workflow), "fulfilment");
        record->payload = mg_slice_of(FIDELITY_ANY(PAYLOADS));
        record->client = fidelity_draw_text();
        memset(record->digest, (int)fidelity_draw(256), sizeof(record->digest));
        record->labels = writing->labels;
        record->label_count = (int)fidelity_draw(3);
        writing->labels[0] = (struct mg_label){"customer", mg_slice_of("17")};
        writing->labels[1] = (struct mg_label){"price", mg_slice_of("14.00")};
    }
    *write = (struct mg_order_write){.record = record,
                                     .expected_version = expected,
                                     .changed_steps = fidelity_draw(UINT64_C(1) << STEPS),
                                     .events = writing->events,
                                     .alerts = writing->alerts,
                                     .alert_count = (int)fidelity_draw(FIDELITY_ALERTS_MAX + 1),
                                     .locked_by = "fidelity"};
    if (record->order_id[0] == '\0') { /* not yet stored: written as if it were */
        (void)snprintf(record->order_id, sizeof(record->order_id), "%s", fidelity_order_id(order));
        record->revision = 1;
    }
    if (expected > 0 && fidelity_draw(6) == 0) {
        write->is_payload_changed = true;
        record->revision++;
        record->payload = mg_slice_of(FIDELITY_ANY(PAYLOADS));
        record->client = fidelity_draw_text();
        memset(record->digest, (int)fidelity_draw(256), sizeof(record->digest));
    }
    change_order(record);
    for (int i = 0; i < STEPS; i++) {
        if ((write->changed_steps >> i & 1) != 0) {
            change_step(record, i);
        }
    }
    record->order.version = expected + 1 + fidelity_draw(FIDELITY_EVENTS_MAX);
    draw_events(writing, write);
    for (int i = 0; i < write->alert_count; i++) {
        writing->alerts[i] = fidelity_draw_alert();
    }
    if (fidelity_is_rare()) {
        spoil(writing, write);
    }
}
