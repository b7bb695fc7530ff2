/* Properties of a host name by its text alone, without a lookup. */
#ifndef MG_BASE_HOST_H
#define MG_BASE_HOST_H

#include <stdbool.h>

/* True for localhost and the loopback addresses (127.0.0.0/8, ::1, with or without brackets): data sent there
 * does not leave this machine. Other names are not looked up, because their addresses may change. */
bool mg_host_is_loopback(const char *host);

#endif
