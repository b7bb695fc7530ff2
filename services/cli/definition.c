/* See definition.h. */
#include "definition.h"

#include <stdlib.h>

/* Well above a definition of 64 steps with large templates. */
#define DEFINITION_MAX_BYTES ((size_t)1024 * 1024)

enum mg_exit_code mg_definition_read(const char *path, struct mg_workflow **ret_workflow)
{
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_err err;
    char *text = NULL;
    size_t len = 0;
    enum mg_exit_code code = mg_cli_read_file(path, DEFINITION_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE &&
        mg_workflow_parse((struct mg_slice){text, len}, &mistakes, ret_workflow, &err) != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    free(text);
    return code;
}
