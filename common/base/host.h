/* What a host name says without asking anybody. */
#ifndef MG_BASE_HOST_H
#define MG_BASE_HOST_H

#include <stdbool.h>

/* True for localhost and the loopback addresses (127.0.0.0/8, ::1, with or without brackets): what is sent
 * there does not leave this machine. Other names are not looked up: what they mean today may change. */
bool mg_host_is_loopback(const char *host);

#endif
