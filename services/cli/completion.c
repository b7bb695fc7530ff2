/*
 * `completion`: prints the completion script for bash, zsh or fish from the tables of verbs and options, so a
 * new verb needs no line here. Values are completed if the tables name them: FILE, DIR, STATE, or a list of
 * words separated by "|".
 */
#include <string.h>

#include "core/words.h"
#include "verbs.h"

/* Converts a value's `name` in the tables to `ret_value`: the allowed words separated by blanks, "FILE",
 * "DIR", "VALUE" for a free text, or "" for no value. */
#define VALUE_SIZE 256
static const char *value_write(const char *name, char ret_value[VALUE_SIZE])
{
    size_t len = 0;
    ret_value[0] = '\0';
    if (name == NULL || name[0] == '\0') {
        return ret_value;
    }
    if (strcmp(name, "STATE") == 0) {
        for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
            len += (size_t)snprintf(ret_value + len, VALUE_SIZE - len, "%s%s", i > 0 ? " " : "",
                                    mg_order_state_name((enum mg_order_state)i));
        }
        return ret_value;
    }
    bool is_words = name[0] >= 'a' && name[0] <= 'z';
    const char *known = strncmp(name, "FILE", 4) == 0 ? "FILE" : strcmp(name, "DIR") == 0 ? "DIR" : "VALUE";
    (void)snprintf(ret_value, VALUE_SIZE, "%s", is_words ? name : known);
    for (char *at = ret_value; *at != '\0'; at++) {
        *at = *at == '|' ? ' ' : *at;
    }
    return ret_value;
}

/* Prints a text inside single quotes. A quote is replaced by `quote`; the characters in `special` get a
 * backslash. */
static void quoted_print(const char *text, const char *quote, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs(quote, stdout);
        } else {
            (void)printf("%s%c", strchr(special, *text) != NULL ? "\\" : "", *text);
        }
    }
}

/* The next noun, by its first verb. `index` begins with 0. NULL: all nouns are done. */
static const struct verb *noun_next(int *index)
{
    for (const struct verb *verb = NULL; (verb = verb_at(*index)) != NULL;) {
        const struct verb *before = *index > 0 ? verb_at(*index - 1) : NULL;
        ++*index;
        if (before == NULL || strcmp(verb->noun, before->noun) != 0) {
            return verb;
        }
    }
    return NULL;
}

/* The names of a noun's verbs; none if the noun is itself a verb. */
static void verbs_print(const struct verb *noun, const char *separator)
{
    const struct verb *verb = NULL;
    const char *before = "";
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        if (strcmp(verb->noun, noun->noun) == 0 && verb->verb != NULL) {
            (void)printf("%s%s", before, verb->verb);
            before = separator;
        }
    }
}

/* Calls `tell` for each flag of a verb; NULL: for the flags of all verbs. */
static void flags_walk(const struct verb *verb, void (*tell)(void *arg, const struct mg_config_flag *flag))
{
    struct cli_options unused;
    struct mg_option options[OPTIONS_MAX];
    char name[VERB_NAME_SIZE] = "";
    (void)options_make(&unused, verb != NULL ? verb->extras : EXTRA_ANY, options);
    if (verb != NULL) {
        (void)verb_name(verb, name);
    }
    const struct mg_program program = {"makegood", "", "", options, NULL};
    mg_config_walk_flags(&program, tell, name);
}

/* ---- bash ---- */

static void bash_flag(void *arg, const struct mg_config_flag *flag)
{
    (void)arg;
    (void)printf(" --%s", flag->name);
    if (flag->letter != 0) {
        (void)printf(" -%c", flag->letter);
    }
}

static void bash_value(void *arg, const struct mg_config_flag *flag)
{
    char value[VALUE_SIZE];
    (void)arg;
    if (flag->value_name == NULL) {
        return;
    }
    (void)printf("  --%s", flag->name);
    if (flag->letter != 0) {
        (void)printf(" | -%c", flag->letter);
    }
    (void)printf(") echo '%s' ;;\n", value_write(flag->value_name, value));
}

static const char BASH_MAIN[] =
    "_makegood() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "  local noun=${COMP_WORDS[1]} verb='' options=2 words=''\n"
    "  COMPREPLY=()\n"
    "  if [ \"$cur\" = = ]; then # --output=json comes as three words\n"
    "    cur=''\n"
    "  elif [ \"$prev\" = = ]; then\n"
    "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n"
    "  if [ -n \"$(_makegood_verbs \"$noun\")\" ]; then\n"
    "    verb=\" ${COMP_WORDS[2]-}\" options=3\n"
    "  fi\n"
    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "    words=\"$(_makegood_nouns) --help --man --version\"\n"
    "  elif [ \"$COMP_CWORD\" -lt \"$options\" ]; then\n"
    "    words=\"$(_makegood_verbs \"$noun\") --help\"\n"
    "  else\n"
    "    words=$(_makegood_value \"$prev\")\n"
    "    case $words$cur in\n"
    "    -*) words=$(_makegood_options \"$noun$verb\") ;;\n"
    "    \"$cur\") words=$(_makegood_words \"$noun$verb\") ;;\n"
    "    esac\n"
    "  fi\n"
    "  case $words in\n"
    "  FILE) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "  DIR) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "  VALUE) return ;;\n"
    "  *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") && return ;;\n"
    "  esac\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  return 0\n"
    "}\n"
    "complete -F _makegood makegood\n";

static void bash_print(void)
{
    const struct verb *verb = NULL;
    char value[VALUE_SIZE], name[VERB_NAME_SIZE];
    int index = 0;
    (void)fputs("# bash completion for makegood; printed by: makegood completion bash\n"
                "# shellcheck shell=bash\n"
                "_makegood_nouns() {\n"
                "  echo '",
                stdout);
    for (const char *before = ""; (verb = noun_next(&index)) != NULL; before = " ") {
        (void)printf("%s%s", before, verb->noun);
    }
    (void)fputs("'\n}\n_makegood_verbs() {\n  case $1 in\n", stdout);
    for (index = 0; (verb = noun_next(&index)) != NULL;) {
        (void)printf("  %s) echo '", verb->noun);
        verbs_print(verb, " ");
        (void)fputs("' ;;\n", stdout);
    }
    (void)fputs("  esac\n}\n_makegood_words() {\n  case $1 in\n", stdout);
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        (void)printf("  '%s') echo '%s' ;;\n", verb_name(verb, name), value_write(verb->words, value));
    }
    (void)fputs("  esac\n}\n_makegood_options() {\n  case $1 in\n", stdout);
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        (void)printf("  '%s') echo '", verb_name(verb, name));
        flags_walk(verb, bash_flag);
        (void)fputs("' ;;\n", stdout);
    }
    (void)fputs("  esac\n}\n_makegood_value() {\n  case $1 in\n", stdout);
    flags_walk(NULL, bash_value);
    (void)printf("  esac\n}\n%s", BASH_MAIN);
}

/* ---- zsh ---- */

#define ZSH_QUOTE "'\\''"

/* Prints `:name:values`, the form of _arguments. */
static void zsh_print_value(const char *name)
{
    char value[VALUE_SIZE];
    (void)value_write(name, value);
    (void)putchar(':');
    quoted_print(strchr(name, '|') == NULL ? name : "word", ZSH_QUOTE, ":\\");
    (void)putchar(':');
    if (strcmp(value, "FILE") == 0) {
        (void)fputs("_files", stdout);
    } else if (strcmp(value, "DIR") == 0) {
        (void)fputs("_files -/", stdout);
    } else if (strcmp(value, "VALUE") == 0) {
        (void)fputs(" ", stdout);
    } else {
        (void)printf("(%s)", value);
    }
}

static void zsh_flag(void *arg, const struct mg_config_flag *flag)
{
    char letter[] = {'-', flag->letter, '\0'};
    const char *names[] = {letter, flag->name};
    (void)arg;
    for (int i = flag->letter != 0 ? 0 : 1; i < 2; i++) {
        bool takes_value = i == 1 && flag->value_name != NULL; /* as the next word, or after "=" */
        (void)printf(" \\\n      '*%s%s%s[", i == 1 ? "--" : "", names[i], takes_value ? "=" : "");
        quoted_print(flag->help, ZSH_QUOTE, "[]\\");
        (void)fputs("]", stdout);
        if (flag->value_name != NULL) {
            zsh_print_value(flag->value_name);
        }
        (void)fputs("'", stdout);
    }
}

static void zsh_print_verb(const struct verb *verb)
{
    char name[VERB_NAME_SIZE];
    (void)printf("    '%s') _arguments", verb_name(verb, name));
    if (verb->words[0] != '\0') {
        (void)fputs(" '*", stdout);
        zsh_print_value(verb->words);
        (void)fputs("'", stdout);
    }
    flags_walk(verb, zsh_flag);
    (void)fputs(" ;;\n", stdout);
}

static void zsh_print(void)
{
    const struct verb *verb = NULL;
    int index = 0;
    (void)fputs("#compdef makegood\n"
                "# zsh completion for makegood; printed by: makegood completion zsh\n"
                "_makegood() {\n"
                "  local -a nouns verbs\n"
                "  local what=${words[2]}\n"
                "  nouns=(\n",
                stdout);
    while ((verb = noun_next(&index)) != NULL) {
        (void)printf("    '%s:", verb->noun);
        verbs_print(verb, ", ");
        quoted_print(verb->verb == NULL ? verb->summary : "", ZSH_QUOTE, ":\\");
        (void)fputs("'\n", stdout);
    }
    (void)fputs("  )\n"
                "  if ((CURRENT == 2)); then\n"
                "    _describe noun nouns\n"
                "    return\n"
                "  fi\n"
                "  case $what in\n",
                stdout);
    for (index = 0; (verb = noun_next(&index)) != NULL;) {
        if (verb->verb == NULL) {
            continue;
        }
        (void)printf("  %s)\n    verbs=(\n", verb->noun);
        const struct verb *of_noun = NULL;
        for (int i = 0; (of_noun = verb_at(i)) != NULL; i++) {
            if (strcmp(of_noun->noun, verb->noun) == 0) {
                (void)printf("      '%s:", of_noun->verb);
                quoted_print(of_noun->summary, ZSH_QUOTE, ":\\");
                (void)fputs("'\n", stdout);
            }
        }
        (void)fputs("    )\n    ;;\n", stdout);
    }
    (void)fputs("  esac\n"
                "  if (($#verbs)); then\n"
                "    if ((CURRENT == 3)); then\n"
                "      _describe verb verbs\n"
                "      return\n"
                "    fi\n"
                "    what+=\" ${words[3]}\"\n"
                "    shift words\n"
                "    ((CURRENT--))\n"
                "  fi\n"
                "  shift words\n"
                "  ((CURRENT--))\n"
                "  case $what in\n",
                stdout);
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        zsh_print_verb(verb);
    }
    (void)fputs("  esac\n"
                "}\n"
                "if [ \"$funcstack[1]\" = _makegood ]; then\n"
                "  _makegood \"$@\"\n"
                "else\n"
                "  compdef _makegood makegood\n"
                "fi\n",
                stdout);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

static void fish_print_value(const char *name)
{
    char value[VALUE_SIZE];
    (void)value_write(name, value);
    if (strcmp(value, "FILE") == 0) {
        (void)fputs(" -F", stdout);
    } else if (strcmp(value, "DIR") == 0) {
        (void)fputs(" -f -a '(__fish_complete_directories)'", stdout);
    } else if (strcmp(value, "VALUE") != 0) {
        (void)printf(" -f -a '%s'", value);
    } else {
        (void)fputs(" -f", stdout);
    }
}

static void fish_print_help(const char *help)
{
    (void)fputs(" -d '", stdout);
    quoted_print(help, FISH_QUOTE, "\\");
    (void)fputs("'\n", stdout);
}

static void fish_flag(void *arg, const struct mg_config_flag *flag)
{
    (void)printf("complete -c makegood -n '__makegood_is %s' -l %s", (const char *)arg, flag->name);
    if (flag->letter != 0) {
        (void)printf(" -s %c", flag->letter);
    }
    if (flag->value_name != NULL) {
        (void)fputs(" -r", stdout);
        fish_print_value(flag->value_name);
    }
    fish_print_help(flag->help);
}

static void fish_print(void)
{
    const struct verb *verb = NULL;
    char name[VERB_NAME_SIZE];
    int index = 0;
    (void)fputs("# fish completion for makegood; printed by: makegood completion fish\n"
                "function __makegood_is # the words before the present one begin with these\n"
                "  set -l words (commandline -opc)\n"
                "  test (count $words) -gt (count $argv); or return 1\n"
                "  set -l last (math 1 + (count $argv))\n"
                "  test \"$words[2..$last]\" = \"$argv\"\n"
                "end\n"
                "function __makegood_ends # they are these\n"
                "  set -l words (commandline -opc)\n"
                "  test \"$words[2..]\" = \"$argv\"\n"
                "end\n"
                "complete -c makegood -f\n",
                stdout);
    while ((verb = noun_next(&index)) != NULL) {
        (void)printf("complete -c makegood -n __fish_is_first_token -a %s -d '", verb->noun);
        verbs_print(verb, ", ");
        quoted_print(verb->verb == NULL ? verb->summary : "", FISH_QUOTE, "\\");
        (void)fputs("'\n", stdout);
    }
    for (int i = 0; (verb = verb_at(i)) != NULL; i++) {
        if (verb->verb != NULL) {
            (void)printf("complete -c makegood -n '__makegood_ends %s' -a %s", verb->noun, verb->verb);
            fish_print_help(verb->summary);
        }
        if (verb->words[0] != '\0') {
            (void)printf("complete -c makegood -n '__makegood_is %s'", verb_name(verb, name));
            fish_print_value(verb->words);
            (void)fputs("\n", stdout);
        }
        flags_walk(verb, fish_flag);
    }
}

static enum exit_code verb_completion(struct cli *cli)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(cli->words.items[0], shells[i].name) == 0) {
            shells[i].print();
            return EXIT_DONE;
        }
    }
    return cli_fail(EXIT_USAGE, "there is no completion for %.80s: expected bash, zsh or fish",
                    cli->words.items[0]);
}

const struct verb COMPLETION_VERBS[] = {
    {"completion", NULL, "bash|zsh|fish", 1, 1, EXTRA_APART | EXTRA_ALONE, verb_completion,
     "prints what the shell needs to complete these verbs and their options"},
    {0}};
