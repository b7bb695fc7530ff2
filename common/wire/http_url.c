/* See http_url.h. */
#include "wire/http_url.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

#define PATH_MAX_BYTES 4096 /* common servers refuse longer request lines with 414 */

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK && text != NULL;
    curl_free(text);
    return has;
}

static void part_copy(CURLU *url, CURLUPart part, unsigned int flags, char *ret_text, size_t size)
{
    char *text = NULL;
    ret_text[0] = '\0';
    if (curl_url_get(url, part, &text, flags) == CURLUE_OK) {
        (void)snprintf(ret_text, size, "%s", text);
    }
    curl_free(text);
}

/* Removes the brackets of an IPv6 address, which only URLs have. */
static void brackets_leave(char *host)
{
    size_t len = strlen(host);
    if (len < 2 || host[0] != '[' || host[len - 1] != ']') {
        return;
    }
    memmove(host, host + 1, len - 2);
    host[len - 2] = '\0';
}

static void url_read(CURLU *url, const char *text, struct mg_http_url *ret_url)
{
    char scheme[8], port[8], path[4];
    part_copy(url, CURLUPART_SCHEME, 0, scheme, sizeof(scheme));
    ret_url->is_http = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
    if (!ret_url->is_http) {
        return;
    }
    /* libcurl would accept one slash or three, and "api" of "https:///api" as host. */
    const char *behind = strstr(text, "://");
    ret_url->has_host = behind != NULL && behind[3] != '/' && has_part(url, CURLUPART_HOST);
    ret_url->has_user = has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD);
    part_copy(url, CURLUPART_PATH, 0, path, sizeof(path));
    ret_url->has_path = path[0] != '\0' && strcmp(path, "/") != 0;
    ret_url->has_port = has_part(url, CURLUPART_PORT);
    ret_url->is_tls = strcmp(scheme, "https") == 0;
    part_copy(url, CURLUPART_HOST, 0, ret_url->host, sizeof(ret_url->host));
    brackets_leave(ret_url->host);
    part_copy(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof(port));
    ret_url->port = (int)strtol(port, NULL, 10);
    ret_url->is_plaintext = !ret_url->is_tls && !mg_host_is_loopback(ret_url->host);
}

enum mg_class mg_http_url_parse(const char *text, struct mg_http_url *ret_url)
{
    CURLU *url = curl_url();
    if (url == NULL) {
        return MG_TRANSIENT;
    }
    CURLUcode code = curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    if (code == CURLUE_OK) {
        *ret_url = (struct mg_http_url){.port = 0};
        url_read(url, text, ret_url);
    }
    curl_url_cleanup(url);
    return code == CURLUE_OK ? MG_OK : code == CURLUE_OUT_OF_MEMORY ? MG_TRANSIENT : MG_BAD_INPUT;
}

const char *mg_http_proxy_fault(const char *text, struct mg_http_url *ret_url)
{
    enum mg_class class = mg_http_url_parse(text, ret_url);
    if (class == MG_TRANSIENT) {
        return "the proxy could not be read: no memory";
    }
    if (class == MG_OK && ret_url->has_user) {
        return "the proxy must have no user and no password: permit this machine at the proxy instead";
    }
    if (class != MG_OK || !ret_url->is_http || ret_url->is_tls || !ret_url->has_host || !ret_url->has_port ||
        ret_url->has_path || strpbrk(text, "?#") != NULL) {
        return "not a proxy; write \"http://host:port\"";
    }
    return NULL;
}

bool mg_http_origin_is(const char *text)
{
    struct mg_http_url url;
    char written[MG_HOST_MAX + 32], port[16] = "";
    bool is_tls = strncmp(text, "https://", strlen("https://")) == 0;
    if (mg_http_url_parse(text, &url) != MG_OK || !url.is_http || !url.has_host) {
        return false;
    }
    for (const char *c = url.host; *c != '\0'; c++) {
        if (isupper((unsigned char)*c) || strchr("*_", *c) != NULL) {
            return false;
        }
    }
    if (url.port != (is_tls ? 443 : 80)) {
        (void)snprintf(port, sizeof(port), ":%d", url.port);
    }
    bool has_brackets = strchr(url.host, ':') != NULL;
    (void)snprintf(written, sizeof(written), "%s%s%s%s%s", is_tls ? "https://" : "http://",
                   has_brackets ? "[" : "", url.host, has_brackets ? "]" : "", port);
    return strcmp(text, written) == 0;
}

/* True for ".", ".." and their percent-encoded spellings. */
static bool is_dot_segment(const char *segment, size_t len)
{
    size_t dots = 0, i = 0;
    while (i < len) {
        if (segment[i] == '.') {
            i++;
        } else if (len - i >= 3 && segment[i] == '%' && segment[i + 1] == '2' &&
                   (segment[i + 2] | 0x20) == 'e') {
            i += 3;
        } else {
            return false;
        }
        dots++;
    }
    return dots == 1 || dots == 2;
}

const char *mg_path_fault(struct mg_slice path)
{
    if (path.len == 0 || path.data[0] != '/') {
        return "the path must start with \"/\"";
    }
    if (path.len > PATH_MAX_BYTES) {
        return "the path is above 4096 bytes; send long values in the body";
    }
    size_t begin = 1;
    bool is_in_query = false;
    for (size_t i = 1; i <= path.len; i++) {
        char c = i < path.len ? path.data[i] : '/';
        if (c <= ' ' || c > '~') {
            return "the path must be printable ASCII without blanks; percent-encode the rest";
        }
        if (c == '#') {
            return "the path must have no fragment; write \"%23\" for \"#\"";
        }
        if (c != '/' && c != '?') {
            continue;
        }
        if (!is_in_query && is_dot_segment(path.data + begin, i - begin)) {
            return "the path must have no \".\" or \"..\" segment";
        }
        is_in_query = is_in_query || c == '?';
        begin = i + 1;
    }
    return NULL;
}
