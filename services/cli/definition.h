/* A workflow definition from a file, as the verbs of `workflow` read it. */
#ifndef MG_CLI_DEFINITION_H
#define MG_CLI_DEFINITION_H

#include "cli.h"
#include "wire/workflow.h"

/* Reads and checks it; "-" is standard input. Prints all mistakes, each with file, pointer and a valid form.
 */
enum mg_exit_code mg_definition_read(const char *path, struct mg_workflow **ret_workflow);

#endif
