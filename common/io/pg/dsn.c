/*
 * Checks of a DSN before any connection: whether libpq can read it, and whether all traffic to another
 * machine is encrypted and the server is verified. The other TLS modes of libpq accept any certificate, or
 * none.
 */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/host.h"
#include "io/pg/dsn.h"
#include "io/pg/libpq.h"

#define HOST_SIZE 256
#define BLANKS    " \t\r\n\f\v"

/* Accepts NULL. libpq marks passwords by "*", for dialogs that hide them. */
static void options_free(PQconninfoOption *options)
{
    for (PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        if (option->val != NULL && option->dispchar[0] == '*') {
            explicit_bzero(option->val, strlen(option->val));
        }
    }
    PQconninfoFree(options);
}

/* NULL: not in the DSN. An empty value counts too: it overrides the environment. */
static const char *option_value(const PQconninfoOption *options, const char *keyword)
{
    for (; options != NULL && options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0) {
            return options->val;
        }
    }
    return NULL;
}

/* If a character of the password lacks its percent-encoding, a part of the password runs into the next part
 * of the URI. From there it would reach messages and name servers. */
static bool is_password_spilt(const char *uri, const PQconninfoOption *options)
{
    const char *first_at = uri + strcspn(uri, "@"), *query = strchr(first_at, '?');
    if (query != NULL && strchr(query, '@') != NULL) {
        return true;
    }
    const char *host = option_value(options, "host"), *port = option_value(options, "port"),
               *name = option_value(options, "dbname");
    return (host != NULL && host[0] != '\0' && strchr(host + 1, '@') != NULL) ||
           (port != NULL && port[strspn(port, "0123456789,")] != '\0') ||
           (name != NULL && strchr(name, '@') != NULL);
}

/* The name of an option without a value before a blank: libpq takes the following text as its value, perhaps
 * "password=…". NULL: none. */
static const char *option_without_value(const PQconninfoOption *options)
{
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        bool is_secret = option->dispchar[0] == '*';
        if (option->val != NULL && !is_secret && strchr(option->val, '=') != NULL &&
            mg_url_has_password(option->val)) {
            return option->keyword;
        }
    }
    return NULL;
}

/* Blanks before it are a mistake of its own. */
static bool is_uri(const char *dsn)
{
    dsn += strspn(dsn, BLANKS);
    return strncmp(dsn, "postgresql://", 13) == 0 || strncmp(dsn, "postgres://", 11) == 0;
}

/* `ret_options` NULL: the DSN is empty or only the name of a database. */
static enum mg_class dsn_parse(const char *dsn, PQconninfoOption **ret_options, struct mg_err *err)
{
    *ret_options = NULL;
    if (dsn == NULL || dsn[0] == '\0') {
        return MG_OK;
    }
    if (dsn[strcspn(dsn, "=:/@" BLANKS)] == '\0') {
        return MG_OK;
    }
    if (is_uri(dsn) && strpbrk(dsn, BLANKS) != NULL) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "cannot read the database's connection string: a URI is one line without blanks; write "
            "them as %%20, and parameters as ?name=value&name=value");
    }
    /* libpq would take it for the name of a database, and the server would log it. */
    if (strchr(dsn, '=') == NULL && strstr(dsn, "://") == NULL) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "cannot read the database's connection string: it is no URI that begins with "
                          "postgresql://, has no name=value, and is no name of a database alone; it is not "
                          "shown, for it may hold a password");
    }
    char *message = NULL;
    *ret_options = PQconninfoParse(dsn, &message);
    const char *keyword = *ret_options != NULL ? option_without_value(*ret_options) : NULL;
    if (keyword != NULL) {
        mg_err_set(
            err, MG_BAD_INPUT,
            "cannot read the database's connection string: %s has no value, so the next part was taken "
            "for it; write %s='' if it is to be empty",
            keyword, keyword);
        options_free(*ret_options);
        *ret_options = NULL;
        return MG_BAD_INPUT;
    }
    if (*ret_options != NULL && !(is_uri(dsn) && is_password_spilt(dsn, *ret_options))) {
        return MG_OK;
    }
    if (*ret_options != NULL) {
        options_free(*ret_options);
        *ret_options = NULL;
        return mg_err_set(
            err, MG_BAD_INPUT,
            "cannot read the database's connection string: host, port, name or a parameter has an "
            "impossible value; write @ : / ? and %% in user and password as %%40 %%3A %%2F %%3F %%25");
    }
    char text[256] = "no memory";
    if (mg_url_has_password(dsn)) { /* libpq quotes the part that it cannot read */
        (void)snprintf(text, sizeof(text), "it holds a password and is not shown");
    } else if (message != NULL) {
        mg_pg_message(message, text, sizeof(text));
    }
    PQfreemem(message);
    return mg_err_set(
        err, MG_BAD_INPUT,
        "cannot read the database's connection string: %s; write host=… dbname=… or postgresql://…", text);
}

enum mg_class mg_pg_check_dsn(const char *dsn, struct mg_err *err)
{
    PQconninfoOption *options;
    enum mg_class class = dsn_parse(dsn, &options, err);
    options_free(options);
    return class;
}

/* Copies the first item of a list with commas; false: the list is empty. */
static bool list_take(const char **list, char ret_item[HOST_SIZE])
{
    if (*list == NULL) {
        return false;
    }
    size_t len = strcspn(*list, ",");
    (void)snprintf(ret_item, HOST_SIZE, "%.*s", (int)(len < HOST_SIZE ? len : HOST_SIZE - 1), *list);
    *list = (*list)[len] == ',' ? *list + len + 1 : NULL;
    return true;
}

/* The first host on another machine; false: none. An address counts before the name alongside it; neither, or
 * a path, means a socket of this machine. */
static bool hosts_leave_machine(const char *hosts, const char *addresses, char ret_host[HOST_SIZE])
{
    char host[HOST_SIZE] = "", address[HOST_SIZE] = "";
    for (;;) {
        bool has_host = list_take(&hosts, host), has_address = list_take(&addresses, address);
        if (!has_host && !has_address) {
            return false;
        }
        const char *goes_to = has_address && address[0] != '\0' ? address : has_host ? host : "";
        if (goes_to[0] == '\0' || goes_to[0] == '/' || goes_to[0] == '@') {
            continue;
        }
        if (mg_host_is_loopback(goes_to)) {
            continue;
        }
        (void)snprintf(ret_host, HOST_SIZE, "%s", goes_to);
        return true;
    }
}

enum mg_class mg_dsn_check(const char *dsn, bool is_plaintext_allowed, struct mg_err *err)
{
    PQconninfoOption *options;
    enum mg_class class = dsn_parse(dsn, &options, err);
    if (class != MG_OK || is_plaintext_allowed) {
        options_free(options);
        return class;
    }
    PQconninfoOption *defaults = PQconndefaults();
    const char *words[] = {"host", "hostaddr", "sslmode"};
    const char *values[3];
    bool has_service = option_value(options, "service") != NULL;
    for (int i = 0; i < 3; i++) {
        values[i] = option_value(options, words[i]);
        if (values[i] == NULL && !has_service) {
            values[i] = option_value(defaults, words[i]);
        }
    }
    char host[HOST_SIZE] = "the host of its service";
    bool is_leaving = has_service || hosts_leave_machine(values[0], values[1], host);
    if (defaults == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not read the database's connection string: no memory");
    } else if (is_leaving && (values[2] == NULL || strcmp(values[2], "verify-full") != 0)) {
        class = mg_err_set(err, MG_BAD_INPUT,
                           "cannot use the database's connection string: with sslmode=%s, others may "
                           "read the traffic to %s; write sslmode=verify-full sslrootcert=FILE, or give "
                           "--allow-plaintext if the network is private",
                           values[2] == NULL ? "prefer" : values[2], host);
    }
    options_free(options);
    options_free(defaults);
    return class;
}
