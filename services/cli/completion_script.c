/* `completion` prints a script for bash, zsh or fish, which asks completion.c for the candidates. */
#include <string.h>

#include "verb_table.h"

/* The scripts run the tool as it was typed, which need not be on the PATH. */

static const char BASH[] =
    "# bash completion for makegood; printed by: makegood completion bash\n"
    "# shellcheck shell=bash\n"
    "_makegood() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]#=} words=(\"${COMP_WORDS[@]:0:COMP_CWORD}\") found\n"
    "  [ \"${words[-1]}\" != = ] || unset 'words[-1]' # --output=json comes as three words\n"
    "  found=$(\"${words[0]/#\\~/$HOME}\" __complete \"${words[@]:1}\" \"$cur\" 2>/dev/null | cut -f 1)\n"
    "  case $found in\n"
    "  :files) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "  :folders) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "  *) mapfile -t COMPREPLY < <(compgen -W \"$found\" -- \"$cur\") && return ;;\n"
    "  esac\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  return 0\n"
    "}\n"
    "complete -F _makegood makegood\n";

static const char ZSH[] =
    "#compdef makegood\n"
    "# zsh completion for makegood; printed by: makegood completion zsh\n"
    "_makegood() {\n"
    "  local -a found=(\"${(@f)$(${~words[1]} __complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "  [[ $found[1] == :* && $words[CURRENT] == --*=* ]] && compset -P 1 '*='\n"
    "  case $found[1] in\n"
    "  :files) _files ;;\n"
    "  :folders) _path_files -/ ;;\n"
    "  ?*) found=(\"${(@)${(@)found//:/\\\\:}/$'\\t'/:}\") && _describe word found ;;\n"
    "  esac\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _makegood ]; then\n"
    "  _makegood \"$@\"\n"
    "else\n"
    "  compdef _makegood makegood\n"
    "fi\n";

static const char FISH[] =
    "# fish completion for makegood; printed by: makegood completion fish\n"
    "function __makegood\n"
    "  set -l words (commandline -opc) (commandline -ct)\n"
    "  set -l tool (string replace -r '^~/' $HOME/ -- $words[1])\n"
    "  $tool __complete $words[2..] 2>/dev/null\n"
    "end\n"
    "complete -c makegood -f -a '(__makegood | string match -v \":*\")'\n"
    "complete -c makegood -n 'contains -- :files (__makegood)' -F\n"
    "complete -c makegood -n 'contains -- :folders (__makegood)' -a '(__fish_complete_directories)'\n";

static enum mg_exit_code verb_completion(struct mg_cli *cli)
{
    static const struct {
        const char *name, *script;
    } shells[] = {{"bash", BASH}, {"zsh", ZSH}, {"fish", FISH}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(cli->words.items[0], shells[i].name) == 0) {
            (void)fputs(shells[i].script, stdout);
            return MG_EXIT_DONE;
        }
    }
    return mg_cli_fail(MG_EXIT_USAGE, "there is no completion for %.80s: expected bash, zsh or fish",
                       cli->words.items[0]);
}

const struct mg_verb MG_COMPLETION_VERBS[] = {
    {"completion", NULL, "bash|zsh|fish", 1, 1, MG_EXTRA_APART | MG_EXTRA_ALONE, MG_PRINTS_TEXT,
     verb_completion, "prints the shell's completion of these verbs and their options", 0},
    {0}};
