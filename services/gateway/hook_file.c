/*
 * The file of --webhooks-file: a line for each webhook, with its client, its address and the file of its
 * secrets. Two settings may follow: concurrency=N, if its receiver wants more or fewer statuses at once, and
 * proxy=URL. The path of the file of secrets counts from the folder of this one.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/key.h"
#include "gateway/hook.h"
#include "gateway/window.h"
#include "wire/http_url.h"

#define FILE_MAX    (64 * 1024) /* enough for MG_HOOKS_MAX lines with comments */
#define SECRETS_MAX 1024        /* of a file of secrets: MG_WEBHOOK_SECRETS_MAX lines with their ends */
#define BLANKS      " \t\r"

/* The line of a file under way, for its errors. */
struct place {
    const char *path;
    int line;
};

static enum mg_class line_fault(const struct place *place, const char *what, struct mg_err *err)
{
    return mg_err_set(err, MG_BAD_INPUT, "could not read --webhooks-file %s, line %d: %s", place->path,
                      place->line, what);
}

/* Joins the path of a file of secrets to the folder of the file that names it. NULL: no memory. */
static char *secrets_path(const char *webhooks_file, const char *path)
{
    char *joined = NULL, *copy = strdup(webhooks_file);
    if (copy == NULL || asprintf(&joined, "%s%s%s", path[0] == '/' ? "" : dirname(copy),
                                 path[0] == '/' ? "" : "/", path) < 0) {
        joined = NULL;
    }
    free(copy);
    return joined;
}

static enum mg_class secrets_read(const struct place *place, const char *path,
                                  struct mg_webhook_secrets *ret_secrets, struct mg_err *err)
{
    char text[SECRETS_MAX + 1];
    ssize_t len = mg_file_read(path, false, text, sizeof(text)); /* a FIFO must not block the loop */
    enum mg_class class =
        len < 0 ? mg_err_set(err, MG_BAD_INPUT, "%s", strerror(errno))
        : len > SECRETS_MAX
            ? mg_err_set(err, MG_BAD_INPUT, "it is longer than %d bytes", SECRETS_MAX)
            : mg_webhook_secrets_parse((struct mg_slice){text, (size_t)len}, ret_secrets, err);
    explicit_bzero(text, sizeof(text));
    if (class == MG_OK) {
        return MG_OK;
    }
    return mg_err_prefix(err, "could not read --webhooks-file %s, line %d: secrets in %s", place->path,
                         place->line, path);
}

/* NULL: the address may be used. */
static const char *url_fault(const char *text, const char *proxy_text, bool is_plaintext_allowed)
{
    struct mg_http_url url, proxy = {.is_plaintext = false};
    if (mg_http_url_parse(text, &url) != MG_OK || !url.is_http || !url.has_host) {
        return "expected an address such as https://shop.example.org/statuses in the second place";
    }
    if (url.has_user) {
        return "the address must have no user and no password: the signature proves the sender";
    }
    /* the proxy has been checked; plaintext to one on another machine crosses the network */
    (void)(proxy_text != NULL ? mg_http_proxy_fault(proxy_text, &proxy) : NULL);
    if ((url.is_plaintext || (!url.is_tls && proxy.is_plaintext)) && !is_plaintext_allowed) {
        return "the address would get statuses in plaintext over a network; write https://, or give "
               "--allow-plaintext on a private network";
    }
    return NULL;
}

/* False: it is no number of requests. */
static bool concurrency_read(const char *text, int *ret_concurrency)
{
    char *end = NULL;
    if (text[0] < '1' || text[0] > '9') {
        return false;
    }
    long number = strtol(text, &end, 10);
    *ret_concurrency = (int)(number <= MG_WINDOW_CALLS_MAX ? number : 0);
    return *end == '\0' && *ret_concurrency > 0;
}

/* The text after the name of a setting; NULL: it is another word. */
static const char *setting_of(const char *word, const char *name)
{
    return strncmp(word, name, strlen(name)) == 0 ? word + strlen(name) : NULL;
}

/* Takes one word after the secrets. NULL, or its fault. */
static const char *setting_read(const char *word, struct mg_hook_target *target)
{
    struct mg_http_url url;
    const char *concurrency = setting_of(word, "concurrency="), *proxy = setting_of(word, "proxy=");
    if (concurrency != NULL && target->concurrency == 0) {
        return concurrency_read(concurrency, &target->concurrency)
                   ? NULL
                   : "expected concurrency=N with N from 1 to 64";
    }
    if (proxy == NULL || target->proxy != NULL) {
        return "expected concurrency=N or proxy=http://host:port, each once, behind the file of secrets";
    }
    target->proxy = strdup(proxy);
    return target->proxy != NULL ? mg_http_proxy_fault(proxy, &url) : "no memory";
}

static enum mg_class target_read(const struct place *place, char *line, bool is_plaintext_allowed,
                                 struct mg_hook_target *ret_target, struct mg_err *err)
{
    char *rest = NULL, *client = strtok_r(line, BLANKS, &rest), *url = strtok_r(NULL, BLANKS, &rest);
    char *path = strtok_r(NULL, BLANKS, &rest);
    const char *wrong = NULL;
    if (path == NULL) {
        return line_fault(place, "expected a client, an address and a file with its secrets", err);
    }
    for (const char *word; wrong == NULL && (word = strtok_r(NULL, BLANKS, &rest)) != NULL;) {
        wrong = setting_read(word, ret_target);
    }
    ret_target->concurrency = ret_target->concurrency > 0 ? ret_target->concurrency : MG_WINDOW_CALLS;
    if (wrong != NULL) {
        return line_fault(place, wrong, err);
    }
    if (!mg_name_is_valid(client, strlen(client)) || strlen(client) >= sizeof(ret_target->client)) {
        return line_fault(
            place, "expected the name of a client in the first place: a letter a-z, then a-z, 0-9, _ and -",
            err);
    }
    wrong = url_fault(url, ret_target->proxy, is_plaintext_allowed);
    if (wrong != NULL) {
        return line_fault(place, wrong, err);
    }
    char *joined = secrets_path(place->path, path);
    ret_target->url = strdup(url);
    (void)snprintf(ret_target->client, sizeof(ret_target->client), "%s", client);
    enum mg_class class = joined == NULL || ret_target->url == NULL
                              ? mg_err_set(err, MG_TRANSIENT, "could not read webhooks: no memory")
                              : secrets_read(place, joined, &ret_target->secrets, err);
    free(joined);
    return class;
}

static bool is_repeated(const struct mg_hook_target *targets, int count)
{
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(targets[i].client, targets[count - 1].client) == 0) {
            return true;
        }
    }
    return false;
}

static enum mg_class targets_parse(const struct mg_gateway_options *options, char *text,
                                   struct mg_hook_target *ret_targets, int *ret_count, struct mg_err *err)
{
    struct place place = {.path = options->webhooks_file, .line = 0};
    for (char *line = text, *next; line != NULL; line = next) {
        char *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : NULL;
        place.line++;
        if (end != NULL) {
            *end = '\0';
        }
        char first = line[strspn(line, BLANKS)];
        if (first == '\0' || first == '#') {
            continue;
        }
        if (*ret_count == MG_HOOKS_MAX) {
            return line_fault(&place, "too many webhooks; a gateway has at most 128", err);
        }
        enum mg_class class = target_read(&place, line, options->process->broker.is_plaintext_allowed,
                                          &ret_targets[(*ret_count)++], err);
        if (class != MG_OK) {
            return class;
        }
        if (is_repeated(ret_targets, *ret_count)) {
            return line_fault(&place, "a second webhook of the same client", err);
        }
    }
    return MG_OK;
}
_Static_assert(MG_HOOKS_MAX == 128 && MG_WINDOW_CALLS_MAX == 64, "the texts of the refusals name them");

/* Reads the whole file into `text`, of FILE_MAX + 1 bytes, and ends it with a NUL. */
static enum mg_class file_read(const char *path, bool may_be_empty, char *text, struct mg_err *err)
{
    ssize_t len = mg_file_read(path, false, text, FILE_MAX + 1);
    if (len < 0) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read --webhooks-file %s: %s", path, strerror(errno));
    }
    if (len > FILE_MAX || memchr(text, '\0', (size_t)len) != NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read --webhooks-file %s: it is %s", path,
                          len > FILE_MAX ? "longer than 65536 bytes" : "no text");
    }
    if (len == 0 && !may_be_empty) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not read --webhooks-file %s: it is empty, as while it is written; to end all "
            "webhooks, leave a comment in it",
            path);
    }
    text[len] = '\0';
    return MG_OK;
}
_Static_assert(FILE_MAX == 65536, "the text of the refusal names it");

enum mg_class mg_hook_file_read(const struct mg_gateway_options *options, bool may_be_empty,
                                struct mg_hook_target **ret_targets, int *ret_count, struct mg_err *err)
{
    struct mg_hook_target *targets = calloc(MG_HOOKS_MAX, sizeof(*targets));
    char *text = malloc(FILE_MAX + 1);
    enum mg_class class = MG_OK;
    *ret_count = 0;
    if (targets == NULL || text == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not read webhooks: no memory");
    } else if (options->webhooks_file[0] != '\0') {
        class = file_read(options->webhooks_file, may_be_empty, text, err);
        class = class == MG_OK ? targets_parse(options, text, targets, ret_count, err) : class;
    }
    free(text);
    if (class != MG_OK) {
        mg_hook_targets_destroy(targets, *ret_count);
        return class;
    }
    *ret_targets = targets;
    return MG_OK;
}

void mg_hook_targets_destroy(struct mg_hook_target *targets, int count)
{
    for (int i = 0; i < count; i++) {
        free(targets[i].url);
        free(targets[i].proxy);
        mg_webhook_secrets_wipe(&targets[i].secrets);
    }
    free(targets);
}
