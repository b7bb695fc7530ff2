/* The nouns, in display order, and the lookup of their verbs: by name, by an alias, and by the nearest name.
 */
#include <string.h>

#include "json/reader.h"
#include "verb_table.h"

static const struct mg_verb *const NOUNS[] = {
    MG_ORDER_VERBS,  MG_SIGNAL_VERBS,  MG_WORKFLOW_VERBS, MG_SCHEDULE_VERBS, MG_ALERT_VERBS,
    MG_DEAD_VERBS,   MG_SERVICE_VERBS, MG_AGENT_VERBS,    MG_CLIENT_VERBS,   MG_BULK_VERBS,
    MG_BROKER_VERBS, MG_DB_VERBS,      MG_DOCTOR_VERBS,   MG_AUDIT_VERBS,    MG_TOP_VERBS,
    MG_PROBE_VERBS,  MG_SERVER_VERBS,  MG_DEV_VERBS,      MG_INIT_VERBS,     MG_COMPLETION_VERBS,
    MG_HELP_VERBS,
};
#define NOUN_COUNT (sizeof(NOUNS) / sizeof(NOUNS[0]))
#define NAMES_MAX  64 /* nouns, or verbs of one */

static const struct {
    const char *alias, *verb;
} ALIASES[] = {{"ls", "list"}};

const struct mg_verb *mg_verb_at(int index)
{
    for (size_t i = 0; i < NOUN_COUNT; i++) {
        for (const struct mg_verb *verb = NOUNS[i]; verb->noun != NULL; verb++) {
            if (index-- == 0) {
                return verb;
            }
        }
    }
    return NULL;
}

static const struct mg_verb *first_of(const char *noun, size_t len)
{
    const struct mg_verb *verb = NULL;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        if (strncmp(verb->noun, noun, len) == 0 && verb->noun[len] == '\0') {
            return verb;
        }
    }
    return NULL;
}

const struct mg_verb *mg_noun_find(const char *noun)
{
    size_t len = strlen(noun);
    const struct mg_verb *verb = first_of(noun, len);
    bool is_plural = verb == NULL && len > 1 && noun[len - 1] == 's';
    const struct mg_verb *single = is_plural ? first_of(noun, len - 1) : NULL;
    return single != NULL && single->verb != NULL ? single : verb; /* "doctors" is nothing */
}

const struct mg_verb *mg_noun_next(const struct mg_verb *verb)
{
    const struct mg_verb *next = verb + 1;
    return next->noun != NULL && strcmp(next->noun, verb->noun) == 0 ? next : NULL;
}

static const char *unalias(const char *name)
{
    for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++) {
        if (strcmp(name, ALIASES[i].alias) == 0) {
            return ALIASES[i].verb;
        }
    }
    return name;
}

const struct mg_verb *mg_verb_find(const char *noun, const char *name)
{
    const struct mg_verb *verb = mg_noun_find(noun);
    const char *wanted = name != NULL ? unalias(name) : "";
    while (verb != NULL && verb->verb != NULL && strcmp(verb->verb, wanted) != 0) {
        verb = mg_noun_next(verb);
    }
    return verb;
}

/* ---- the nearest ---- */

static const char *noun_near(const char *noun)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    const struct mg_verb *verb = NULL;
    int count = 0;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL && count < NAMES_MAX; i++) {
        if (count == 0 || strcmp(names[count - 1], verb->noun) != 0) {
            names[count++] = verb->noun;
        }
    }
    return mg_json_nearest(names, mg_slice_of(noun));
}

static const struct mg_verb *verb_near(const char *noun, const char *name)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    int count = 0;
    for (const struct mg_verb *verb = mg_noun_find(noun);
         verb != NULL && verb->verb != NULL && count < NAMES_MAX; verb = mg_noun_next(verb)) {
        names[count++] = verb->verb;
    }
    const char *near = mg_json_nearest(names, mg_slice_of(name));
    return near != NULL ? mg_verb_find(noun, near) : NULL;
}

/* A verb of another noun: `order check` is `workflow check`. */
static const struct mg_verb *verb_elsewhere(const char *name)
{
    const struct mg_verb *verb = NULL;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        if (verb->verb != NULL && strcmp(verb->verb, name) == 0) {
            return verb;
        }
    }
    for (size_t i = 0; i < NOUN_COUNT; i++) {
        verb = verb_near(NOUNS[i]->noun, name);
        if (verb != NULL && verb->verb[0] == name[0]) { /* one so far away must not mislead */
            return verb;
        }
    }
    return NULL;
}

/* NULL: nothing is near. */
static const struct mg_verb *verb_meant(const char *noun, const char *name)
{
    const struct mg_verb *turned = mg_verb_find(name, noun); /* `list orders` */
    if (mg_noun_find(noun) != NULL) {
        const struct mg_verb *near = verb_near(noun, name);
        bool is_likely = near != NULL && near->verb[0] == name[0];
        const struct mg_verb *elsewhere = is_likely ? NULL : verb_elsewhere(name);
        return elsewhere != NULL ? elsewhere : near;
    }
    const char *near = noun_near(noun);
    const struct mg_verb *meant = near != NULL ? mg_verb_find(near, name) : NULL;
    meant = meant == NULL && near != NULL ? verb_near(near, name) : meant;
    return turned != NULL && turned->verb != NULL ? turned : meant;
}

void mg_verb_refuse(const char *noun, const char *name, char *ret_text, size_t size)
{
    const struct mg_verb *meant = verb_meant(noun, name != NULL ? name : "");
    const char *near = mg_noun_find(noun) == NULL ? noun_near(noun) : NULL;
    char text[MG_VERB_NAME_SIZE];
    int len = snprintf(ret_text, size, "there is no verb \"%.80s%s%.80s\"; ", noun, name != NULL ? " " : "",
                       name != NULL ? name : "");
    size_t at = len > 0 && (size_t)len < size ? (size_t)len : 0;
    if (noun[0] == '-') {
        (void)snprintf(ret_text + at, size - at, "options come after the verb; see makegood --help");
    } else if (meant != NULL || near != NULL) {
        (void)snprintf(ret_text + at, size - at, "did you mean \"makegood %s\"? See makegood --help",
                       meant != NULL ? mg_verb_name(meant, text) : near);
    } else {
        (void)snprintf(ret_text + at, size - at, "see makegood %s%s--help",
                       mg_noun_find(noun) != NULL ? noun : "", mg_noun_find(noun) != NULL ? " " : "");
    }
}

/* ---- its texts ---- */

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
