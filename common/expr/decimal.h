/*
 * Exact decimal numbers: a whole coefficient of at most 38 digits and the count of its digits after the
 * point. 14.00 is 1400 and 2, so its places stay. Nothing is rounded but by mg_decimal_round and
 * mg_decimal_divide; a result that does not fit is refused. Sums have the larger count of places, products
 * the sum of both, as in Python's `decimal`. Zero has no sign.
 */
#ifndef MG_EXPR_DECIMAL_H
#define MG_EXPR_DECIMAL_H

#include "base/buf.h"

__extension__ typedef __int128 mg_int128;

/* A text of a number may have so many digits, and so many places. Room is left for sums between. */
#define MG_DECIMAL_READ_DIGITS 34
/* The digits that every 128-bit number can hold; also the largest count of places of a result. */
#define MG_DECIMAL_DIGITS 38
/* Sign, digits, point, a zero before it, NUL. */
#define MG_DECIMAL_TEXT_SIZE (MG_DECIMAL_DIGITS + 6)

struct mg_decimal {
    mg_int128 coefficient; /* magnitude below 10 to the 38th */
    int places;            /* 0 to MG_DECIMAL_DIGITS */
};

/* Reads a number of JSON or of an expression: "-12.50", "1e3", ".5". False: no number, or too many digits.
 * An exponent is resolved: 1e3 is 1000, 1.5e-3 is 0.0015. */
bool mg_decimal_read(struct mg_slice text, struct mg_decimal *ret);
/* Writes digits without an exponent; returns their count. */
size_t mg_decimal_write(struct mg_decimal number, char ret_text[MG_DECIMAL_TEXT_SIZE]);

/* These return false, with `ret` untouched, if the exact result has too many digits or places. */
bool mg_decimal_add(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret);
bool mg_decimal_subtract(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret);
bool mg_decimal_multiply(struct mg_decimal a, struct mg_decimal b, struct mg_decimal *ret);
/* The nearest number with exactly `places`, 0 to 34; half away from zero, as invoices are rounded. */
bool mg_decimal_round(struct mg_decimal number, int places, struct mg_decimal *ret);
/* The exact quotient, rounded once; `b` is not zero. */
bool mg_decimal_divide(struct mg_decimal a, struct mg_decimal b, int places, struct mg_decimal *ret);

/* Below, at or above 0, as memcmp; exact for all numbers. */
int mg_decimal_compare(struct mg_decimal a, struct mg_decimal b);
/* The number as an integer, if it is one from 0 to `max`; else -1. 2.0 is one. */
int mg_decimal_index(struct mg_decimal number, int max);

#endif
