/* See service_agents.h. */
#include "service_agents.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_write.h"
#include "json/json.h"
#include "service/service.h"

#define FILE_MAX_BYTES ((size_t)64 * 1024) /* as an agent reads it */

/* A service of one's own as the sample has it: some quick tries, and room for many calls. */
static void file_text(const char *name, const char *url, struct mg_buf *ret_text)
{
    struct mg_json_writer json = mg_json_compact(ret_text);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, "service", name);
    mg_json_member_string(&json, "url", url);
    mg_json_member_int(&json, "tries", 3);
    mg_json_member_word(&json, "try_timeout", "3s");
    mg_json_member_int(&json, "concurrency", 64);
    mg_json_object_end(&json);
    mg_buf_append_text(ret_text, "\n");
}

/* Writes the file of NAME=URL; its path goes to `ret_path`. */
static enum mg_class file_make(const char *word, size_t name_len, const struct mg_state *state,
                               char ret_path[PATH_MAX], struct mg_err *err)
{
    char name[MG_NAME_MAX + 1], below[sizeof(MG_DEV_SERVICES_FOLDER) + MG_NAME_MAX + 8];
    struct mg_buf text;
    (void)snprintf(name, sizeof(name), "%.*s", (int)name_len, word);
    (void)snprintf(below, sizeof(below), MG_DEV_SERVICES_FOLDER "/%s.json", name);
    enum mg_class class = mg_state_folder(state, MG_DEV_SERVICES_FOLDER, false, err);
    if (class != MG_OK) {
        return class;
    }
    mg_buf_init(&text, FILE_MAX_BYTES);
    file_text(name, word + name_len + 1, &text);
    if (text.failed || !mg_state_path(state, below, ret_path)) {
        class = mg_err_set(err, MG_BAD_INPUT, "--service %.80s: the URL is too long", word);
    } else {
        class = mg_state_write(state, below, mg_buf_slice(&text), err);
    }
    mg_buf_finish(&text);
    return class;
}

enum mg_class mg_dev_service_read(const char *path, struct mg_dev_service *ret_service, struct mg_err *err)
{
    struct mg_mistake_printer printer = {.path = ret_service->file, .skips_first = true};
    const struct mg_mistakes mistakes = {.add = mg_mistake_print, .arg = &printer};
    struct mg_service *parsed = NULL;
    struct mg_buf text;
    if (path != ret_service->file && snprintf(ret_service->file, sizeof(ret_service->file), "%s", path) >=
                                         (int)sizeof(ret_service->file)) {
        return mg_err_set(err, MG_BAD_INPUT, "%.80s…: the path is too long", path);
    }
    mg_buf_init(&text, FILE_MAX_BYTES);
    enum mg_class class = mg_file_text(ret_service->file, false, &text, err);
    if (class == MG_OK) {
        class = mg_service_parse(mg_buf_slice(&text), &mistakes, &parsed, err);
    }
    mg_buf_finish(&text);
    if (class == MG_OK) {
        (void)snprintf(ret_service->name, sizeof(ret_service->name), "%s", parsed->name);
    }
    mg_service_destroy(parsed);
    return class;
}

static enum mg_class service_read(const char *word, const struct mg_state *state,
                                  struct mg_dev_service *service, struct mg_err *err)
{
    const char *equals = strchr(word, '=');
    size_t name_len = equals != NULL ? (size_t)(equals - word) : 0;
    const char *path = equals == NULL ? word : service->file;
    if (equals == NULL) {
        service->file[0] = '\0';
    } else if (!mg_name_is_valid(word, name_len)) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--service %.80s: before = stands a name: a letter a-z, then a-z, 0-9, _ and -, at "
                          "most %d in all",
                          word, MG_NAME_MAX);
    } else {
        enum mg_class class = file_make(word, name_len, state, service->file, err);
        if (class != MG_OK) {
            return class;
        }
    }
    return mg_dev_service_read(path, service, err) == MG_OK ? MG_OK
                                                            : mg_err_prefix(err, "--service %s", word);
}

enum mg_class mg_dev_services_read(const struct mg_list *words, const struct mg_state *state,
                                   struct mg_dev_services *ret_services, struct mg_err *err)
{
    for (int i = 0; i < words->count; i++) {
        struct mg_dev_service *service = &ret_services->items[i];
        enum mg_class class = service_read(words->items[i], state, service, err);
        if (class != MG_OK) {
            return class;
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(ret_services->names[k], service->name) == 0) {
                return mg_err_set(err, MG_BAD_INPUT, "--service %s: service %s is given twice",
                                  words->items[i], service->name);
            }
        }
        ret_services->names[i] = service->name;
        ret_services->count = i + 1;
    }
    return MG_OK;
}
