/* See calendar.h. */
#include "base/calendar.h"

/* Days since 1970-01-01 of a date after year 0; years begin in March, so that a leap day is the last of its
 * year. */
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

bool mg_moment_read(struct mg_slice text, int64_t *ret_seconds, int *ret_ns)
{
    int year = take_digits(&text, 4), offset = 0;
    int month = take(&text, '-', '-') ? take_digits(&text, 2) : -1;
    int day = take(&text, '-', '-') ? take_digits(&text, 2) : -1;
    int hour = take(&text, 'T', 't') ? take_digits(&text, 2) : -1;
    int minute = take(&text, ':', ':') ? take_digits(&text, 2) : -1;
    int second = take(&text, ':', ':') ? take_digits(&text, 2) : -1;

    int ns = second >= 0 && take(&text, '.', '.') ? take_fraction(&text) : 0;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > month_days(year, month) || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || ns < 0 ||
        !take_offset(&text, &offset) || text.len > 0) {
        return false;
    }
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset * 60;
    if (seconds < MG_CALENDAR_MIN_S || seconds > MG_CALENDAR_MAX_S) {
        return false;
    }
    *ret_seconds = seconds;
    *ret_ns = ns;
    return true;
}
