/* The nouns, in display order, and the lookup of their verbs. */
#include <string.h>

#include "verbs.h"

static const struct verb *const NOUNS[] = {
    ORDER_VERBS, WORKFLOW_VERBS, ALERT_VERBS, DEAD_VERBS,  SERVICE_VERBS, BULK_VERBS,       BROKER_VERBS,
    DB_VERBS,    DOCTOR_VERBS,   TOP_VERBS,   PROBE_VERBS, CONSOLE_VERBS, COMPLETION_VERBS,
};

const struct verb *verb_at(int index)
{
    for (size_t i = 0; i < sizeof(NOUNS) / sizeof(NOUNS[0]); i++) {
        for (const struct verb *verb = NOUNS[i]; verb->noun != NULL; verb++) {
            if (index-- == 0) {
                return verb;
            }
        }
    }
    return NULL;
}

const struct verb *verb_find(const char *noun, const char *name)
{
    const struct verb *verb = NULL;
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        if (strcmp(verb->noun, noun) == 0 &&
            (verb->verb == NULL || (name != NULL && strcmp(verb->verb, name) == 0))) {
            return verb;
        }
    }
    return NULL;
}

const char *verb_name(const struct verb *verb, char ret_name[VERB_NAME_SIZE])
{
    (void)snprintf(ret_name, VERB_NAME_SIZE, "%s%s%s", verb->noun, verb->verb != NULL ? " " : "",
                   verb->verb != NULL ? verb->verb : "");
    return ret_name;
}

void verb_write(const struct verb *verb, char *ret_text, size_t size)
{
    char name[VERB_NAME_SIZE];
    (void)snprintf(ret_text, size, "%s%s%s", verb_name(verb, name), verb->words[0] != '\0' ? " " : "",
                   verb->words);
}
