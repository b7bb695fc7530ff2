/* Times and durations as nanoseconds. The calendar is Gregorian throughout, as RFC 3339 has it. */
#include <stdio.h>
#include <string.h>

#include "expr/tree.h"

#define SECOND_NS     ((mg_int128)1000000000)
#define DAY_S         INT64_C(86400)
#define YEAR_MIN      1
#define YEAR_MAX      9999
#define FRACTION_SIZE 16 /* more than "." and nine digits: any int fits */
/* Longer ones are a typing mistake; the sum with any time stays far below 128 bits. */
#define DURATION_MAX_NS (SECOND_NS * DAY_S * 366 * YEAR_MAX)

/* Days since 1970-01-01; years begin in March, so that a leap day is the last of its year. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int month_days(int year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return DAYS[month - 1] + (month == 2 && is_leap);
}

/* Takes `count` digits; -1 if there are others. */
static int take_digits(struct mg_slice *text, size_t count)
{
    int number = 0;
    if (text->len < count) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (text->data[i] < '0' || text->data[i] > '9') {
            return -1;
        }
        number = number * 10 + (text->data[i] - '0');
    }
    text->data += count;
    text->len -= count;
    return number;
}

static bool take(struct mg_slice *text, char c, char also)
{
    if (text->len == 0 || (*text->data != c && *text->data != also)) {
        return false;
    }
    text->data++;
    text->len--;
    return true;
}

/* Up to nine digits of a second's fraction, as nanoseconds; -1 if there is none or more. */
static int take_fraction(struct mg_slice *text)
{
    int ns = 0, digits = 0;
    for (int digit; digits < 10 && (digit = take_digits(text, 1)) >= 0; digits++) {
        ns = digits < 9 ? ns * 10 + digit : ns;
    }
    if (digits == 0 || digits > 9) {
        return -1;
    }
    for (; digits < 9; digits++) {
        ns *= 10;
    }
    return ns;
}

static bool take_offset(struct mg_slice *text, int *ret_minutes)
{
    *ret_minutes = 0;
    if (take(text, 'Z', 'z')) {
        return true;
    }
    bool is_west = text->len > 0 && *text->data == '-';
    if (!take(text, '+', '-')) {
        return false;
    }
    int hours = take_digits(text, 2);
    int minutes = take(text, ':', ':') ? take_digits(text, 2) : -1;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
        return false;
    }
    *ret_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

bool mg_expr_time_read(struct mg_slice text, mg_int128 *ret_ns)
{
    int year = take_digits(&text, 4), ns = 0, offset = 0;
    int month = take(&text, '-', '-') ? take_digits(&text, 2) : -1;
    int day = take(&text, '-', '-') ? take_digits(&text, 2) : -1;
    int hour = take(&text, 'T', 't') ? take_digits(&text, 2) : -1;
    int minute = take(&text, ':', ':') ? take_digits(&text, 2) : -1;
    int second = take(&text, ':', ':') ? take_digits(&text, 2) : -1;

    if (second >= 0 && take(&text, '.', '.')) {
        ns = take_fraction(&text);
    }
    if (year < YEAR_MIN || month < 1 || month > 12 || day < 1 || day > month_days(year, month) || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || ns < 0 ||
        !take_offset(&text, &offset) || text.len > 0) {
        return false;
    }
    int64_t seconds = days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second - offset * 60;
    *ret_ns = (mg_int128)seconds * SECOND_NS + ns;
    return seconds >= days_of(YEAR_MIN, 1, 1) * DAY_S && seconds < days_of(YEAR_MAX + 1, 1, 1) * DAY_S;
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
    int64_t fraction, second;
    int64_t days = floor_divide(floor_divide(ns, SECOND_NS, &fraction), DAY_S, &second);
    if (days < days_of(YEAR_MIN, 1, 1) || days > days_of(YEAR_MAX, 12, 31)) {
        return 0;
    }
    /* The year by estimate, then the month by search: no closed form is as plain. */
    int year = (int)((days + 719468) * 400 / 146097), month = 12;
    while (year < YEAR_MAX && days_of(year + 1, 1, 1) <= days) {
        year++;
    }
    while (days_of(year, 1, 1) > days) {
        year--;
    }
    while (days_of(year, month, 1) > days) {
        month--;
    }
    char digits[FRACTION_SIZE];
    write_fraction((int)fraction, digits);
    int n = snprintf(ret_text, MG_EXPR_TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", year, month,
                     (int)(days - days_of(year, month, 1)) + 1, (int)(second / 3600), (int)(second / 60 % 60),
                     (int)(second % 60), digits);
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
    bool is_negative = take(&text, '-', '-');
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
