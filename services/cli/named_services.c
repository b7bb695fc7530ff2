/* See named_services.h. */
#include "named_services.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define SERVICE_MAX_BYTES ((size_t)256 * 1024) /* as an agent reads it */
#define PATH_SIZE         4096
/* A service without a file: only its name matters, and the defaults of all else. */
#define DEFAULT_SERVICE "{\"service\": \"%s\", \"url\": \"http://127.0.0.1\"}"

static enum mg_exit_code service_add(struct mg_service_files *files, struct mg_slice text, const char *path)
{
    struct mg_err err;
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    if (mg_service_parse_rules(text, &mistakes, &files->services[files->count], &err) != MG_OK) {
        return printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    files->count++;
    return MG_EXIT_DONE;
}

static enum mg_exit_code service_read(struct mg_service_files *files, const char *named_by,
                                      struct mg_slice quoted)
{
    char name[PATH_SIZE], path[2 * PATH_SIZE];
    struct mg_buf name_buf, text;
    struct mg_err err;
    mg_buf_init_fixed(&name_buf, name, sizeof(name));
    (void)mg_json_string(quoted, &name_buf); /* checked: a string */
    const char *slash = strrchr(named_by, '/');
    int folder_len = name[0] != '/' && slash != NULL ? (int)(slash - named_by) + 1 : 0;
    if (name_buf.failed || folder_len >= PATH_SIZE) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: /services: a path is too long", named_by);
    }
    snprintf(path, sizeof(path), "%.*s%s", folder_len, named_by, name);
    mg_buf_init(&text, SERVICE_MAX_BYTES);
    enum mg_exit_code code = mg_file_text(path, true, &text, &err) == MG_OK
                                 ? service_add(files, mg_buf_slice(&text), path)
                                 : mg_cli_fail(MG_EXIT_USAGE, "%s", err.text);
    mg_buf_finish(&text);
    return code;
}

enum mg_exit_code mg_service_files_read(struct mg_service_files *files, const char *named_by,
                                        const struct mg_slice *paths, int count)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < count && code == MG_EXIT_DONE; i++) {
        code = service_read(files, named_by, paths[i]);
    }
    return code;
}

static const struct mg_service *service_find(const struct mg_service_files *files, const char *name)
{
    for (int i = 0; i < files->count; i++) {
        if (strcmp(files->services[i]->name, name) == 0) {
            return files->services[i];
        }
    }
    return NULL;
}

enum mg_exit_code mg_service_files_match(struct mg_service_files *files, const struct mg_workflow *workflow)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < workflow->plan.step_count && code == MG_EXIT_DONE; i++) {
        const char *name = workflow->steps[i].service;
        if (workflow->plan.steps[i].is_wait) {
            continue;
        }
        if (service_find(files, name) == NULL) {
            char text[sizeof(DEFAULT_SERVICE) + MG_NAME_MAX];
            snprintf(text, sizeof(text), DEFAULT_SERVICE, name);
            code = service_add(files, mg_slice_of(text), name);
        }
        files->by_step[i] = service_find(files, name);
    }
    return code;
}

void mg_service_files_free(struct mg_service_files *files)
{
    for (int i = 0; i < files->count; i++) {
        mg_service_destroy(files->services[i]);
    }
    files->count = 0;
}
