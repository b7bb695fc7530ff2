/* See definition.h. */
#include "definition.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workflow/proof.h"

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
    enum mg_class class = code == MG_EXIT_DONE
                              ? mg_workflow_parse((struct mg_slice){text, len}, &mistakes, ret_workflow, &err)
                              : MG_OK;
    if (code == MG_EXIT_DONE && class == MG_OK) {
        class = mg_workflow_prove(*ret_workflow, &mistakes, &err);
        if (class != MG_OK) {
            mg_workflow_destroy(*ret_workflow);
            *ret_workflow = NULL;
        }
    }
    if (class != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    free(text);
    return code;
}

struct fetching {
    bool is_over, is_found, is_failed;
    struct mg_buf *text;
    struct mg_err err;
};

static void definition_got(void *arg, bool is_found, int64_t version, struct mg_slice text,
                           const struct mg_err *err)
{
    struct fetching *fetching = arg;
    (void)version;
    fetching->is_over = true;
    fetching->is_found = is_found;
    if (err != NULL) {
        fetching->is_failed = true;
        fetching->err = *err;
    } else if (is_found) {
        mg_buf_append_slice(fetching->text, text);
    }
}

/* 0: the newest; -1: no version. */
static int64_t version_read(const char *text)
{
    char *end;
    if (text == NULL) {
        return 0;
    }
    long version = strtol(text, &end, 10);
    return *end == '\0' && end != text && version > 0 && version <= INT32_MAX ? version : -1;
}

enum mg_exit_code mg_definition_fetch(struct mg_cli *cli, const char *name, const char *version_text,
                                      struct mg_buf *ret_text)
{
    struct fetching fetching = {.text = ret_text};
    int64_t version = version_read(version_text);
    if (version < 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "version %s: expected a whole number of 1 or more", version_text);
    }
    enum mg_exit_code code = cli->store == NULL ? mg_cli_open_store(cli, false) : MG_EXIT_DONE;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    mg_buf_init(ret_text, DEFINITION_MAX_BYTES + 1); /* a definition was limited to this when it was loaded */
    mg_store_get_workflow(cli->store, name, version, definition_got, &fetching);
    if (!mg_cli_wait(cli, &fetching.is_over, cli->options.timeout_ms)) {
        code = mg_cli_fail(MG_EXIT_TIMED_OUT, "the database did not answer in time");
    } else if (fetching.is_failed) {
        code = mg_cli_fail_err(&fetching.err);
    } else if (!fetching.is_found) {
        code = mg_workflow_name_check(cli, name);
        code = code == MG_EXIT_DONE
                   ? mg_cli_fail(MG_EXIT_NOT_FOUND,
                                 "no workflow %s%s%s is stored; `makegood workflow list` lists them", name,
                                 version > 0 ? ", version " : "", version > 0 ? version_text : "")
                   : code;
    }
    if (code != MG_EXIT_DONE) {
        mg_buf_finish(ret_text);
    }
    return code;
}

bool mg_definition_try(struct mg_cli *cli, const char *name, const char *version, struct mg_buf *ret_text)
{
    struct fetching fetching = {.text = ret_text};
    mg_buf_init(ret_text, DEFINITION_MAX_BYTES + 1);
    mg_store_get_workflow(cli->store, name, version_read(version), definition_got, &fetching);
    if (!mg_cli_wait(cli, &fetching.is_over, cli->options.timeout_ms) || ret_text->failed) {
        mg_buf_clear(ret_text);
    }
    return fetching.is_found || !fetching.is_over || fetching.is_failed;
}

enum mg_exit_code mg_definition_find(struct mg_cli *cli, const char *file_or_name, const char *version,
                                     struct mg_workflow **ret_workflow)
{
    struct mg_buf text;
    struct mg_err err;
    bool is_file = strcmp(file_or_name, "-") == 0 || strpbrk(file_or_name, "/.") != NULL ||
                   access(file_or_name, F_OK) == 0;
    if (version == NULL && is_file) {
        return mg_definition_read(file_or_name, ret_workflow);
    }
    enum mg_exit_code code = mg_definition_fetch(cli, file_or_name, version, &text);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (mg_workflow_parse(mg_buf_slice(&text), NULL, ret_workflow, &err) != MG_OK) {
        code = mg_cli_fail(MG_EXIT_ERROR, "the stored workflow %s cannot be read here: %s", file_or_name,
                           err.text);
    }
    mg_buf_finish(&text);
    return code;
}
