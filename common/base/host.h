/* Properties of a host name by its text alone, without a lookup. */
#ifndef MG_BASE_HOST_H
#define MG_BASE_HOST_H

#include <stdbool.h>

/* True for localhost and the loopback addresses (127.0.0.0/8, ::1, with or without brackets): data sent there
 * does not leave this machine. Other names are not looked up, because their addresses may change. */
bool mg_host_is_loopback(const char *host);

#define MG_HOST_NAME_SIZE 256

/* Reads "name", "name:port", "[address]:port" or an IPv6 address, as in the headers Host and Origin. The name
 * has one spelling then: small letters, no dot at the end, an address without brackets. `*ret_port` is 0 if
 * none is written. False: it is no such text. */
bool mg_host_read(const char *text, char ret_name[MG_HOST_NAME_SIZE], int *ret_port);
/* Whether an origin, as browsers write it, is that of a page at `host`, a Host header. A port that is not
 * written is the default one of the origin's scheme. */
bool mg_host_is_of_origin(const char *host, const char *origin);

#endif
