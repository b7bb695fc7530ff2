/* See relative_time.h. */
#include "operator/relative_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/option_words.h"

#define SECOND_MS INT64_C(1000)

bool mg_report_time_parse(const char *text, int64_t *ret_ms)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    char number[MG_MOMENT_SIZE];
    for (size_t i = 0; i < sizeof(form); i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !is_digit : text[i] != form[i]) {
            return false;
        }
    }
    if (!mg_moment_parse(text, number)) {
        return false;
    }
    *ret_ms = strtoll(number, NULL, 10);
    return true;
}

void mg_span_write(int64_t ms, char ret_text[MG_RELATIVE_TIME_SIZE])
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"d", 24 * 3600 * SECOND_MS}, {"h", 3600 * SECOND_MS}, {"m", 60 * SECOND_MS}, {"s", SECOND_MS}};
    size_t unit = 0;
    int64_t span_ms = ms < 0 ? -ms : ms;
    /* "119 s" is more exact than "1 m". */
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && span_ms < 2 * units[unit].ms) {
        unit++;
    }
    (void)snprintf(ret_text, MG_RELATIVE_TIME_SIZE, "%" PRId64 " %s", span_ms / units[unit].ms,
                   units[unit].name);
}

void mg_relative_time_write(int64_t at_ms, int64_t now_ms, char ret_text[MG_RELATIVE_TIME_SIZE])
{
    char span[MG_RELATIVE_TIME_SIZE];
    int64_t left_ms = at_ms - now_ms;
    if (left_ms > -SECOND_MS && left_ms < SECOND_MS) {
        (void)snprintf(ret_text, MG_RELATIVE_TIME_SIZE, "now");
        return;
    }
    mg_span_write(left_ms, span);
    (void)snprintf(ret_text, MG_RELATIVE_TIME_SIZE, left_ms > 0 ? "in %.20s" : "%.20s ago", span);
}
