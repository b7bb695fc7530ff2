/*
 * The form of a request's head. libmicrohttpd takes heads that RFC 9112 (2.2, 5.1, 5.2) has refused with 400:
 * a blank before a colon, a line folded into the next one, a bare CR, a NUL. A proxy in between reads such a
 * head in another way, sees another end of the body, and takes the rest for the next request.
 *
 * The library parses a head where it received it: NUL stands for each colon and each end of a line, and the
 * method is the first byte. So a head is sound if its fields, as the library reports them, lie one behind the
 * other and fill it. A library that keeps heads otherwise would have all requests refused, not some taken.
 */
#include <string.h>

#include "io/http/mhd.h"

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define NAME_BYTES LETTERS "!#$%&'*+-.^_`|~" /* RFC 9110, 5.6.2: a token */

struct head {
    const char *at, *end; /* the next field, or the empty line */
    bool is_sound;
};

/* Behind CR LF, or a bare LF, which RFC 9112 (2.2) lets a recipient take. Two bare ones look like CR LF. */
static const char *line_end(const struct head *head, const char *at)
{
    at += at < head->end && *at == '\0';
    return at + (at < head->end && *at == '\0');
}

static enum MHD_Result on_field(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct head *head = arg;
    const size_t len = strspn(name, NAME_BYTES);
    head->is_sound = name == head->at && len > 0 && name[len] == '\0' && value && strchr(value, '\r') == NULL;
    if (head->is_sound) {
        head->at = line_end(head, value + strlen(value));
    }
    return head->is_sound ? MHD_YES : MHD_NO;
}

bool mg_http_is_head_sound(struct MHD_Connection *connection, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head head = {.is_sound = info != NULL};
    head.end = method + (info ? info->header_size : 0);
    if (!info || version < method || version >= head.end) {
        return false;
    }
    head.at = line_end(&head, version + strlen(version));
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, on_field, &head);
    return head.is_sound && line_end(&head, head.at) == head.end;
}
