/* The rows of `help` and `version`. Their function reads this table, so cli_main.c calls it (mg_help_answer).
 */
#include "verb_table.h"

const struct mg_verb MG_HELP_VERBS[] = {
    {"help", NULL, "[NOUN [VERB]]", 0, 2, MG_EXTRA_APART | MG_EXTRA_ALONE, MG_PRINTS_TEXT, NULL,
     "prints all verbs, those of a noun, or the options of one", MG_HELP_OF_WORDS},
    {"version", NULL, "", 0, 0, MG_EXTRA_APART | MG_EXTRA_ALONE, MG_PRINTS_TEXT, NULL,
     "prints the version of this program", MG_HELP_OF_VERSION},
    {0}};
