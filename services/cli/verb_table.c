/* The nouns, in display order, and the lookup of their verbs. */
#include <string.h>

#include "verb_table.h"

static const struct mg_verb *const NOUNS[] = {
    MG_ORDER_VERBS,  MG_SIGNAL_VERBS,  MG_WORKFLOW_VERBS, MG_SCHEDULE_VERBS,   MG_ALERT_VERBS,
    MG_DEAD_VERBS,   MG_SERVICE_VERBS, MG_AGENT_VERBS,    MG_CLIENT_VERBS,     MG_BULK_VERBS,
    MG_BROKER_VERBS, MG_DB_VERBS,      MG_DOCTOR_VERBS,   MG_AUDIT_VERBS,      MG_TOP_VERBS,
    MG_PROBE_VERBS,  MG_SERVER_VERBS,  MG_DEV_VERBS,      MG_COMPLETION_VERBS,
};

const struct mg_verb *mg_verb_at(int index)
{
    for (size_t i = 0; i < sizeof(NOUNS) / sizeof(NOUNS[0]); i++) {
        for (const struct mg_verb *verb = NOUNS[i]; verb->noun != NULL; verb++) {
            if (index-- == 0) {
                return verb;
            }
        }
    }
    return NULL;
}

const struct mg_verb *mg_verb_find(const char *noun, const char *name)
{
    const struct mg_verb *verb = NULL;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        if (strcmp(verb->noun, noun) == 0 &&
            (verb->verb == NULL || (name != NULL && strcmp(verb->verb, name) == 0))) {
            return verb;
        }
    }
    return NULL;
}

const char *mg_verb_name(const struct mg_verb *verb, char ret_name[MG_VERB_NAME_SIZE])
{
    (void)snprintf(ret_name, MG_VERB_NAME_SIZE, "%s%s%s", verb->noun, verb->verb != NULL ? " " : "",
                   verb->verb != NULL ? verb->verb : "");
    return ret_name;
}

void mg_verb_write(const struct mg_verb *verb, char *ret_text, size_t size)
{
    char name[MG_VERB_NAME_SIZE];
    (void)snprintf(ret_text, size, "%s%s%s", mg_verb_name(verb, name), verb->words[0] != '\0' ? " " : "",
                   verb->words);
}
