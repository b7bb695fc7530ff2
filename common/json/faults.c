/* The mistakes of one text: all go to the caller, each with its place in a definition. The error has the
 * first one; of a message, which has no other report, as many as it can hold. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "json/reader.h"

#define ERROR_MAX 460           /* with the number of the others it fits struct mg_err */
#define THE_WHOLE "(the whole)" /* the empty JSON pointer (RFC 6901), for people */

static const char *shown(const char *pointer)
{
    return *pointer != '\0' ? pointer : THE_WHOLE;
}

bool mg_json_faults_are_many(const struct mg_json_faults *faults)
{
    /* The reader of a message reports only its first mistake. */
    return faults->count >= (faults->mistakes != NULL ? MG_JSON_FAULTS_MAX : 1);
}

static void set_first(struct mg_json_faults *faults, enum mg_class class, struct mg_json_place place,
                      const char *pointer, const char *text)
{
    char where[48] = "";
    if (place.line > 0) {
        (void)snprintf(where, sizeof(where), "line %d, column %d: ", place.line, place.column);
    }
    faults->named = 1;
    faults->class = mg_err_set(faults->err, class, "%s%s%s%s", where, pointer != NULL ? shown(pointer) : "",
                               pointer != NULL ? ": " : "", text);
}

/* After the first one, if it has room. */
static void add_next(struct mg_json_faults *faults, const char *pointer, const char *text)
{
    char next[MG_JSON_POINTER_SIZE + MG_FAULT_TEXT_SIZE + 8];
    size_t len = strlen(faults->err->text);
    int more = snprintf(next, sizeof(next), "; %s%s%s", pointer != NULL ? shown(pointer) : "",
                        pointer != NULL ? ": " : "", text);
    if (len + (size_t)more <= ERROR_MAX) {
        memcpy(faults->err->text + len, next, (size_t)more + 1);
        faults->named++;
    }
}

/* Quoted input must neither break the line nor steer a terminal; a cut may have split a character. */
static void make_plain(char *text)
{
    mg_utf8_mend(text);
    for (size_t len; *text != '\0'; text += len) {
        bool is_end = *text == '\n' || *text == '\t';
        size_t steering = is_end ? 1 : mg_text_steers(text, strnlen(text, 3));
        memset(text, '?', steering);
        len = steering > 0 ? steering : 1;
    }
}

static void add_fault(struct mg_json_faults *faults, enum mg_class class, const char *pointer, const char *at,
                      char *text)
{
    struct mg_json_place place = {0, 0};
    if (faults->place != NULL && !mg_json_faults_are_many(faults)) {
        place = faults->place(faults, pointer, at);
    }
    char plain[MG_JSON_POINTER_SIZE]; /* names in a pointer are input, too */
    if (pointer != NULL) {
        (void)snprintf(plain, sizeof(plain), "%s", pointer);
        make_plain(plain);
        pointer = plain;
    }
    make_plain(text);
    if (faults->count == 0 || (class == MG_BAD_INPUT && faults->class == MG_STALE && !faults->is_newer)) {
        set_first(faults, class, place, pointer, text);
    } else if (faults->mistakes == NULL && faults->place == NULL && class == faults->class) {
        add_next(faults, pointer, text);
    }
    if (faults->mistakes != NULL && !mg_json_faults_are_many(faults)) {
        faults->mistakes->add(faults->mistakes->arg, place, pointer, text);
    }
    faults->count++;
}

void mg_json_fault(struct mg_json_faults *faults, enum mg_class class, const char *pointer,
                   const char *format, ...)
{
    char text[MG_FAULT_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* a cut text is better than none */
    va_end(args);
    add_fault(faults, class, pointer, NULL, text);
}

void mg_json_fault_at(struct mg_json_faults *faults, enum mg_class class, const char *pointer, const char *at,
                      const char *format, ...)
{
    char text[MG_FAULT_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add_fault(faults, class, pointer, at, text);
}

void mg_mistake_print(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct mg_mistake_printer *printer = arg;
    if (printer->count++ == 0 && printer->skips_first) {
        return;
    }
    mg_print(stderr, "%s", printer->path);
    if (place.line > 0) {
        mg_print(stderr, ":%d:%d", place.line, place.column);
    }
    mg_print(stderr, ": %s%s%s\n", pointer != NULL ? shown(pointer) : "", pointer != NULL ? ": " : "", text);
}

enum mg_class mg_json_faults_end(struct mg_json_faults *faults)
{
    if (faults->count > faults->named) {
        struct mg_err first = *faults->err;
        (void)mg_err_set(faults->err, first.class, "%.*s (and %d more)", ERROR_MAX, first.text,
                         faults->count - faults->named);
    }
    return faults->class;
}
