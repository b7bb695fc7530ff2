/* Decimal arithmetic in 128 bits. Each operation detects its overflow before it happens. */
#include "expr/decimal.h"

__extension__ typedef unsigned __int128 magnitude;

/* Above the bytes of any text, so no count of zeros balances a larger exponent. */
#define EXPONENT_MAX 100000000
#define LONG_DIGITS  19 /* of the largest power of ten in 64 bits */

/* 10 to `exponent`, which is at most 38. */
static mg_int128 power_of_ten(int exponent)
{
    static const uint64_t POWERS[] = {
        UINT64_C(1),
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    if (exponent <= LONG_DIGITS) {
        return POWERS[exponent];
    }
    return (mg_int128)POWERS[LONG_DIGITS] * POWERS[exponent - LONG_DIGITS];
}

static magnitude size_of(mg_int128 number)
{
    return number < 0 ? -(magnitude)number : (magnitude)number;
}

static bool is_within(mg_int128 number)
{
    return size_of(number) < (magnitude)power_of_ten(MG_DECIMAL_DIGITS);
}

/* Multiplies by ten so often; false if that exceeds the digits. */
static bool shift_up(mg_int128 *number, int count)
{
    if (*number == 0 || count <= 0) {
        return true;
    }
    mg_int128 shifted;
    if (count >= MG_DECIMAL_DIGITS || __builtin_mul_overflow(*number, power_of_ten(count), &shifted) ||
        !is_within(shifted)) {
        return false;
    }
    *number = shifted;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* After the "e": the exponent, cut at a bound that no digits can balance. */
static bool read_exponent(const char *at, const char *end, int *ret_exponent)
{
    bool is_negative = false;
    int exponent = 0;
    if (at < end && (*at == '+' || *at == '-')) {
        is_negative = *at++ == '-';
    }
    if (at >= end) {
        return false;
    }
    for (; at < end; at++) {
        if (!is_digit(*at)) {
            return false;
        }
        if (exponent < EXPONENT_MAX) {
            exponent = exponent * 10 + (*at - '0');
        }
    }
    *ret_exponent = is_negative ? -exponent : exponent;
    return true;
}

bool mg_decimal_read(struct mg_slice text, struct mg_decimal *ret)
{
    const char *at = text.data, *end = text.data + text.len;
    bool is_negative = at < end && *at == '-', has_point = false, has_digit = false;
    mg_int128 coefficient = 0;
    int digits = 0, places = 0, exponent = 0;

    for (at += is_negative; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (!is_digit(*at)) {
            return false;
        }
        has_digit = true;
        places += has_point;
        digits += digits > 0 || *at != '0';
        if (digits > MG_DECIMAL_READ_DIGITS) {
            return false;
        }
        coefficient = coefficient * 10 + (*at - '0');
    }
    if (!has_digit || (at < end && !read_exponent(at + 1, end, &exponent))) {
        return false;
    }
    places -= exponent;
    if (places < 0) {
        bool fits = coefficient == 0 || digits - places <= MG_DECIMAL_READ_DIGITS;
        if (!fits || !shift_up(&coefficient, -places)) {
            return false;
        }
        places = 0;
    }
    if (places > MG_DECIMAL_READ_DIGITS) {
        return false;
    }
    *ret = (struct mg_decimal){is_negative ? -coefficient : coefficient, places};
    return true;
}

size_t mg_decimal_write(struct mg_decimal number, char ret_text[MG_DECIMAL_TEXT_SIZE])
{
    char reversed[MG_DECIMAL_TEXT_SIZE];
    size_t len = 0, written = 0;
    int digits = 0;
    magnitude size = size_of(number.coefficient);
    /* Two halves of 19 digits: divisions of 128 bits are slow. */
    uint64_t left = (uint64_t)(size % (magnitude)power_of_ten(LONG_DIGITS));
    uint64_t high = (uint64_t)(size / (magnitude)power_of_ten(LONG_DIGITS));

    while (left > 0 || (digits < LONG_DIGITS && high > 0) || digits <= number.places) {
        if (digits == number.places && digits > 0) {
            reversed[len++] = '.';
        }
        reversed[len++] = (char)('0' + (int)(left % 10));
        left /= 10;
        digits++;
        if (digits == LONG_DIGITS) {
            left = high;
        }
    }
    if (number.coefficient < 0) {
        reversed[len++] = '-';
    }
    while (len > 0) {
        ret_text[written++] = reversed[--len];
    }
    ret_text[written] = '\0';
    return written;
}

/* Multiplies by ten so often; false if no number of 38 digits, added to it, makes one of 38 digits. */
static bool shift_up_to_add(magnitude *size, int count)
{
    magnitude shifted;
    if (*size == 0 || count == 0) {
        return true;
    }
    if (__builtin_mul_overflow(*size, (magnitude)power_of_ten(count), &shifted) ||
        shifted / 2 >= (magnitude)power_of_ten(MG_DECIMAL_DIGITS)) {
        return false;
    }
    *size = shifted;
    return true;
}

/* The sum decides: one of the two may have a digit too many with the other's places. */
bool mg_decimal_add(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret)
{
    struct mg_decimal fine = a.places < b.places ? b : a, coarse = a.places < b.places ? a : b;
    magnitude sum, size = size_of(coarse.coefficient), other = size_of(fine.coefficient);
    bool is_negative = coarse.coefficient < 0;
    if (!shift_up_to_add(&size, fine.places - coarse.places)) {
        return false;
    }
    if (is_negative == (fine.coefficient < 0)) {
        sum = size + other; /* below 3 * 10^38, which 128 bits hold */
    } else {
        sum = size > other ? size - other : other - size;
        is_negative = size > other ? is_negative : !is_negative;
    }
    if (sum >= (magnitude)power_of_ten(MG_DECIMAL_DIGITS)) {
        return false;
    }
    *ret = (struct mg_decimal){is_negative ? -(mg_int128)sum : (mg_int128)sum, fine.places};
    return true;
}

bool mg_decimal_subtract(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret)
{
    b.coefficient = -b.coefficient;
    return mg_decimal_add(a, b, ret);
}

bool mg_decimal_multiply(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret)
{
    mg_int128 product;
    int places = a.places + b.places;
    if (places > MG_DECIMAL_DIGITS || __builtin_mul_overflow(a.coefficient, b.coefficient, &product) ||
        !is_within(product)) {
        return false;
    }
    *ret = (struct mg_decimal){product, places};
    return true;
}

int mg_decimal_compare(struct mg_decimal a, struct mg_decimal b)
{
    mg_int128 left = a.coefficient, right = b.coefficient;
    /* One that does not fit when it gets the other's places is the larger in magnitude. */
    if (!shift_up(&left, b.places - a.places)) {
        return left < 0 ? -1 : 1;
    }
    if (!shift_up(&right, a.places - b.places)) {
        return right < 0 ? 1 : -1;
    }
    return left < right ? -1 : left > right;
}

int mg_decimal_index(struct mg_decimal number, int max)
{
    struct mg_decimal whole;
    if (!mg_decimal_round(number, 0, &whole) || mg_decimal_compare(number, whole) != 0) {
        return -1;
    }
    return whole.coefficient >= 0 && whole.coefficient <= max ? (int)whole.coefficient : -1;
}

/* The quotient of two magnitudes, rounded half up. */
static magnitude divide_half_up(magnitude number, magnitude divisor)
{
    magnitude rest = number % divisor;
    return number / divisor + (rest >= divisor - rest);
}

static bool with_sign(magnitude size, bool is_negative, int places, struct mg_decimal *ret)
{
    mg_int128 coefficient = is_negative ? -(mg_int128)size : (mg_int128)size;
    if (!is_within(coefficient)) {
        return false;
    }
    *ret = (struct mg_decimal){coefficient, places};
    return true;
}

bool mg_decimal_round(struct mg_decimal number, int places, struct mg_decimal *ret)
{
    int dropped = number.places - places;
    if (dropped <= 0) {
        if (!shift_up(&number.coefficient, -dropped)) {
            return false;
        }
        *ret = (struct mg_decimal){number.coefficient, places};
        return true;
    }
    magnitude rounded = divide_half_up(size_of(number.coefficient), (magnitude)power_of_ten(dropped));
    return with_sign(rounded, number.coefficient < 0, places, ret);
}

/* The next digit of a quotient: *rest times ten by `divisor`. Added up, because the product may not fit. */
static int next_digit(magnitude *rest, magnitude divisor)
{
    magnitude sum = 0;
    int digit = 0;
    for (int i = 0; i < 10; i++) {
        sum += *rest;
        if (sum >= divisor) {
            sum -= divisor;
            digit++;
        }
    }
    *rest = sum;
    return digit;
}

bool mg_decimal_divide(struct mg_decimal a, struct mg_decimal b, int places, struct mg_decimal *ret)
{
    magnitude divisor = size_of(b.coefficient), number = size_of(a.coefficient);
    magnitude quotient = number / divisor, rest = number % divisor;
    bool is_negative = (a.coefficient < 0) != (b.coefficient < 0);
    const magnitude limit = (magnitude)power_of_ten(MG_DECIMAL_DIGITS - 1);
    int has = a.places - b.places;

    for (; has < places; has++) {
        if (quotient >= limit) {
            return false;
        }
        quotient = quotient * 10 + (magnitude)next_digit(&rest, divisor);
    }
    int dropped = has - places;
    if (dropped == 0) {
        return with_sign(quotient + (rest >= divisor - rest), is_negative, places, ret);
    }
    /* The dropped digits decide; the rest is below one of them, so it cannot make or break a half. */
    return with_sign(divide_half_up(quotient, (magnitude)power_of_ten(dropped)), is_negative, places, ret);
}
