/* Times and durations as nanoseconds. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/calendar.h"
#include "expr/tree.h"

#define SECOND_NS     ((mg_int128)1000000000)
#define DAY_S         INT64_C(86400)
#define YEAR_MAX      9999
#define FRACTION_SIZE 16 /* more than "." and nine digits: any int fits */
/* Longer ones are a typing mistake; the sum with any time stays far below 128 bits. */
#define DURATION_MAX_NS (SECOND_NS * DAY_S * 366 * YEAR_MAX)

bool mg_expr_time_read(struct mg_slice text, mg_int128 *ret_ns)
{
    int64_t seconds;
    int ns;
    if (!mg_moment_read(text, &seconds, &ns)) {
        return false;
    }
    *ret_ns = seconds * SECOND_NS + ns;
    return true;
}

static int64_t floor_divide(mg_int128 number, mg_int128 divisor, int64_t *ret_rest)
{
    mg_int128 quotient = number / divisor, rest = number % divisor;
    if (rest < 0) {
        quotient--;
        rest += divisor;
    }
    *ret_rest = (int64_t)rest;
    return (int64_t)quotient;
}

bool mg_expr_value_time(const struct mg_expr_value *value, int64_t *ret_ms)
{
    char text[MG_EXPR_TIME_TEXT_SIZE];
    size_t len = 0;
    int64_t rest;
    mg_int128 ns = value->number.coefficient;

    if (value->type == MG_EXPR_TEXT) {
        bool is_time = mg_expr_text_copy(value, text, sizeof(text), &len) &&
                       mg_expr_time_read((struct mg_slice){text, len}, &ns);
        if (!is_time) {
            return false;
        }
    } else if (value->type != MG_EXPR_TIME) {
        return false;
    }
    *ret_ms = floor_divide(ns, SECOND_NS / 1000, &rest);
    return true;
}

/* "", ".5", … in groups of three digits. */
static void write_fraction(int ns, char ret_text[FRACTION_SIZE])
{
    if (ns == 0) {
        ret_text[0] = '\0';
        return;
    }
    (void)snprintf(ret_text, FRACTION_SIZE, ".%09d", ns);
    size_t len = 10;
    while (len > 4 && memcmp(ret_text + len - 3, "000", 3) == 0) {
        len -= 3;
    }
    ret_text[len] = '\0';
}

size_t mg_expr_time_write(mg_int128 ns, char ret_text[MG_EXPR_TIME_TEXT_SIZE])
{
    int64_t fraction;
    time_t second = floor_divide(ns, SECOND_NS, &fraction);
    struct tm tm;
    char digits[FRACTION_SIZE];
    if (second < MG_CALENDAR_MIN_S || second > MG_CALENDAR_MAX_S || gmtime_r(&second, &tm) == NULL) {
        return 0;
    }
    write_fraction((int)fraction, digits);
    int n = snprintf(ret_text, MG_EXPR_TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, digits);
    return n > 0 ? (size_t)n : 0;
}

/* Takes "2.5h" as nanoseconds. */
static bool take_part(struct mg_slice *text, mg_int128 *ret_ns)
{
    static const struct {
        const char *name; /* a longer one before its beginning */
        int64_t ns;
    } UNITS[] = {{"ms", 1000000},
                 {"us", 1000},
                 {"ns", 1},
                 {"d", DAY_S * INT64_C(1000000000)},
                 {"h", INT64_C(3600000000000)},
                 {"m", INT64_C(60000000000)},
                 {"s", 1000000000}};
    size_t len = 0;
    while (len < text->len &&
           ((text->data[len] >= '0' && text->data[len] <= '9') || text->data[len] == '.')) {
        len++;
    }
    struct mg_decimal number, product;
    if (len == 0 || len > 20 || !mg_decimal_read((struct mg_slice){text->data, len}, &number)) {
        return false;
    }
    text->data += len;
    text->len -= len;
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        size_t unit = strlen(UNITS[i].name);
        if (text->len < unit || memcmp(text->data, UNITS[i].name, unit) != 0) {
            continue;
        }
        text->data += unit;
        text->len -= unit;
        struct mg_decimal factor = {UNITS[i].ns, 0};
        if (!mg_decimal_multiply(number, factor, &product) || !mg_decimal_round(product, 0, &number) ||
            mg_decimal_compare(number, product) != 0) {
            return false; /* a fraction of a nanosecond */
        }
        *ret_ns = number.coefficient;
        return true;
    }
    return false;
}

bool mg_expr_duration_read(struct mg_slice text, mg_int128 *ret_ns)
{
    bool is_negative = text.len > 0 && text.data[0] == '-';
    text.data += is_negative;
    text.len -= is_negative;
    mg_int128 sum = 0;
    do {
        mg_int128 ns;
        if (!take_part(&text, &ns) || ns > DURATION_MAX_NS || (sum += ns) > DURATION_MAX_NS) {
            return false;
        }
    } while (text.len > 0);
    *ret_ns = is_negative ? -sum : sum;
    return true;
}

size_t mg_expr_duration_write(mg_int128 ns, char ret_text[MG_EXPR_TIME_TEXT_SIZE])
{
    char digits[FRACTION_SIZE];
    mg_int128 size = ns < 0 ? -ns : ns;
    write_fraction((int)(size % SECOND_NS), digits);
    int n = snprintf(ret_text, MG_EXPR_TIME_TEXT_SIZE, "%s%lld%ss", ns < 0 ? "-" : "",
                     (long long)(size / SECOND_NS), digits);
    return n > 0 ? (size_t)n : 0;
}
