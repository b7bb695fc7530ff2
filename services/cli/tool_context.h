/*
 * Where the tool's servers are, if neither options nor environment name them: the context. It is the one that
 * --context or MAKEGOOD_CONTEXT names in the file of contexts, or the one that `makegood dev` wrote into the
 * folder .makegood of the project. A context only sets variables of the environment.
 */
#ifndef MG_CLI_TOOL_CONTEXT_H
#define MG_CLI_TOOL_CONTEXT_H

#include <stdbool.h>

#include "base/err.h"

#define MG_TOOL_CONTEXT_FOLDER      ".makegood" /* of `makegood dev` */
#define MG_TOOL_CONTEXT_ORIGIN_SIZE 512

struct mg_tool_context {
    char origin[MG_TOOL_CONTEXT_ORIGIN_SIZE];  /* ".makegood/env", "context prod of FILE"; "": none is used */
    char ignored[MG_TOOL_CONTEXT_ORIGIN_SIZE]; /* a project's file that others could have written; "": none */
};

/* Applies --context of the command line, which outranks the environment, or that of MAKEGOOD_CONTEXT, to
 * which variables that are set already give way. Without either, and if `may_be_project` and no server is
 * named otherwise, the project's. MG_BAD_INPUT: there is no such context, or --context and a server are both
 * named. */
enum mg_class mg_tool_context_apply(int argc, char *const *argv, bool may_be_project,
                                    struct mg_tool_context *ret, struct mg_err *err) MG_MUSTCHECK;

/* The text of a shell's word as `makegood dev` writes it: quotes and backslashes are taken out of `text`. */
void mg_tool_context_unquote(char *text);

#endif
