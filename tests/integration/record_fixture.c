/* See record_fixture.h. */
#include "record_fixture.h"

#include <inttypes.h>

#include "io/store/columns.def"

void record_print_slice(FILE *out, const char *name, struct mg_slice text)
{
    if (text.data == NULL) {
        (void)fprintf(out, " %s=-", name);
    } else {
        (void)fprintf(out, " %s='%.*s'", name, (int)text.len, text.data);
    }
}

static void print_int(FILE *out, const char *name, int64_t number)
{
    (void)fprintf(out, " %s=%" PRId64, name, number);
}

static void print_digest(FILE *out, const char *name, const uint8_t *digest, bool is_there)
{
    (void)fprintf(out, " %s=", name);
    for (int i = 0; i < MG_SHA256_SIZE && is_there; i++) {
        (void)fprintf(out, "%02x", digest[i]);
    }
}

#define PRINT(name, type, written, loaded, listed, conversion, member, with)                                 \
    PRINT_##conversion(#name, member, with);
#define PRINT_INT(name, member, with)    print_int(out, name, (int64_t)(member))
#define PRINT_TIME(name, member, with)   print_int(out, name, member)
#define PRINT_BOOL(name, member, with)   print_int(out, name, member)
#define PRINT_WORD(name, member, with)   record_print_slice(out, name, mg_slice_of(with##_name(member)))
#define PRINT_TEXT(name, member, with)   record_print_slice(out, name, member)
#define PRINT_STRING(name, member, with) record_print_slice(out, name, mg_slice_of(member))
#define PRINT_CHARS(name, member, with)  record_print_slice(out, name, mg_slice_of(member))
#define PRINT_DIGEST(name, member, with) print_digest(out, name, member, with)

void record_print_order(FILE *out, const struct mg_order_record *record)
{
    const struct mg_order *order = &record->order;
    const bool has_digest = record->payload.data != NULL;
    (void)fprintf(out, " %s", record->order_id);
    MG_ORDER_COLUMNS(MG_LOADED, PRINT);
    MG_PAYLOAD_COLUMNS(MG_LOADED, PRINT);
    (void)fprintf(out, " steps=%d stored=%" PRIx64, order->step_count, record->stored_steps);
}

void record_print_step(FILE *out, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    (void)fprintf(out, " %d", index);
    MG_STEP_COLUMNS(MG_LOADED, PRINT);
}

void record_print_event(FILE *out, const struct mg_event_record *event)
{
    (void)fprintf(out, " event");
    MG_EVENT_COLUMNS(MG_LOADED, PRINT);
}
