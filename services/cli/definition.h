/* A workflow definition from a file, as the verbs of `workflow` read it. */
#ifndef MG_CLI_DEFINITION_H
#define MG_CLI_DEFINITION_H

#include "cli.h"
#include "workflow/workflow.h"

/* Reads and checks it; "-" is standard input. Prints all mistakes, each with file, pointer and a valid form.
 */
enum mg_exit_code mg_definition_read(const char *path, struct mg_workflow **ret_workflow);
/* The bytes of a stored definition, as they were loaded. `version` NULL: the newest. The caller finishes
 * *ret_text after MG_EXIT_DONE. */
enum mg_exit_code mg_definition_fetch(struct mg_cli *cli, const char *name, const char *version,
                                      struct mg_buf *ret_text);
/* The same for a part of an answer that may be left out: absent without a word if it cannot be had. `store`
 * is open. The caller finishes *ret_text. False: the database has none. */
bool mg_definition_try(struct mg_cli *cli, const char *name, const char *version, struct mg_buf *ret_text);
/* The file of this name, else the stored definition of this name. */
enum mg_exit_code mg_definition_find(struct mg_cli *cli, const char *file_or_name, const char *version,
                                     struct mg_workflow **ret_workflow);

#endif
