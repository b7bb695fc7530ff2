/* See tool_context.h. A file that another user could have written is never read: it would lead the tool to
 * their servers. */
#include "tool_context.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/reader.h"

#define FILE_MAX_BYTES ((size_t)16 * 1024) /* far above the contexts of one user */
#define CONTEXTS_MAX   64
#define PREFIX         "MAKEGOOD_"
#define VARIABLE       "MAKEGOOD_CONTEXT"

/* ---- files ---- */

/* Of this user or of root, and not writable for others. */
static bool is_trusted(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid == geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Reads the whole file, with a NUL after it. False: there is none that is trusted. */
static bool file_read(const char *path, char ret_text[FILE_MAX_BYTES + 1])
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 && is_trusted(fd) ? 1 : -1;
    while (got > 0 && len < FILE_MAX_BYTES) {
        got = read(fd, ret_text + len, FILE_MAX_BYTES - len);
        len += got > 0 ? (size_t)got : 0;
    }
    ret_text[len] = '\0';
    if (fd >= 0) {
        (void)close(fd);
    }
    return got == 0;
}

static char *trim(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL) {
        text[--len] = '\0';
    }
    return text + strspn(text, " \t");
}

/* ---- variables ---- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

/* A context may name servers, the ways to reach them, and values of options; nothing else. */
static bool is_variable(const char *name)
{
    return (strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strcmp(name, VARIABLE) != 0) ||
           strncmp(name, "PG", 2) == 0;
}

static void variable_set(const char *name, const char *value, bool outranks)
{
    if (is_variable(name) && (outranks || !is_set(name))) {
        (void)setenv(name, value, 1);
    }
}

/* A context given by an option stands alone: one server of each of two sources would be worse than an error.
 */
static void servers_unset(void)
{
    static const char *const names[] = {"AMQP_", "PG_DSN", "ALLOW_PLAINTEXT", "CONFIG"};
    if (environ == NULL) { /* after clearenv */
        return;
    }
    for (char **at = environ; *at != NULL;) {
        char name[64];
        bool is_one = false;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            is_one = is_one || (strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
                                strncmp(name + strlen(PREFIX), names[i], strlen(names[i])) == 0);
        }
        if (is_one) {
            (void)unsetenv(name); /* the next one takes its place */
        } else {
            at++;
        }
    }
}

/* An option of the command line that names a server; NULL: none does. */
static const char *server_option_find(int argc, char *const *argv)
{
    static const char *const options[] = {"--amqp-url", "--pg-dsn", "--config"};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        for (size_t j = 0; j < sizeof(options) / sizeof(options[0]); j++) {
            if (strncmp(argv[i], options[j], strlen(options[j])) == 0) {
                return options[j];
            }
        }
    }
    return NULL;
}

static bool is_server_named(int argc, char *const *argv)
{
    static const char *const variables[] = {"MAKEGOOD_AMQP_URL", "MAKEGOOD_AMQP_URL_FILE",
                                            "MAKEGOOD_PG_DSN",   "MAKEGOOD_PG_DSN_FILE",
                                            "MAKEGOOD_CONFIG",   "PGHOST",
                                            "PGHOSTADDR",        "PGPORT",
                                            "PGSERVICE",         "PGDATABASE"};
    bool is_named = server_option_find(argc, argv) != NULL;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        is_named = is_named || is_set(variables[i]);
    }
    return is_named;
}

/* ---- the project's ---- */

void mg_tool_context_unquote(char *text)
{
    char quote = '\0', *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (quote == '\0' && (*at == '\'' || *at == '"')) {
            quote = *at;
        } else if (*at == quote) {
            quote = '\0';
        } else if (*at == '\\' && quote != '\'' && at[1] != '\0') {
            *to++ = *++at;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

/* Lines "export MAKEGOOD_PG_DSN='…'"; others, such as PATH, are left out. */
static void project_read(char *text)
{
    static const char export[] = "export ";
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        char *equals = strchr(line, '=');
        if (strncmp(line, export, strlen(export)) == 0 && equals != NULL) {
            *equals = '\0';
            mg_tool_context_unquote(equals + 1);
            variable_set(line + strlen(export), equals + 1, false);
        }
    }
}

/* The nearest folder upwards that has one. */
static void project_apply(struct mg_tool_context *ret)
{
    char folder[PATH_MAX], path[PATH_MAX + sizeof("/" MG_TOOL_CONTEXT_FOLDER "/env")];
    if (getcwd(folder, sizeof(folder)) == NULL) {
        return;
    }
    for (bool is_here = true; ret->origin[0] == '\0'; is_here = false) {
        char text[FILE_MAX_BYTES + 1];
        (void)snprintf(path, sizeof(path), "%s/" MG_TOOL_CONTEXT_FOLDER "/env", folder);
        if (file_read(path, text)) {
            project_read(text);
            (void)snprintf(ret->origin, sizeof(ret->origin), "%.400s of makegood dev; does it run?",
                           is_here ? MG_TOOL_CONTEXT_FOLDER "/env" : path);
        } else if (ret->ignored[0] == '\0' && access(path, F_OK) == 0) {
            (void)snprintf(ret->ignored, sizeof(ret->ignored), "%.500s", path);
        }
        char *slash = strrchr(folder, '/');
        if (slash == NULL || folder[0] == '\0') {
            return;
        }
        *slash = '\0';
    }
}

/* ---- one of the file's ---- */

static bool contexts_path(char *ret_path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool is_given = config != NULL && config[0] == '/';
    int len = snprintf(ret_path, size, "%s%s/makegood/contexts",
                       is_given       ? config
                       : home != NULL ? home
                                      : "",
                       is_given ? "" : "/.config");
    return len > 0 && (size_t)len < size;
}

/* Sections "[NAME]" with lines "VARIABLE = value". Sets those of the wanted one; `ret_names` gets all, which
 * live as long as the text. */
static bool section_read(char *text, const char *wanted, bool outranks,
                         const char *ret_names[CONTEXTS_MAX + 1])
{
    bool is_found = false, is_within = false;
    int count = 0;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        line = trim(line);
        char *equals = strchr(line, '='), *close = strrchr(line, ']');
        if (line[0] == '[' && close != NULL) {
            *close = '\0';
            is_within = strcmp(line + 1, wanted) == 0;
            is_found = is_found || is_within;
            ret_names[count] = line + 1;
            count += count < CONTEXTS_MAX ? 1 : 0;
        } else if (is_within && line[0] != '#' && equals != NULL) {
            *equals = '\0';
            variable_set(trim(line), trim(equals + 1), outranks);
        }
    }
    ret_names[count] = NULL;
    return is_found;
}

static enum mg_class named_apply(const char *name, bool outranks, struct mg_tool_context *ret,
                                 struct mg_err *err)
{
    char path[PATH_MAX], text[FILE_MAX_BYTES + 1];
    const char *names[CONTEXTS_MAX + 1];
    if (!contexts_path(path, sizeof(path))) {
        return mg_err_set(err, MG_BAD_INPUT, "context %.80s: HOME is not set", name);
    }
    if (!file_read(path, text)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "context %.80s: %.200s is no file that only you, or root, can write; it has a section "
            "[NAME] for each context, with lines MAKEGOOD_PG_DSN=… and MAKEGOOD_AMQP_URL=…",
            name, path);
    }
    if (outranks) {
        servers_unset();
    }
    if (!section_read(text, name, outranks, names)) {
        const char *near = mg_json_nearest(names, mg_slice_of(name));
        return mg_err_set(err, MG_BAD_INPUT, "%.200s has no context \"%.80s\"%s%s%s", path, name,
                          near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                          near != NULL ? "\"?" : "");
    }
    (void)snprintf(ret->origin, sizeof(ret->origin), "context %.80s of %.400s", name, path);
    return MG_OK;
}

/* The value of --context; NULL: it is not given. */
static const char *option_find(int argc, char *const *argv)
{
    static const char option[] = "--context";
    const char *value = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], option, strlen(option)) == 0 && argv[i][strlen(option)] == '=') {
            value = argv[i] + strlen(option) + 1;
        } else if (strcmp(argv[i], option) == 0 && i + 1 < argc) {
            value = argv[i + 1];
        }
    }
    return value;
}

enum mg_class mg_tool_context_apply(int argc, char *const *argv, bool may_be_project,
                                    struct mg_tool_context *ret, struct mg_err *err)
{
    const char *option = option_find(argc, argv);
    const char *server = server_option_find(argc, argv);
    ret->origin[0] = ret->ignored[0] = '\0';
    if (option != NULL && option[0] != '\0' && server != NULL) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--context %.80s and %s both name servers: leave one of them out", option, server);
    }
    if (option != NULL && option[0] != '\0') {
        return named_apply(option, true, ret, err);
    }
    if (is_set(VARIABLE)) {
        enum mg_class class = named_apply(getenv(VARIABLE), false, ret, err);
        ret->origin[server != NULL ? 0 : strlen(ret->origin)] = '\0'; /* the option's server is not from it */
        return class;
    }
    if (may_be_project && !is_server_named(argc, argv)) {
        project_apply(ret);
    }
    return MG_OK;
}
