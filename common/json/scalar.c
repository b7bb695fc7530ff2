/*
 * The check of one string or number in JSON text. Strings are checked for escapes, surrogates and UTF-8,
 * numbers for the range of their type.
 */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "json/validator.h"

#define INT64_DIGITS  19 /* of INT64_MAX and INT64_MIN */
#define DOUBLE_DIGITS (DBL_MAX_10_EXP + 1)

/* ---- strings ---- */

/* Reads four hexadecimal digits; -1 if one is invalid, with `at` on it. */
static int check_hex4(struct mg_check *check)
{
    int value = 0;
    for (int i = 0; i < 4; i++, check->at++) {
        if (check->at >= check->end) {
            return -1;
        }
        char c = *check->at, letter = (char)(c | 0x20);
        if (c >= '0' && c <= '9') {
            value = value * 16 + (c - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            value = value * 16 + (letter - 'a') + 10;
        } else {
            return -1;
        }
    }
    return value;
}

/* After "\u": one code point, or a pair of surrogates; a lone surrogate is a fault. */
static enum mg_check_fault check_code(struct mg_check *check)
{
    int code = check_hex4(check);
    if (code == 0) {
        return MG_FAULT_NUL_ESCAPE;
    }
    if (code < 0) {
        return MG_FAULT_SYNTAX;
    }
    if (code < 0xd800 || code >= 0xe000) {
        return MG_FAULT_NONE;
    }
    if (code >= 0xdc00) {
        return MG_FAULT_SURROGATE;
    }
    for (const char *mark = "\\u"; *mark != '\0'; mark++, check->at++) {
        if (check->at >= check->end || *check->at != *mark) {
            return MG_FAULT_SURROGATE;
        }
    }
    code = check_hex4(check);
    if (code < 0) {
        return MG_FAULT_SYNTAX;
    }
    return code >= 0xdc00 && code < 0xe000 ? MG_FAULT_NONE : MG_FAULT_SURROGATE;
}

static enum mg_check_fault check_escape(struct mg_check *check)
{
    if (++check->at >= check->end) {
        return MG_FAULT_END;
    }
    char c = *check->at;
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL) {
        return MG_FAULT_SYNTAX;
    }
    check->at++;
    return c == 'u' ? check_code(check) : MG_FAULT_NONE;
}

enum mg_check_fault mg_check_string(struct mg_check *check, bool *ret_has_escapes)
{
    const char *at = check->at + 1, *end = check->end;

    *ret_has_escapes = false;
    for (;;) {
        at += mg_plain_len(at, (size_t)(end - at));
        check->at = at;
        if (at == end) {
            return MG_FAULT_END;
        }
        if (*at == '"') {
            check->at++;
            return MG_FAULT_NONE;
        }
        if (*at == '\\') {
            enum mg_check_fault fault = check_escape(check);
            if (fault != MG_FAULT_NONE) {
                return fault;
            }
            *ret_has_escapes = true;
        } else {
            if ((unsigned char)*at < 0x20) {
                return MG_FAULT_SYNTAX;
            }
            size_t len = mg_utf8_len(at, (size_t)(end - at));
            if (len == 0) {
                return MG_FAULT_UTF8;
            }
            check->at += len;
        }
        at = check->at;
    }
}

/* ---- numbers ---- */

static size_t skip_digits(struct mg_check *check)
{
    const char *begin = check->at;
    while (check->at < check->end && *check->at >= '0' && *check->at <= '9') {
        check->at++;
    }
    return (size_t)(check->at - begin);
}

static bool is_above_int64(const char *digits, size_t count, bool is_negative)
{
    if (count != INT64_DIGITS) {
        return count > INT64_DIGITS;
    }
    return memcmp(digits, is_negative ? "9223372036854775808" : "9223372036854775807", INT64_DIGITS) > 0;
}

/* A double has up to 309 digits before the point. Numbers with more are too large, numbers with fewer are
 * not. With exactly 309 these digits alone decide, since the bound between the largest double and infinity is
 * an integer. `mantissa` is digits, perhaps with a point. */
static bool is_above_double(const char *mantissa, const char *end, int64_t exponent)
{
    char digits[DOUBLE_DIGITS + 1];
    int count = 0;
    int64_t before_point = 0;
    bool is_fraction = false;

    for (; mantissa < end; mantissa++) {
        if (*mantissa == '.') {
            is_fraction = true;
            continue;
        }
        bool is_significant = count > 0 || *mantissa != '0';
        if (is_fraction ? !is_significant : is_significant) {
            before_point += is_fraction ? -1 : 1;
        }
        if (is_significant && count < DOUBLE_DIGITS) {
            digits[count++] = *mantissa;
        }
    }
    if (count == 0 || before_point + exponent != DOUBLE_DIGITS) {
        return count > 0 && before_point + exponent > DOUBLE_DIGITS;
    }
    memset(digits + count, '0', (size_t)(DOUBLE_DIGITS - count));
    digits[DOUBLE_DIGITS] = '\0';
    return isinf(strtod(digits, NULL));
}

/* After "e" or "E". The count stops far beyond any exponent that the digits of a text could balance. */
static bool check_exponent(struct mg_check *check, int64_t *ret_exponent)
{
    static const int64_t FAR = INT32_MAX;
    bool is_negative = false;

    if (check->at < check->end && (*check->at == '+' || *check->at == '-')) {
        is_negative = *check->at++ == '-';
    }
    const char *begin = check->at;
    if (skip_digits(check) == 0) {
        return false;
    }
    for (*ret_exponent = 0; begin < check->at; begin++) {
        if (*ret_exponent < FAR) {
            *ret_exponent = *ret_exponent * 10 + (*begin - '0');
        }
    }
    if (is_negative) {
        *ret_exponent = -*ret_exponent;
    }
    return true;
}

enum mg_check_fault mg_check_number(struct mg_check *check)
{
    const char *begin = check->at;
    int64_t exponent = 0;

    if (*begin == '-') {
        check->at++;
    }
    const char *mantissa = check->at;
    size_t digits = skip_digits(check);
    if (digits == 0) {
        return MG_FAULT_SYNTAX;
    }
    if (digits > 1 && *mantissa == '0') {
        check->at = mantissa + 1;
        return MG_FAULT_SYNTAX;
    }
    bool is_integer = true;
    if (check->at < check->end && *check->at == '.') {
        is_integer = false;
        check->at++;
        if (skip_digits(check) == 0) {
            return MG_FAULT_SYNTAX;
        }
    }
    const char *end = check->at;
    if (check->at < check->end && (*check->at == 'e' || *check->at == 'E')) {
        is_integer = false;
        check->at++;
        if (!check_exponent(check, &exponent)) {
            return MG_FAULT_SYNTAX;
        }
    }
    if (check->limits->any_number) {
        return MG_FAULT_NONE;
    }
    bool is_above = is_integer ? is_above_int64(mantissa, digits, begin != mantissa)
                               : is_above_double(mantissa, end, exponent);
    if (!is_above) {
        return MG_FAULT_NONE;
    }
    check->at = begin;
    return MG_FAULT_RANGE;
}
