/*
 * The candidates of a shell's completion. The shell's script (completion_script.c) calls
 * `makegood __complete WORDS…` with the words up to the cursor, which prints the candidates for the last of
 * them: one a line, then a TAB and its description. ":files" or ":folders" in their place asks the shell for
 * names of files. The shell itself drops candidates that do not match, because zsh and fish match more than
 * beginnings. Candidates come from the tables of verbs and options, so a new verb needs no line here. Values
 * are completed if the tables name them: FILE, DIR, STATE, a list of words separated by "|", or names that
 * the database knows (completion_names.c).
 */
#include <string.h>

#include "core/words.h"
#include "verb_table.h"

/* Prints the candidates for a value that the tables call `name` and that begins with `typed`, each after
 * `prefix_len` bytes of `prefix`. A free text has none. */
static void values_print(const char *name, const char *typed, const char *prefix, int prefix_len)
{
    if (mg_completion_names(name, typed, prefix, prefix_len)) {
        return;
    }
    if (strcmp(name, "STATE") == 0) {
        for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
            (void)printf("%.*s%s\n", prefix_len, prefix, mg_order_state_name((enum mg_order_state)i));
        }
    } else if (strncmp(name, "FILE", 4) == 0) {
        (void)puts(":files");
    } else if (strcmp(name, "DIR") == 0) {
        (void)puts(":folders");
    } else if (name[0] >= 'a' && name[0] <= 'z') {
        for (int len = 0; *name != '\0' && *name != ' '; name += name[len] == '|' ? len + 1 : len) {
            len = (int)strcspn(name, "| "); /* the words of the first argument */
            (void)printf("%.*s%.*s\n", prefix_len, prefix, len, name);
        }
    }
}

/* Calls `visit` for each flag of a verb. */
static void flags_walk(const struct mg_verb *verb,
                       void (*visit)(void *arg, const struct mg_config_flag *flag), void *arg)
{
    struct mg_cli_options unused;
    struct mg_verb_options options;
    mg_options_make(&unused, verb->extras, verb->prints, &options);
    const struct mg_program program = {
        .name = "makegood", .summary = "", .usage = "", .options = options.all};
    mg_config_walk_flags(&program, visit, arg);
}

static void flag_print(void *arg, const struct mg_config_flag *flag)
{
    (void)arg;
    (void)printf("--%s\t%s\n", flag->name, flag->help);
    if (flag->letter != 0) {
        (void)printf("-%c\t%s\n", flag->letter, flag->help);
    }
}

struct flag_search {
    const char *text; /* a flag as it was typed, with its dashes */
    size_t len;
    const char *value_name; /* NULL: no such flag, or it takes no value */
};

/* Values that the tables call NAME, by the option. */
static const struct {
    const char *option, *value_name;
} NAMED[] = {{"workflow", "WORKFLOW"}, {"service", "SERVICE"}};

static const char *value_name_of(const struct mg_config_flag *flag)
{
    for (size_t i = 0; i < sizeof(NAMED) / sizeof(NAMED[0]); i++) {
        if (flag->value_name != NULL && strcmp(flag->value_name, "NAME") == 0 &&
            strcmp(flag->name, NAMED[i].option) == 0) {
            return NAMED[i].value_name;
        }
    }
    return flag->value_name;
}

static void flag_compare(void *arg, const struct mg_config_flag *flag)
{
    struct flag_search *search = arg;
    char name[MG_FLAG_NAME_SIZE + 2], letter[] = {'-', flag->letter, '\0'};
    (void)snprintf(name, sizeof(name), "--%s", flag->name);
    if ((strlen(name) == search->len && strncmp(name, search->text, search->len) == 0) ||
        (strlen(letter) == 2 && search->len == 2 && strncmp(letter, search->text, 2) == 0)) {
        search->value_name = value_name_of(flag);
    }
}

/* The name of the value that the flag in `text` takes; NULL: no flag of the verb, or none that takes one. */
static const char *flag_value(const struct mg_verb *verb, const char *text, size_t len)
{
    struct flag_search search = {text, len, NULL};
    flags_walk(verb, flag_compare, &search);
    return search.value_name;
}

/* The last word is a flag's value, as the next word or in the same ("--output=json", "-ojson"), or a flag, or
 * an argument of the verb. */
static void argument_complete(const struct mg_verb *verb, const char *before, const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    size_t flag_len = is_long ? strcspn(word, "=") : strnlen(word, 2);
    const char *value_name = flag_value(verb, before, strlen(before));
    if (value_name != NULL) {
        values_print(value_name, word, "", 0);
    } else if (word[0] != '-') {
        bool is_workflow = strcmp(verb->noun, "workflow") == 0 && strncmp(verb->words, "NAME", 4) == 0;
        values_print(is_workflow ? "WORKFLOW" : verb->words, word, "", 0);
    } else if (word[flag_len] == '\0') {
        flags_walk(verb, flag_print, NULL);
    } else if ((value_name = flag_value(verb, word, flag_len)) != NULL) {
        int prefix_len = (int)flag_len + (is_long ? 1 : 0);
        values_print(value_name, word + prefix_len, word, prefix_len);
    }
}

/* The verbs of a noun; none if there is no such noun. */
static void verbs_complete(const char *noun)
{
    const struct mg_verb *verb = mg_noun_find(noun);
    if (verb != NULL) {
        for (; verb != NULL; verb = mg_noun_next(verb)) {
            (void)printf("%s\t%s\n", verb->verb, verb->summary);
        }
        (void)puts("--help\tits verbs");
    }
}

/* Each noun is described by its verbs, or by its summary if it is itself the verb. */
static void nouns_complete(void)
{
    const struct mg_verb *verb = NULL;
    const char *before = "";
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        bool is_first = strcmp(verb->noun, before) != 0;
        (void)printf("%s%s%s%s", is_first && i > 0 ? "\n" : "", is_first ? verb->noun : "",
                     is_first ? "\t" : ", ", verb->verb != NULL ? verb->verb : verb->summary);
        before = verb->noun;
    }
    (void)puts("\n--help\tall verbs\n--man\tthe manual page, as roff\n--version\tthe version");
}

void mg_completion_print(int count, char **words)
{
    struct mg_tool_context context;
    struct mg_err err;
    const struct mg_verb *verb = count > 1 ? mg_verb_find(words[0], count > 2 ? words[1] : NULL) : NULL;
    if (count < 2) {
        nouns_complete();
    } else if (verb != NULL && mg_tool_context_apply(count - 1, words, false, &context, &err) == MG_OK) {
        argument_complete(verb, words[count - 2], words[count - 1]);
    } else if (count == 2) {
        verbs_complete(words[0]);
    }
}
