/*
 * The table of behaviours and their words. A row holds the meaning of its number and the default count of
 * requests to which it applies.
 */
#include "behaviour.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum number { NUMBER_NONE, NUMBER_COUNT, NUMBER_MS };

static const struct row {
    const char *name;
    enum number number; /* the meaning of the first number */
    bool needs_number;
    int64_t default_count; /* -1: every request */
    int on;
} rows[MODE_COUNT] = {
    [MODE_ORDER] = {"order", NUMBER_NONE, false, -1, 0},
    [MODE_NORMAL] = {"normal", NUMBER_NONE, false, -1, ON_ALL},
    [MODE_DECLINE] = {"decline", NUMBER_COUNT, false, -1, ON_DO},
    [MODE_UNAVAILABLE] = {"unavailable", NUMBER_COUNT, false, -1, ON_ALL},
    [MODE_TOO_MANY] = {"too-many", NUMBER_COUNT, false, -1, ON_ALL},
    [MODE_REDIRECT] = {"redirect", NUMBER_COUNT, false, -1, ON_DO},
    [MODE_PAGE] = {"page", NUMBER_COUNT, false, -1, ON_ALL},
    [MODE_SILENT] = {"silent", NUMBER_COUNT, false, -1, ON_ALL},
    [MODE_LATE] = {"late", NUMBER_MS, true, 1, ON_DO},
    [MODE_SLOW] = {"slow", NUMBER_MS, true, -1, ON_DO},
    [MODE_DROP] = {"drop", NUMBER_COUNT, false, 1, ON_DO},
    [MODE_GARBAGE] = {"garbage", NUMBER_COUNT, false, -1, ON_DO},
    [MODE_HUGE] = {"huge", NUMBER_COUNT, false, -1, ON_DO},
    [MODE_TRUNCATE] = {"truncate", NUMBER_COUNT, false, -1, ON_DO},
    [MODE_ACCEPT] = {"accept", NUMBER_MS, true, -1, ON_DO},
    [MODE_FORGETFUL] = {"forgetful", NUMBER_NONE, false, -1, ON_DO},
    [MODE_UNDO_FAIL] = {"undo-fail", NUMBER_COUNT, false, -1, ON_UNDO},
    [MODE_UNDO_REFUSE] = {"undo-refuse", NUMBER_COUNT, false, -1, ON_UNDO},
    [MODE_UNDO_PAGE] = {"undo-page", NUMBER_COUNT, false, -1, ON_UNDO},
};

static bool number_parse(const char **text, int64_t max, int64_t *ret_number)
{
    if (**text < '0' || **text > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    if (errno != 0 || number > max) {
        return false;
    }
    *text = end;
    *ret_number = number;
    return true;
}

bool behaviour_parse(const char *text, struct behaviour *ret_behaviour)
{
    size_t name_len = strcspn(text, ":");
    for (enum mode mode = MODE_ORDER; mode < MODE_COUNT; mode++) {
        const struct row *row = &rows[mode];
        if (strlen(row->name) != name_len || strncmp(row->name, text, name_len) != 0) {
            continue;
        }
        struct behaviour behaviour = {.mode = mode, .count = row->default_count};
        const char *rest = text + name_len;
        if (*rest == '\0' && row->needs_number) {
            return false;
        }
        if (*rest == ':') {
            int64_t *number = row->number == NUMBER_MS ? &behaviour.ms : &behaviour.count;
            rest++;
            if (row->number == NUMBER_NONE || !number_parse(&rest, BEHAVIOUR_MS_MAX, number)) {
                return false;
            }
        }
        if (*rest == ':' && row->number == NUMBER_MS) {
            rest++;
            if (!number_parse(&rest, BEHAVIOUR_MS_MAX, &behaviour.count)) {
                return false;
            }
        }
        if (*rest != '\0') {
            return false;
        }
        *ret_behaviour = behaviour;
        return true;
    }
    return false;
}

/* In an order's body a mode concerns that order's do or undo only, even if a switch of it would touch more.
 */
static int kind_in_order(enum mode mode)
{
    if (mode == MODE_NORMAL || mode == MODE_ORDER) {
        return 0;
    }
    return rows[mode].on == ON_UNDO ? ON_UNDO : ON_DO;
}

static bool words_read(const char *words, int kind, struct behaviour *ret_behaviour)
{
    char copy[BEHAVIOUR_TEXT_SIZE], *rest = copy;
    struct behaviour chosen = {.mode = MODE_NORMAL, .count = -1}, behaviour;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", words) >= sizeof(copy)) {
        return false;
    }
    for (const char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        if (word[0] == '\0') {
            continue;
        }
        if (!behaviour_parse(word, &behaviour)) {
            return false;
        }
        if (chosen.mode == MODE_NORMAL && (kind_in_order(behaviour.mode) & kind)) {
            chosen = behaviour;
        }
    }
    *ret_behaviour = chosen;
    return true;
}

bool behaviour_of_body(const char *body, int64_t len, const char *service, int kind,
                       struct behaviour *ret_behaviour)
{
    *ret_behaviour = (struct behaviour){.mode = MODE_NORMAL, .count = -1};
    json_t *root = json_loadb(body, (size_t)len, JSON_ALLOW_NUL, NULL);
    const json_t *field = json_object_get(root, "behaviour");
    if (!field) {
        field = json_object_get(json_object_get(root, "payload"), "behaviour");
    }
    if (json_is_object(field)) {
        field = json_object_get(field, service);
    }
    bool is_read = true;
    if (json_is_string(field)) {
        is_read = words_read(json_string_value(field), kind, ret_behaviour);
    } else if (field && !json_is_null(field)) {
        is_read = false;
    }
    json_decref(root);
    return is_read;
}

int behaviour_default_on(enum mode mode)
{
    return rows[mode].on;
}

const char *mode_name(enum mode mode)
{
    return rows[mode].name;
}
