/* Writes derived identities. The sizes in key.h have room for the longest parts, so nothing is ever cut. */
#include "core/key.h"

#include <string.h>

static char *put_text(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    return at;
}

void mg_key_write(const char *order_id, const char *step, enum mg_kind kind, uint32_t generation,
                  char ret_key[MG_KEY_SIZE])
{
    char *at = put_text(ret_key, order_id);
    *at++ = '.';
    at = put_text(at, step);
    *at++ = '.';
    at = put_text(at, mg_kind_name(kind == MG_KIND_UNDO ? MG_KIND_UNDO : MG_KIND_DO));
    if (generation > 0) {
        *at++ = '.';
        at = put_number(at, generation);
    }
    *at = '\0';
}

void mg_correlation_write(const char *order_id, const char *step, uint32_t attempt, enum mg_kind kind,
                          char ret_correlation[MG_KEY_SIZE])
{
    char *at = put_text(ret_correlation, order_id);
    *at++ = '.';
    at = put_text(at, step);
    *at++ = '.';
    at = put_number(at, attempt);
    *at++ = '.';
    at = put_text(at, mg_kind_name(kind));
    *at = '\0';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool mg_name_is_valid(const char *text, size_t len)
{
    if (len == 0 || len > MG_NAME_MAX || !is_lower(text[0])) {
        return false;
    }
    for (size_t i = 1; i < len; i++) {
        if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '_' && text[i] != '-') {
            return false;
        }
    }
    return true;
}

bool mg_label_name_is_valid(const char *text, size_t len)
{
    if (len == 0 || len > MG_LABEL_NAME_MAX || !is_lower(text[0])) {
        return false;
    }
    for (size_t i = 1; i < len; i++) {
        if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '_') {
            return false;
        }
    }
    return true;
}

bool mg_order_id_is_valid(const char *text, size_t len)
{
    if (len == 0 || len > MG_ORDER_ID_MAX) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (!is_lower(c) && !is_digit(c) && !(c >= 'A' && c <= 'Z') && c != '-' && c != '.' && c != '_' &&
            c != ':') {
            return false;
        }
    }
    return true;
}
