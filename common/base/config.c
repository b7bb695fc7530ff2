/*
 * Collects options from defaults, file, environment and command line. Every value is checked where it is
 * read, even if a source of higher precedence overrides it. Otherwise a mistake in the file would stay hidden
 * until the flag is dropped. The targets are written together at the end, so an error changes nothing.
 */
#include "base/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_internal.h"
#include "base/file.h"
#include "base/print.h"

/* Far above any configuration and any secret. A wrong path (a device, a log) is refused instead of read. */
#define FILE_MAX (1024 * 1024)

struct text {
    struct text *next;
    size_t size;
    char bytes[];
};

struct mg_config {
    const struct mg_program *program;
    struct text *texts; /* every text that a value borrows */
    const char *path;   /* of --config or MAKEGOOD_CONFIG; NULL: none */
    bool is_check, is_print, is_answered;
    struct mg_config_value values[]; /* one for each option of the program */
};

/* One value and its source, before it is parsed. */
struct found {
    const struct mg_option *option;
    enum mg_config_tier tier;
    const char *origin;
    bool is_file_name; /* the text names a file that holds the secret */
};

static enum mg_class read_defaults(struct mg_config *config, struct mg_err *err);
static enum mg_class read_arguments(struct mg_config *config, int argc, char **argv, struct mg_list *words,
                                    struct mg_err *err);
static enum mg_class read_environment(struct mg_config *config, struct mg_err *err);
static enum mg_class read_config_file(struct mg_config *config, struct mg_err *err);
static void write_targets(const struct mg_config *config);

enum mg_class mg_config_load(const struct mg_program *program, int argc, char **argv,
                             struct mg_config **ret_config, enum mg_config_action *ret_action,
                             struct mg_list *ret_words, struct mg_err *err)
{
    struct mg_list words = {.count = 0};
    size_t count = 0;

    while (program->options[count].name) {
        count++;
    }
    struct mg_config *config = calloc(1, sizeof(*config) + count * sizeof(config->values[0]));
    if (!config) {
        return mg_err_set(err, MG_TRANSIENT, "could not read the options: out of memory");
    }
    config->program = program;

    enum mg_class class = read_defaults(config, err);
    if (class == MG_OK) {
        class = read_arguments(config, argc, argv, ret_words ? &words : NULL, err);
    }
    if (class == MG_OK && !config->is_answered) {
        class = read_environment(config, err);
    }
    if (class == MG_OK && !config->is_answered) {
        class = read_config_file(config, err);
    }
    if (class != MG_OK) {
        mg_config_destroy(config);
        return class;
    }
    if (config->is_print && !config->is_answered) {
        mg_config_print_values(program, config->values, stdout);
        config->is_answered = true;
    }
    write_targets(config);
    if (ret_words) {
        *ret_words = words;
    }
    *ret_action = config->is_answered ? MG_CONFIG_EXIT : config->is_check ? MG_CONFIG_CHECK : MG_CONFIG_RUN;
    *ret_config = config;
    return MG_OK;
}

void mg_config_destroy(struct mg_config *config)
{
    if (!config) {
        return;
    }
    while (config->texts) {
        struct text *text = config->texts;
        config->texts = text->next;
        explicit_bzero(text->bytes, text->size); /* any text may hold a secret */
        free(text);
    }
    free(config);
}

static char *keep_space(struct mg_config *config, size_t size)
{
    struct text *text = calloc(1, sizeof(*text) + size);
    if (!text) {
        return NULL;
    }
    text->size = size;
    text->next = config->texts;
    config->texts = text;
    return text->bytes;
}

/* Wipes and frees one text before mg_config_destroy. */
static void drop_text(struct mg_config *config, const char *bytes)
{
    for (struct text **at = &config->texts; *at; at = &(*at)->next) {
        struct text *text = *at;
        if (text->bytes != bytes) {
            continue;
        }
        *at = text->next;
        explicit_bzero(text->bytes, text->size);
        free(text);
        return;
    }
}

static char *keep_text(struct mg_config *config, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = keep_space(config, size);
    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* Reads a file as text. `waits`: block until a FIFO has a writer. */
static enum mg_class read_file(struct mg_config *config, const char *path, bool waits, char **ret_text,
                               struct mg_err *err)
{
    char quoted[MG_CONFIG_ORIGIN_SIZE];

    mg_config_quote(path, quoted, sizeof(quoted));
    char *text = keep_space(config, FILE_MAX + 1);
    if (!text) {
        return mg_err_set(err, MG_TRANSIENT, "could not read file \"%s\": out of memory", quoted);
    }
    ssize_t len = mg_file_read(path, waits, text, FILE_MAX + 1);

    enum mg_class class = MG_OK;
    if (len < 0) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not read file \"%s\": %s", quoted, strerror(errno));
    } else if (len > FILE_MAX) {
        class = mg_err_set(err, MG_BAD_INPUT, "file \"%s\" is larger than %d bytes", quoted, FILE_MAX);
    } else if (memchr(text, '\0', (size_t)len)) {
        class = mg_err_set(err, MG_BAD_INPUT, "file \"%s\" is not text: it has a NUL byte", quoted);
    }
    if (class == MG_OK) {
        *ret_text = text;
    } else {
        drop_text(config, text);
    }
    return class;
}

static enum mg_class read_secret(struct mg_config *config, const char *path, bool waits, char **ret_text,
                                 struct mg_err *err)
{
    char *whole = NULL;
    enum mg_class class = read_file(config, path, waits, &whole, err);
    if (class != MG_OK) {
        return class;
    }
    size_t len = strlen(whole);
    if (len > 0 && whole[len - 1] == '\n') {
        whole[--len] = '\0';
    }
    if (len > 0 && whole[len - 1] == '\r') {
        whole[--len] = '\0';
    }
    char *text = len > 0 ? keep_text(config, whole) : NULL;
    drop_text(config, whole);
    if (len == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "file \"%s\" is empty; it should hold the secret", path);
    }
    if (!text) {
        return mg_err_set(err, MG_TRANSIENT, "could not read file \"%s\": out of memory", path);
    }
    *ret_text = text;
    return MG_OK;
}

/* Lists in file and environment: items between commas, without surrounding blanks. Changes `text`. */
static enum mg_class parse_items(const struct found *found, char *text, struct mg_config_value *value,
                                 struct mg_err *err)
{
    for (char *next = text; next;) {
        char *item = next;
        next = strchr(item, ',');
        if (next) {
            *next++ = '\0';
        }
        item += strspn(item, " \t");
        for (size_t len = strlen(item); len > 0 && isblank((unsigned char)item[len - 1]); len--) {
            item[len - 1] = '\0';
        }
        if (item[0] == '\0') {
            continue;
        }
        enum mg_class class = mg_config_value_parse(found->option, item, value, err);
        if (class != MG_OK) {
            return class;
        }
    }
    return MG_OK;
}

/* /proc, `ps` and audit logs expose the command line of every process to every user of the machine. */
static enum mg_class refuse_on_command_line(const struct mg_option *option, struct mg_err *err)
{
    char env_name[MG_CONFIG_NAME_MAX];
    int len = (int)mg_config_name_len(option);

    mg_config_env_name(option, "", env_name);
    return mg_err_set(
        err, MG_BAD_INPUT,
        "option --%.*s: a password on the command line can be read by every user of this machine; "
        "write it into a file and give --%.*s-file FILE, or set %s in the environment",
        len, option->name, len, option->name, env_name);
}

/* Argument or word of the command line. Other texts than UTF-8 would be refused further away: by the
 * database, without the name of the argument. */
static enum mg_class refuse_other_encodings(const char *given, struct mg_err *err)
{
    char quoted[MG_CONFIG_NAME_MAX];
    size_t left = strlen(given), len = 1;
    for (const char *at = given; left > 0 && len > 0; at += len, left -= len) {
        len = mg_utf8_len(at, left);
    }
    if (len > 0) {
        return MG_OK;
    }
    mg_config_quote(given, quoted, sizeof(quoted));
    return mg_err_set(err, MG_BAD_INPUT, "\"%s\" is no UTF-8; set the terminal to UTF-8", quoted);
}

/* Stores a value. It replaces a value of the same or lower precedence; a list appends values of the same
 * source. A value of lower precedence is parsed but not used. */
static enum mg_class take(struct mg_config *config, const struct found *found, const char *given,
                          struct mg_err *err)
{
    const struct mg_option *option = found->option;
    struct mg_config_value *value = &config->values[option - config->program->options];
    struct mg_config_value unused = {.tier = found->tier};
    enum mg_class class = MG_OK;
    char *text = NULL;

    if (found->tier == value->tier && found->tier != MG_TIER_DEFAULT &&
        (value->secret_path != NULL) != found->is_file_name) {
        int len = (int)mg_config_name_len(option);
        return mg_err_set(err, MG_BAD_INPUT, "%s: give either %.*s or %.*s-file, not both", found->origin,
                          len, option->name, len, option->name);
    }
    if (found->tier == MG_TIER_FLAG && option->is_secret && !found->is_file_name &&
        mg_url_has_password(given)) {
        return refuse_on_command_line(option, err);
    }
    if (found->tier == MG_TIER_FLAG && refuse_other_encodings(given, err) != MG_OK) {
        return mg_err_prefix(err, "%s", found->origin);
    }
    if (found->tier < value->tier) {
        value = &unused;
    } else if (found->tier > value->tier) {
        value->tier = found->tier;
        value->list.count = 0;
    }
    value->secret_path = NULL;
    (void)snprintf(value->origin, sizeof(value->origin), "%s", found->origin);

    if (found->is_file_name) {
        class = read_secret(config, given, true, &text, err);
        /* The path is copied: a line of the configuration file is freed after parsing. */
        value->secret_path = keep_text(config, given);
        if (class == MG_OK && !value->secret_path) {
            class = mg_err_set(err, MG_TRANSIENT, "out of memory");
        }
    } else {
        text = keep_text(config, given);
        if (!text) {
            class = mg_err_set(err, MG_TRANSIENT, "out of memory");
        }
    }
    if (class == MG_OK && option->type == MG_OPTION_LIST && found->tier != MG_TIER_FLAG) {
        class = parse_items(found, text, value, err);
    } else if (class == MG_OK) {
        class = mg_config_value_parse(option, text, value, err);
    }
    return class == MG_OK ? MG_OK : mg_err_prefix(err, "%s", found->origin);
}

static enum mg_class read_defaults(struct mg_config *config, struct mg_err *err)
{
    for (const struct mg_option *option = config->program->options; option->name; option++) {
        struct mg_config_value *value = &config->values[option - config->program->options];
        value->text = "";
        (void)snprintf(value->origin, sizeof(value->origin), "default");
        if (!option->default_value) {
            continue;
        }
        struct found found = {option, MG_TIER_DEFAULT, "default", false};
        if (take(config, &found, option->default_value, err) != MG_OK) {
            err->class = MG_BUG; /* the table contradicts itself */
            return mg_err_prefix(err, "option --%s", option->name);
        }
    }
    return MG_OK;
}

static bool is_name(const char *name, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(name, word, len) == 0;
}

/* Handles the options that every program has. `*ret_is_builtin`: `name` is one of them. `next` is the next
 * word. */
static enum mg_class take_builtin(struct mg_config *config, const char *name, size_t len, const char *value,
                                  char *const *next, bool *ret_is_builtin, int *ret_used, struct mg_err *err)
{
    *ret_is_builtin = true;
    *ret_used = 0;
    if (is_name(name, len, "config")) {
        if (!value && *next) {
            value = *next;
            *ret_used = 1;
        }
        if (!value || !value[0]) {
            return mg_err_set(err, MG_BAD_INPUT, "option --config needs a value: the path of a file");
        }
        config->path = value;
        return MG_OK;
    }
    *ret_is_builtin = mg_config_is_builtin(config->program, name, len);
    if (!*ret_is_builtin) {
        return MG_OK;
    }
    if (value) {
        return mg_err_set(err, MG_BAD_INPUT, "option --%.*s takes no value", (int)len, name);
    }

    if (is_name(name, len, "check-config")) {
        config->is_check = true;
    }
    if (is_name(name, len, "print-config")) {
        config->is_print = true;
    }
    if (is_name(name, len, "help")) {
        mg_config_print_help(config->program, stdout);
        config->is_answered = true;
    }
    if (is_name(name, len, "man")) {
        mg_config_print_man(config->program, stdout);
        config->is_answered = true;
    }
    if (is_name(name, len, "version")) {
        mg_print(stdout, "%s %s\n", config->program->name, MG_VERSION);
        config->is_answered = true;
    }
    return MG_OK;
}

/* Reads one option at argv[0], with its value if that is the next word. `*ret_used` counts the further words
 * used. */
static enum mg_class take_argument(struct mg_config *config, char *const *argv, int *ret_used,
                                   struct mg_err *err)
{
    const char *name = argv[0] + 2, *value = NULL;
    char origin[MG_CONFIG_ORIGIN_SIZE];
    struct found found = {.tier = MG_TIER_FLAG};
    bool is_builtin = false;
    size_t len;

    *ret_used = 0;
    if (argv[0][1] == '-') {
        len = strcspn(name, "=");
        value = name[len] ? name + len + 1 : NULL;
    } else {
        const struct mg_option *option = mg_config_find_letter(config->program, argv[0][1]);
        if (!option && strcmp(argv[0], "-h") != 0) {
            return mg_config_refuse_unknown(config->program, "", argv[0] + 1, strcspn(argv[0] + 1, "="), err);
        }
        value = argv[0][2] ? argv[0] + 2 : NULL;
        name = option ? option->name : "help";
        len = option ? mg_config_name_len(option) : strlen(name);
    }
    enum mg_class class = take_builtin(config, name, len, value, argv + 1, &is_builtin, ret_used, err);
    if (class != MG_OK || is_builtin) {
        return class;
    }
    found.option = mg_config_find(config->program, name, len, &found.is_file_name);
    if (!found.option) {
        return mg_config_refuse_unknown(config->program, "", name, len, err);
    }

    (void)snprintf(origin, sizeof(origin), "option --%.*s", (int)len, name);
    found.origin = origin;
    if (!value && found.option->type == MG_OPTION_FLAG) {
        value = "true";
    }
    if (!value && argv[1]) {
        value = argv[1];
        *ret_used = 1;
    }
    if (!value) {
        return mg_err_set(err, MG_BAD_INPUT, "%s needs a value (%s)", origin,
                          found.is_file_name         ? "FILE"
                          : found.option->value_name ? found.option->value_name
                                                     : "VALUE");
    }
    bool may_be_empty = found.option->default_value || found.option->type == MG_OPTION_FLAG;
    if (value[0] == '\0' && !may_be_empty) { /* often a variable that is not set: no filter, all orders */
        return mg_err_set(err, MG_BAD_INPUT, "%s is empty; leave it out, or give a value (%s)", origin,
                          found.option->value_name ? found.option->value_name : "VALUE");
    }
    return take(config, &found, value, err);
}

static enum mg_class take_word(const char *word, struct mg_list *words, struct mg_err *err)
{
    char quoted[MG_CONFIG_NAME_MAX];

    mg_config_quote(word, quoted, sizeof(quoted));
    if (!words) {
        return mg_err_set(err, MG_BAD_INPUT, "unexpected word \"%s\"; options begin with \"--\"", quoted);
    }
    if (words->count == MG_LIST_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "more than %d words, from \"%s\" on", MG_LIST_MAX, quoted);
    }
    if (refuse_other_encodings(word, err) != MG_OK) {
        return MG_BAD_INPUT;
    }
    words->items[words->count++] = word;
    return MG_OK;
}

static enum mg_class read_arguments(struct mg_config *config, int argc, char **argv, struct mg_list *words,
                                    struct mg_err *err)
{
    bool is_over = false; /* only words follow */

    for (int i = 1; i < argc && !config->is_answered; i++) {
        enum mg_class class;
        int used = 0;
        if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
            continue;
        }
        if (is_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            class = take_word(argv[i], words, err);
        } else {
            class = take_argument(config, argv + i, &used, err);
        }
        if (class != MG_OK) {
            return class;
        }
        i += used;
    }
    return MG_OK;
}

static enum mg_class read_environment(struct mg_config *config, struct mg_err *err)
{
    for (const struct mg_option *option = config->program->options; option->name; option++) {
        for (int is_file_name = 0; is_file_name <= (option->is_secret ? 1 : 0); is_file_name++) {
            char name[MG_CONFIG_NAME_MAX], origin[MG_CONFIG_ORIGIN_SIZE];
            mg_config_env_name(option, is_file_name ? "_FILE" : "", name);
            const char *value = getenv(name);
            if (!value || !value[0]) {
                continue;
            }
            (void)snprintf(origin, sizeof(origin), "environment %s", name);
            struct found found = {option, MG_TIER_ENVIRONMENT, origin, is_file_name != 0};
            enum mg_class class = take(config, &found, value, err);
            if (class != MG_OK) {
                return class;
            }
        }
    }
    const char *path = getenv(MG_CONFIG_ENV_PREFIX "CONFIG");
    if (!config->path && path && path[0]) {
        config->path = path;
    }
    return MG_OK;
}

/* Cuts the comment and the surrounding blanks. Changes `line`. */
static char *trim_line(char *line)
{
    for (char *at = line; *at; at++) {
        if (*at == '#' && (at == line || isspace((unsigned char)at[-1]))) {
            *at = '\0';
            break;
        }
    }
    size_t len = strlen(line);
    while (len > 0 && isspace((unsigned char)line[len - 1])) {
        line[--len] = '\0';
    }
    return line + strspn(line, " \t");
}

static enum mg_class take_line(struct mg_config *config, char *line, const char *origin, struct mg_err *err)
{
    struct found found = {.tier = MG_TIER_FILE, .origin = origin};

    line = trim_line(line);
    if (line[0] == '\0') {
        return MG_OK;
    }
    char *equals = strchr(line, '=');
    if (!equals) { /* the line is not quoted: it may be half of a secret */
        return mg_err_set(err, MG_BAD_INPUT, "%s: expected a line \"name = value\"", origin);
    }
    size_t len = (size_t)(equals - line);
    while (len > 0 && isblank((unsigned char)line[len - 1])) {
        len--;
    }
    found.option = mg_config_find(config->program, line, len, &found.is_file_name);
    if (!found.option) {
        return mg_config_refuse_unknown(config->program, origin, line, len, err);
    }

    char named[MG_CONFIG_ORIGIN_SIZE + MG_CONFIG_NAME_MAX];
    (void)snprintf(named, sizeof(named), "%s: %.*s", origin, (int)mg_config_name_len(found.option),
                   found.option->name);
    found.origin = named;
    return take(config, &found, equals + 1 + strspn(equals + 1, " \t"), err);
}

static enum mg_class read_config_file(struct mg_config *config, struct mg_err *err)
{
    char *text = NULL, quoted[MG_CONFIG_ORIGIN_SIZE - MG_CONFIG_NAME_MAX];

    if (!config->path) {
        return MG_OK;
    }
    enum mg_class class = read_file(config, config->path, true, &text, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "option --config");
    }
    mg_config_quote(config->path, quoted, sizeof(quoted));
    for (int number = 1; text && class == MG_OK; number++) {
        char origin[MG_CONFIG_ORIGIN_SIZE];
        char *line = strsep(&text, "\n");
        (void)snprintf(origin, sizeof(origin), "file %s:%d", quoted, number);
        class = take_line(config, line, origin, err);
    }
    return class;
}

enum mg_class mg_config_reread_secret(struct mg_config *config, const char *name, mg_config_take_fn *take_fn,
                                      void *arg, enum mg_config_reread *ret_state, struct mg_err *err)
{
    bool is_file_name = false;
    const struct mg_option *option = mg_config_find(config->program, name, strlen(name), &is_file_name);
    assert(option && option->is_secret && option->type == MG_OPTION_TEXT && !is_file_name);
    struct mg_config_value *value = &config->values[option - config->program->options];
    char *text = NULL;

    if (!value->secret_path) {
        *ret_state = MG_REREAD_NO_FILE;
        return MG_OK;
    }
    /* A running service must not block on a FIFO. */
    enum mg_class class = read_secret(config, value->secret_path, false, &text, err);
    if (class != MG_OK) {
        return class;
    }
    bool is_same = strcmp(text, value->text) == 0;
    class = take_fn(arg, text, err);
    if (class != MG_OK) {
        drop_text(config, text);
        return mg_err_prefix(err, "in file \"%s\"", value->secret_path);
    }
    drop_text(config, value->text);
    value->text = text;
    *(const char **)option->target = text;
    *ret_state = is_same ? MG_REREAD_SAME : MG_REREAD_NEW;
    return MG_OK;
}

static void write_targets(const struct mg_config *config)
{
    for (const struct mg_option *option = config->program->options; option->name; option++) {
        const struct mg_config_value *value = &config->values[option - config->program->options];
        switch (option->type) {
        case MG_OPTION_TEXT:
            *(const char **)option->target = value->text;
            break;
        case MG_OPTION_INTEGER:
        case MG_OPTION_DURATION:
            *(int64_t *)option->target = value->number;
            break;
        case MG_OPTION_FLAG:
            *(bool *)option->target = value->flag;
            break;
        case MG_OPTION_LIST:
            *(struct mg_list *)option->target = value->list;
            break;
        }
    }
}
