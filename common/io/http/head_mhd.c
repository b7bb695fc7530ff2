/*
 * The size and the form of a request's head, and its values without the blanks after them.
 *
 * The library makes a record of each header and parameter in a connection's memory. Once that is used up by
 * parameters, or by a head that leaves no room for the answer's, it closes the connection without an answer,
 * or leaves it to its time-out. So both have limits here that keep away from it. A larger head that the
 * library can still read is refused past it.
 *
 * libmicrohttpd takes heads that RFC 9112 (2.2, 5.1, 5.2) has refused with 400:
 * a blank before a colon, a line folded into the next one, a bare CR, a NUL. A proxy in between reads such a
 * head in another way, sees another end of the body, and takes the rest for the next request.
 *
 * The library parses a head where it received it: NUL stands for each colon and each end of a line, and the
 * method is the first byte. So a head is sound if its fields, as the library reports them, lie one after the
 * other and fill it. A library that keeps heads otherwise would have all requests refused, not some taken.
 */
#include <stdlib.h>
#include <string.h>

#include "io/http/mhd.h"

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define NAME_BYTES LETTERS "!#$%&'*+-.^_`|~" /* RFC 9110, 5.6.2: a token */

/* The library's memory: of a field, a cookie or a parameter, besides its text; of the head of an answer. */
#define RECORD_SIZE 64u
#define ANSWER_SIZE 2048u

struct head {
    const char *at, *end; /* the next field, or the empty line */
    bool is_sound;
};

/* After CR LF, or a bare LF, which RFC 9112 (2.2) lets a recipient take. Two bare ones look like CR LF. */
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

_Static_assert(MG_HTTP_HEAD_MAX == 16 * 1024 && MG_HTTP_PARAMETERS_MAX == 64, "the refusals name them");

bool mg_http_address_cut(const char *target)
{
    char *query = strchr(target, '?');
    int count = 1;
    for (const char *at = query; at && (at = strchr(at, '&')) != NULL; at++) {
        count++;
    }
    bool is_cut = count > MG_HTTP_PARAMETERS_MAX || strlen(target) > MG_HTTP_HEAD_MAX;
    if (is_cut && query) {
        query[1] = '\0'; /* in the library's own memory, which it parses next */
    }
    return is_cut;
}

static size_t cookie_len(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE);
    return text ? strlen(text) : 0;
}

bool mg_http_is_memory_full(struct MHD_Connection *connection)
{
    const enum MHD_ValueKind kinds = MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int records = MHD_get_connection_values(connection, kinds, NULL, NULL);
    return !info || info->header_size + cookie_len(connection) + (size_t)records * RECORD_SIZE + ANSWER_SIZE >
                        MG_HTTP_MEMORY_MAX;
}

unsigned int mg_http_head_fault(struct MHD_Connection *connection, bool is_address_cut, const char **ret_text)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (is_address_cut) {
        *ret_text = "the address is longer than 16 KiB, or has more than 64 parameters";
        return MHD_HTTP_URI_TOO_LONG;
    }
    if (!info || info->header_size > MG_HTTP_HEAD_MAX || mg_http_is_memory_full(connection)) {
        *ret_text = "the head is longer than 16 KiB, or has too many fields";
        return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
    }
    return 0;
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

/* ---- blanks after a value ---- */

/* The library's text stays as it is: from it the library takes the end of the body and of the connection. */
struct mg_http_trim {
    struct mg_http_trim *next;
    const char *value;
    char text[];
};

struct trimming {
    struct mg_http_trim *trims;
    bool is_out_of_memory;
};

size_t mg_http_value_len(const char *value)
{
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t')) {
        len--;
    }
    return len;
}

static enum MHD_Result on_value(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)name;
    struct trimming *trimming = arg;
    const size_t len = value ? mg_http_value_len(value) : 0;
    if (!value || value[len] == '\0') {
        return MHD_YES;
    }
    struct mg_http_trim *trim = malloc(sizeof(*trim) + len + 1);
    trimming->is_out_of_memory = !trim;
    if (!trim) {
        return MHD_NO;
    }
    *trim = (struct mg_http_trim){.next = trimming->trims, .value = value};
    memcpy(trim->text, value, len);
    trim->text[len] = '\0';
    trimming->trims = trim;
    return MHD_YES;
}

bool mg_http_trims_make(struct MHD_Connection *connection, struct mg_http_trim **ret_trims)
{
    struct trimming trimming = {.trims = NULL};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND | MHD_COOKIE_KIND, on_value, &trimming);
    *ret_trims = trimming.trims;
    return !trimming.is_out_of_memory;
}

void mg_http_trims_free(struct mg_http_trim *trims)
{
    while (trims) {
        struct mg_http_trim *next = trims->next;
        free(trims);
        trims = next;
    }
}

const char *mg_http_trimmed(const struct mg_http_trim *trims, const char *value)
{
    while (trims && trims->value != value) {
        trims = trims->next;
    }
    return trims ? trims->text : value;
}
