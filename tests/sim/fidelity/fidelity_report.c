/* Reports that a supervisor asks for. */
#include "fidelity.h"

struct reading {
    struct fidelity_peer *peer;
    FILE *out;
};

static void on_report(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    const struct reading *reading = arg;
    if (err != NULL) {
        (void)fprintf(reading->out, " failed: %s", mg_class_name(err->class));
    }
    for (int row = 0; err == NULL && row < mg_rows_count(rows); row++) {
        (void)fprintf(reading->out, "\n ");
        for (int column = 0; column < mg_rows_column_count(rows); column++) {
            struct mg_slice value = mg_rows_value(rows, row, column);
            (void)fprintf(reading->out, " '%.*s'", (int)value.len, value.len > 0 ? value.data : "");
        }
    }
    (void)fputc('\n', reading->out);
    reading->peer->is_answered = true;
    fidelity_wake(reading->peer);
}

void fidelity_play_report(struct fidelity_peer *peer, enum mg_report report, FILE *out)
{
    struct reading reading = {peer, out};
    (void)fprintf(out, "report");
    mg_store_report(peer->store, report, NULL, 0, on_report, &reading);
    fidelity_wait(peer);
    peer->is_answered = false;
}
