/* See http_header.h. */
#include "wire/http_header.h"

#include <string.h>
#include <strings.h>

static const char *const RESERVED[] = {"Accept-Encoding",
                                       "Authorization",
                                       "Connection",
                                       "Content-Length",
                                       "Content-Type",
                                       "Expect",
                                       "Host",
                                       "Idempotency-Key",
                                       "Keep-Alive",
                                       "Proxy-Authorization",
                                       "Proxy-Connection",
                                       "TE",
                                       "Trailer",
                                       "Transfer-Encoding",
                                       "Upgrade",
                                       "traceparent",
                                       "tracestate",
                                       NULL};
/* Of the headers with the order's identity. */
static const char OWN_PREFIX[] = "X-Makegood-";

static bool is_token_char(char c)
{
    bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_alnum || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool mg_header_name_is_valid(struct mg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_token_char(name.data[i])) {
            return false;
        }
    }
    return name.len > 0 && name.len <= MG_HEADER_NAME_MAX;
}

bool mg_header_name_is(struct mg_slice name, const char *word)
{
    return strlen(word) == name.len && strncasecmp(word, name.data, name.len) == 0;
}

bool mg_header_is_reserved(struct mg_slice name)
{
    for (int i = 0; RESERVED[i] != NULL; i++) {
        if (mg_header_name_is(name, RESERVED[i])) {
            return true;
        }
    }
    size_t len = sizeof(OWN_PREFIX) - 1;
    return name.len >= len && strncasecmp(name.data, OWN_PREFIX, len) == 0;
}

bool mg_header_part_is_printable(struct mg_slice part)
{
    for (size_t i = 0; i < part.len; i++) {
        unsigned char c = (unsigned char)part.data[i];
        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    return true;
}

const char *mg_header_value_fault(struct mg_slice value)
{
    bool is_blank = true;
    for (size_t i = 0; i < value.len; i++) {
        is_blank = is_blank && value.data[i] == ' ';
    }
    if (!mg_header_part_is_printable(value)) {
        return MG_HEADER_CONTROL_FAULT;
    }
    if (is_blank) {
        return "it is empty, and a header needs a value";
    }
    return value.len > MG_HEADER_VALUE_MAX ? "it is above 4096 bytes; send long values in the body" : NULL;
}

const char *mg_media_type_fault(struct mg_slice text)
{
    static const char RIGHT[] = "not a media type; write \"type/subtype\", as in \"application/json\"";
    size_t slash = 0;
    while (slash < text.len && is_token_char(text.data[slash])) {
        slash++;
    }
    bool has_subtype =
        slash > 0 && slash + 1 < text.len && text.data[slash] == '/' && is_token_char(text.data[slash + 1]);
    if (!has_subtype || text.len > MG_HEADER_VALUE_MAX) {
        return RIGHT;
    }
    for (size_t i = slash; i < text.len; i++) {
        if (text.data[i] < ' ' || text.data[i] > '~') {
            return RIGHT;
        }
    }
    return NULL;
}

bool mg_media_type_is_json(const char *type)
{
    size_t len = strcspn(type, "; \t");
    bool is_plus_json = len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0;
    return is_plus_json || (len == 16 && strncasecmp(type, "application/json", 16) == 0);
}
