/* Moments in texts for people: the time of day, and how far it is from now. */
#include <inttypes.h>
#include <string.h>

#include "operator/explain.h"
#include "operator/order_rows.h"

#define MOMENT_LEN (sizeof("2026-01-31T12:34:56.789Z") - 1)
#define DAY_LEN    (sizeof("2026-01-31") - 1)
#define CLOCK_LEN  (sizeof("12:34:56") - 1)

static bool is_moment(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < MOMENT_LEN; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !is_digit : text[i] != form[i]) {
            return false;
        }
    }
    return true;
}

/* In the largest unit of which there are two. */
static void span_write(struct mg_buf *out, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}};
    size_t unit = 0;
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && ms < 2 * units[unit].ms) {
        unit++;
    }
    mg_buf_printf(out, "%" PRId64 " %s", (ms + units[unit].ms / 2) / units[unit].ms, units[unit].name);
}

static void moment_format(struct mg_buf *out, const char text[MOMENT_LEN], int64_t now_ms)
{
    char moment[MOMENT_LEN + 1], now[MG_TIME_TEXT_SIZE];
    memcpy(moment, text, MOMENT_LEN);
    moment[MOMENT_LEN] = '\0';
    int64_t ms = mg_moment_of(moment);
    mg_time_format(now_ms, now);
    if (strncmp(moment, now, DAY_LEN) != 0) {
        mg_buf_printf(out, "%.*s ", (int)DAY_LEN, moment);
    }
    mg_buf_printf(out, "%.*s UTC (%s", (int)CLOCK_LEN, moment + DAY_LEN + 1, ms > now_ms ? "in " : "");
    span_write(out, ms > now_ms ? ms - now_ms : now_ms - ms);
    mg_buf_append_text(out, ms > now_ms ? ")" : " ago)");
}

void mg_moments_format(struct mg_buf *out, struct mg_slice text, int64_t now_ms)
{
    size_t from = 0;
    for (size_t at = 0; at + MOMENT_LEN <= text.len;) {
        if (!is_moment(text.data + at)) {
            at++;
            continue;
        }
        mg_buf_append(out, text.data + from, at - from);
        moment_format(out, text.data + at, now_ms);
        at += MOMENT_LEN;
        from = at;
    }
    mg_buf_append(out, text.data + from, text.len - from);
}
