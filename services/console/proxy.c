/*
 * Users named by a proxy. They log in there (oauth2-proxy, Authelia, a service mesh), and the proxy passes
 * their name and groups in headers of each request. A token in one more header proves the proxy's identity;
 * sign_in.c checks it. Addresses prove less, because every process on the proxy's machine has the same one.
 *
 * A header that decides must occur exactly once. Proxies differ in the treatment of a header that the browser
 * has already sent, so one of two may be forged. Header names are compared without regard to case, but
 * otherwise exactly: Remote_User is not Remote-User.
 */
#include <string.h>
#include <strings.h>

#include "console/console_parts.h"

#define HEADER_NAME_MAX 64 /* longer than any in use */
#define OWN_HEADERS     "X-Makegood-"
#define SEPARATORS      ",|" /* "," of oauth2-proxy and Authelia, "|" of authentik */

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

bool mg_proxy_is_wanted(const struct mg_console_proxy *proxy)
{
    return proxy->user_header[0] != '\0';
}

/* ---- the options ---- */

static enum mg_class header_check(const char *option, const char *name, struct mg_err *err)
{
    size_t len = strlen(name);
    if (len > HEADER_NAME_MAX || strspn(name, LETTERS) != len) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "%s: expected the name of a header, at most %d letters, digits and \"-\"; proxies drop or "
            "confuse other names",
            option, HEADER_NAME_MAX);
    }
    if (strncasecmp(name, OWN_HEADERS, strlen(OWN_HEADERS)) == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "%s: headers %s… have another meaning", option, OWN_HEADERS);
    }
    return MG_OK;
}

static enum mg_class groups_check(const struct mg_list *groups, struct mg_err *err)
{
    for (int i = 0; i < groups->count; i++) {
        const char *group = groups->items[i];
        size_t len = strlen(group);
        if (len == 0 || strpbrk(group, SEPARATORS) != NULL || strchr(" \t", group[0]) != NULL ||
            strchr(" \t", group[len - 1]) != NULL) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "--proxy-operator-group: expected the name of one group, without \",\" and \"|\", which "
                "separate groups in the header");
        }
    }
    return MG_OK;
}

enum mg_class mg_proxy_check(const struct mg_console_options *options, struct mg_err *err)
{
    const struct mg_console_proxy *proxy = &options->proxy;
    bool sends_groups = proxy->groups_header[0] != '\0', has_operators = proxy->operator_groups->count > 0;
    if (!mg_proxy_is_wanted(proxy)) {
        return sends_groups || has_operators
                   ? mg_err_set(
                         err, MG_BAD_INPUT,
                         "could not use %s: --proxy-user-header is missing, the header with the name of the "
                         "user",
                         sends_groups ? "--proxy-groups-header" : "--proxy-operator-group")
                   : MG_OK;
    }
    if (options->tokens_file[0] == '\0') {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not trust --proxy-user-header %s: any client can send it; name the proxy and its token in "
            "--tokens-file",
            proxy->user_header);
    }
    if (sends_groups != has_operators) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not determine the operators: give --proxy-groups-header and --proxy-operator-group, or "
            "neither; without them all users of the proxy have read-only access");
    }
    if (strcasecmp(proxy->user_header, proxy->groups_header) == 0) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--proxy-groups-header: %s is the header of --proxy-user-header already",
                          proxy->groups_header);
    }
    enum mg_class class = header_check("--proxy-user-header", proxy->user_header, err);
    if (class == MG_OK) {
        class = header_check("--proxy-groups-header", proxy->groups_header, err);
    }
    return class == MG_OK ? groups_check(proxy->operator_groups, err) : class;
}

/* ---- the request ---- */

static bool has_header(const struct mg_http_exchange *request, const char *name)
{
    return name[0] != '\0' && mg_http_exchange_header_count(request, name) > 0;
}

bool mg_proxy_is_present(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request)
{
    return mg_proxy_is_wanted(proxy) &&
           (has_header(request, proxy->user_header) || has_header(request, proxy->groups_header) ||
            has_header(request, MG_PROXY_TOKEN_HEADER));
}

const char *mg_proxy_token(const struct mg_http_exchange *request)
{
    return mg_http_exchange_header_count(request, MG_PROXY_TOKEN_HEADER) == 1
               ? mg_http_exchange_header(request, MG_PROXY_TOKEN_HEADER)
               : "";
}

static bool is_among(const struct mg_list *groups, const char *text, size_t len)
{
    for (int i = 0; i < groups->count; i++) {
        if (strlen(groups->items[i]) == len && memcmp(groups->items[i], text, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether any group of a list such as "dev, ops" is among `groups`. */
static bool has_any(const struct mg_list *groups, const char *text)
{
    for (;;) {
        text += strspn(text, " \t");
        size_t part_len = strcspn(text, SEPARATORS), len = part_len;
        while (len > 0 && strchr(" \t", text[len - 1]) != NULL) {
            len--;
        }
        if (is_among(groups, text, len)) {
            return true;
        }
        if (text[part_len] == '\0') {
            return false;
        }
        text += part_len + 1;
    }
}

const char *mg_proxy_read(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request,
                          const char **ret_user, enum mg_role *ret_role)
{
    if (mg_http_exchange_header_count(request, proxy->user_header) != 1) {
        return "the proxy named no user, or several: the header of --proxy-user-header must occur once";
    }
    *ret_user = mg_http_exchange_header(request, proxy->user_header);
    *ret_role = MG_ROLE_READER;
    if (!has_header(request, proxy->groups_header)) {
        return NULL;
    }
    if (mg_http_exchange_header_count(request, proxy->groups_header) != 1) {
        return "the proxy named groups several times: the header of --proxy-groups-header must occur once";
    }
    if (has_any(proxy->operator_groups, mg_http_exchange_header(request, proxy->groups_header))) {
        *ret_role = MG_ROLE_OPERATOR;
    }
    return NULL;
}
