/*
 * Typed values from text. An error names the mistake and a valid form. A secret's text is never part of a
 * message.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config_internal.h"

#define QUOTE_SIZE    72
#define DURATION_SIZE 32

void mg_config_quote(const char *text, char *ret_text, size_t size)
{
    size_t len = strnlen(text, size - 1);

    for (size_t i = 0; i < len; i++) {
        ret_text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    }
    ret_text[len] = '\0';
    if (text[len] && len > 3) {
        memcpy(ret_text + len - 3, "...", 3);
    }
}

/* "" is not a value, " is not …": the words before the reason. For a secret they hold no part of it. */
static enum mg_class refuse(const struct mg_option *option, const char *text, const char *what_is_right,
                            struct mg_err *err)
{
    char quoted[QUOTE_SIZE];

    if (option->is_secret) {
        return mg_err_set(err, MG_BAD_INPUT, "the value (secret, not shown) is not %s", what_is_right);
    }
    mg_config_quote(text, quoted, sizeof(quoted));
    return mg_err_set(err, MG_BAD_INPUT, "\"%s\" is not %s", quoted, what_is_right);
}

static enum mg_class parse_integer(const struct mg_option *option, const char *text, int64_t *ret_number,
                                   struct mg_err *err)
{
    char right[96] = "a whole number";
    char *end = NULL;

    if (option->max != 0) {
        (void)snprintf(right, sizeof(right), "a whole number from %" PRId64 " to %" PRId64, option->min,
                       option->max);
    }
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool is_number = end != text && *end == '\0' && !isspace((unsigned char)text[0]) && errno == 0;
    if (!is_number || (option->max != 0 && (number < option->min || number > option->max))) {
        return refuse(option, text, right, err);
    }
    *ret_number = number;
    return MG_OK;
}

static enum mg_class parse_duration(const struct mg_option *option, const char *text, int64_t *ret_ms,
                                    struct mg_err *err)
{
    char right[128] = "a duration such as \"250ms\", \"10s\", \"15m\", \"2h\" or \"1d\"";
    int64_t ms = mg_duration_parse(text);

    if (option->max != 0) {
        char min[DURATION_SIZE], max[DURATION_SIZE];
        mg_duration_format(option->min, min, sizeof(min));
        mg_duration_format(option->max, max, sizeof(max));
        (void)snprintf(right, sizeof(right), "a duration such as \"10s\" from %s to %s", min, max);
    }
    if (ms < 0 || (option->max != 0 && (ms < option->min || ms > option->max))) {
        return refuse(option, text, right, err);
    }
    *ret_ms = ms;
    return MG_OK;
}

static enum mg_class parse_flag(const struct mg_option *option, const char *text, bool *ret_flag,
                                struct mg_err *err)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *ret_flag = strcmp(text, yes[i]) == 0;
            return MG_OK;
        }
    }
    return refuse(option, text, "true or false", err);
}

static enum mg_class append_item(const char *text, struct mg_list *list, struct mg_err *err)
{
    if (list->count == MG_LIST_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "more than %d values", MG_LIST_MAX);
    }
    list->items[list->count++] = text;
    return MG_OK;
}

enum mg_class mg_config_value_parse(const struct mg_option *option, const char *text,
                                    struct mg_config_value *value, struct mg_err *err)
{
    switch (option->type) {
    case MG_OPTION_TEXT:
        value->text = text;
        return MG_OK;
    case MG_OPTION_INTEGER:
        return parse_integer(option, text, &value->number, err);
    case MG_OPTION_DURATION:
        return parse_duration(option, text, &value->number, err);
    case MG_OPTION_FLAG:
        return parse_flag(option, text, &value->flag, err);
    case MG_OPTION_LIST:
        return append_item(text, &value->list, err);
    }
    return mg_err_set(err, MG_BUG, "option --%s has no type", option->name);
}
