/* Keeps the idle connections of client and server alive, and detects a peer that is gone without a word. */
#ifndef MG_IO_HTTP_ALIVE_H
#define MG_IO_HTTP_ALIVE_H

/* For a socket before it connects, or one that listens: accepted sockets inherit it. A kernel that refuses
 * leaves its default; then a dead peer is only detected later. */
void mg_http_keep_alive(int fd);

#endif
