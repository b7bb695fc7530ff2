/*
 * Errors as values. All error text is built here, so a message never exceeds its room and context always
 * stands in front. The text is always UTF-8, because it may be stored and PostgreSQL refuses other bytes.
 * This file neither logs nor allocates: an error must be reportable after memory has run out.
 */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum mg_class mg_err_set(struct mg_err *err, enum mg_class class, const char *format, ...)
{
    /* Built in a separate buffer: an argument may be the old text of this error. */
    char text[MG_ERR_TEXT_MAX];
    va_list args;

    assert(err && class != MG_OK);
    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0) {
        text[0] = '\0';
    }
    va_end(args);

    mg_utf8_mend(text);
    err->class = class;
    memcpy(err->text, text, strlen(text) + 1);
    return class;
}

enum mg_class mg_err_prefix(struct mg_err *err, const char *format, ...)
{
    char text[MG_ERR_TEXT_MAX];
    va_list args;

    assert(err);
    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0) {
        text[0] = '\0';
    }
    va_end(args);

    /* The end is cut: the newest context and the start of the cause are the most useful parts. */
    size_t used = strlen(text);
    const char *const parts[] = {": ", err->text};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t room = sizeof(text) - 1 - used;
        size_t len = strnlen(parts[i], room);
        memcpy(text + used, parts[i], len);
        used += len;
    }
    text[used] = '\0';
    mg_utf8_mend(text);
    memcpy(err->text, text, used + 1);
    return err->class;
}

const char *mg_class_name(enum mg_class class)
{
    switch (class) {
    case MG_OK:
        return "ok";
    case MG_TRANSIENT:
        return "transient";
    case MG_PERMANENT:
        return "permanent";
    case MG_STALE:
        return "stale";
    case MG_BAD_INPUT:
        return "bad_input";
    case MG_BUG:
        return "bug";
    }
    return "bug"; /* not a value of the enum: a bug itself */
}
