/* See print.h. Each directive of a format is printed by itself, so that texts are told from the format. */
#include "base/print.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/buf.h"

#define NUMBER_SIZE 352 /* the longest of doubles, with six digits after the point */

struct directive {
    bool is_left, is_zero;
    int width, precision; /* precision below 0: none */
    int longs;            /* of `l`; 2 for `z` as well: all are as wide here */
    char conversion;
};

/* wcwidth(3) is that of the thread's locale, and a tool of an operator may run in "C". */
static locale_t utf8_locale(void)
{
    static locale_t locale;
    if (locale == (locale_t)0) {
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    }
    return locale;
}

static int columns_of(struct mg_slice text)
{
    int columns = 0;
    mbstate_t state = {0};
    for (size_t at = 0, len; at < text.len; at += len) {
        wchar_t letter;
        len = mbrtowc(&letter, text.data + at, text.len - at, &state);
        bool is_letter = len > 0 && len <= text.len - at;
        int columns_of_letter = is_letter ? wcwidth(letter) : 1;
        columns += columns_of_letter >= 0 ? columns_of_letter : 1;
        len = is_letter ? len : 1;
        state = is_letter ? state : (mbstate_t){0};
    }
    return columns;
}

int mg_text_columns(struct mg_slice text)
{
    locale_t locale = utf8_locale();
    locale_t before = locale != (locale_t)0 ? uselocale(locale) : (locale_t)0;
    int columns = columns_of(text);
    if (before != (locale_t)0) {
        (void)uselocale(before);
    }
    return columns;
}

static void plain_print(FILE *out, struct mg_slice text, bool has_lines)
{
    for (size_t at = 0, len; at < text.len; at += len) {
        const char *letter = text.data + at;
        size_t steering = mg_text_steers(letter, text.len - at);
        size_t whole = mg_utf8_len(letter, text.len - at);
        bool is_blank = *letter == '\t' || (*letter == '\n' && !has_lines);
        len = whole > 0 ? whole : 1;
        if (steering > 0) {
            (void)fputc('.', out);
            len = steering;
        } else if (whole == 0 || is_blank) {
            (void)fputc(is_blank ? ' ' : '?', out);
        } else {
            (void)fwrite(letter, 1, whole, out);
        }
    }
}

void mg_print_lines(FILE *out, struct mg_slice text)
{
    plain_print(out, text, true);
}

static void padding_print(FILE *out, char with, int count)
{
    for (; count > 0; count--) {
        (void)fputc(with, out);
    }
}

static void padded_print(FILE *out, const struct directive *directive, struct mg_slice text)
{
    int missing = directive->width > 0 ? directive->width - mg_text_columns(text) : 0;
    bool is_negative = directive->is_zero && text.len > 0 && text.data[0] == '-';
    if (is_negative) {
        (void)fputc('-', out);
        text = (struct mg_slice){text.data + 1, text.len - 1};
    }
    padding_print(out, directive->is_zero ? '0' : ' ', directive->is_left ? 0 : missing);
    plain_print(out, text, false);
    padding_print(out, ' ', directive->is_left ? missing : 0);
}

static int number_read(const char **at)
{
    int number = 0;
    for (; **at >= '0' && **at <= '9' && number < 10000; (*at)++) {
        number = number * 10 + (**at - '0');
    }
    return number;
}

/* va_list as a member: a function gets its address. */
struct arguments {
    size_t text_max;
    va_list list;
};

static struct directive directive_read(const char **at, struct arguments *args)
{
    struct directive read = {.precision = -1};
    for (; **at == '-' || **at == '0'; (*at)++) {
        read.is_left = read.is_left || **at == '-';
        read.is_zero = read.is_zero || **at == '0';
    }
    if (**at == '*') {
        (*at)++;
        read.width = va_arg(args->list, int);
        read.is_left = read.is_left || read.width < 0;
        read.width = abs(read.width);
    } else {
        read.width = number_read(at);
    }
    if (**at == '.') {
        (*at)++;
        bool is_given = **at == '*';
        *at += is_given ? 1 : 0;
        read.precision = is_given ? va_arg(args->list, int) : number_read(at);
    }
    for (; **at == 'l' || **at == 'z'; (*at)++) {
        read.longs++;
    }
    read.conversion = **at;
    *at += **at != '\0' ? 1 : 0;
    return read;
}

static void text_print(FILE *out, const struct directive *directive, struct arguments *args)
{
    const char *text = va_arg(args->list, const char *);
    size_t len = directive->precision >= 0 ? strnlen(text, (size_t)directive->precision) : strlen(text);
    size_t shown = mg_utf8_cut((struct mg_slice){text, len}, args->text_max);
    padded_print(out, directive, (struct mg_slice){text, shown});
    (void)fputs(shown < len ? "…" : "", out);
}

static void directive_print(FILE *out, const struct directive *directive, struct arguments *args)
{
    char number[NUMBER_SIZE];
    switch (directive->conversion) {
    case '%':
        (void)fputc('%', out);
        return;
    case 's':
        text_print(out, directive, args);
        return;
    case 'c':
        (void)snprintf(number, sizeof(number), "%c", va_arg(args->list, int));
        break;
    case 'd':
    case 'i':
        (void)snprintf(number, sizeof(number), "%lld",
                       directive->longs > 0 ? va_arg(args->list, long long) : va_arg(args->list, int));
        break;
    case 'u':
    case 'x': {
        unsigned long long value =
            directive->longs > 0 ? va_arg(args->list, unsigned long long) : va_arg(args->list, unsigned);
        (void)snprintf(number, sizeof(number), directive->conversion == 'u' ? "%llu" : "%llx", value);
        break;
    }
    case 'f':
        (void)snprintf(number, sizeof(number), "%.*f", directive->precision < 0 ? 6 : directive->precision,
                       va_arg(args->list, double));
        break;
    default:
        abort(); /* a format of ours */
    }
    padded_print(out, directive, mg_slice_of(number));
}

void mg_print_brief(FILE *out, size_t text_max, const char *format, va_list args)
{
    _Static_assert(sizeof(long) == sizeof(long long) && sizeof(size_t) == sizeof(long long),
                   "a length says how wide an argument is");
    struct arguments own = {.text_max = text_max};
    va_copy(own.list, args);
    while (*format != '\0') {
        size_t len = strcspn(format, "%");
        (void)fwrite(format, 1, len, out);
        format += len;
        if (*format == '%') {
            format++;
            struct directive directive = directive_read(&format, &own);
            directive_print(out, &directive, &own);
        }
    }
    va_end(own.list);
}

void mg_print_args(FILE *out, const char *format, va_list args)
{
    mg_print_brief(out, SIZE_MAX, format, args);
}

void mg_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mg_print_args(out, format, args);
    va_end(args);
}
