/*
 * The proxy's connections: two lanes each, one per direction. Bytes pass as the route's mode for that
 * direction allows. proxy.c defines the modes.
 */
#ifndef CHAOS_LINK_H
#define CHAOS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sift.h"

enum {
    NAME_SIZE = 64,
    BUFFER = 32768,  /* per direction of a connection, before and after the sieve */
    PIECES_MAX = 64, /* delayed pieces of a direction; at this number reading stops */
    UP = 0,
    DOWN = 1,
};

enum mode {
    MODE_PASS,
    MODE_DELAY,
    MODE_BLACKHOLE,
    MODE_RESET,
    MODE_SLICE,
    MODE_CUT,
    MODE_DROP_ACK,
    MODE_CORRUPT,
    MODE_CUT_COMMIT,
    MODE_HOLD_COMMIT,
};

struct rule {
    enum mode mode;
    long n;
    unsigned edition; /* rises with each change, so that connections restart their counters */
};

struct route {
    char name[NAME_SIZE];
    int listener;
    uint16_t target;
    enum protocol protocol;
    struct rule rules[2];
    long fired;
    long long bytes[2];
};

struct piece {
    size_t size;
    int64_t due_ms;
};

/* One direction of a connection. */
struct lane {
    int from, to;
    uint8_t in[BUFFER], out[BUFFER];
    size_t in_size, out_size;
    struct piece pieces[PIECES_MAX]; /* of `out`, oldest first, while the mode is delay */
    int piece_count;
    struct sift sift;
    size_t unit_left; /* remaining bytes of the present unit */
    bool is_dropped;  /* the present unit is discarded */
    bool is_corrupt;
    bool is_commit;
    bool wants_one_byte; /* the next unit is one byte */
    unsigned edition;
    long counted; /* units or bytes since the mode was set, as the mode counts */
    bool has_fired;
    bool is_ended; /* its sender has closed */
    bool is_shut;  /* and the other side has been informed */
};

struct link {
    struct route *route;
    int ends[2]; /* client, server */
    struct lane lanes[2];
    bool is_connecting;
    bool is_doomed;    /* reset as soon as the server has answered */
    bool is_held;      /* the server's answers stay here, while the up mode is hold-commit */
    bool is_condemned; /* to be reset in this round */
};

/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void);
/* Listens on 127.0.0.1. Returns -1 and sets errno on an error. */
int listen_on(uint16_t port);

/* Connects to the route's target and takes ownership of `client`. Returns NULL after an error; `client` has
 * then been reset. */
struct link *link_begin(struct route *route, int client);
/* Closes or resets both ends and frees `link`. */
void link_end(struct link *link);
/* Returns true if the connection has ended by itself or is condemned. */
bool link_is_over(const struct link *link);
/* Returns the events to poll for, of the client (0) and of the server (1). */
void link_wants(const struct link *link, int64_t now, short ret_events[2]);
/* Moves all movable bytes. `events`: poll's result for the two ends. */
void link_serve(struct link *link, const short events[2], int64_t now);
/* Applies a mode that has changed. */
void link_renew(struct link *link);
/* When the next delayed piece is due; -1: there is none. */
int64_t link_due_ms(const struct link *link);

#endif
