/*
 * Memory for answers. A call is paused if its next piece finds no room: libcurl keeps that piece, and the
 * rest stays with the server. When another call has ended, the waiting ones are resumed one after the other.
 * The first that finds no room goes on beyond the limit, as the only one, until it has ended. The beginning
 * of an answer needs no room: while large answers stall, small ones still come.
 */
#include <stdlib.h>

#include "io/http/curl.h"

/* One piece of libcurl; most answers are no larger. Each call has this many bytes outside the room. */
#define FREE_BYTES ((size_t)16384)

struct mg_http_room {
    struct mg_idle *idle;
    size_t max_bytes, held_bytes;
    const struct mg_http_call *beyond; /* goes on without room; NULL: none */
    struct mg_http_calls waiting;
};

static void on_freed(void *arg)
{
    struct mg_http_room *room = arg;
    struct mg_http_call *call = TAILQ_FIRST(&room->waiting);
    if (call == NULL || (room->held_bytes >= room->max_bytes && room->beyond != NULL)) {
        return;
    }
    TAILQ_REMOVE(&room->waiting, call, room_next);
    call->is_waiting = false;
    mg_idle_arm(room->idle);                                       /* for the next one */
    CURLcode result = curl_easy_pause(call->easy, CURLPAUSE_CONT); /* passes on the kept piece */
    if (result != CURLE_OK) {
        call->client->call_fail(call, result);
    }
}

struct mg_http_room *mg_http_room_create(struct mg_loop *loop, size_t max_bytes)
{
    struct mg_http_room *room = calloc(1, sizeof(*room));
    if (room == NULL) {
        return NULL;
    }
    room->max_bytes = max_bytes;
    TAILQ_INIT(&room->waiting);
    room->idle = mg_idle_create(loop, on_freed, room);
    if (room->idle != NULL) {
        return room;
    }
    free(room);
    return NULL;
}

void mg_http_room_destroy(struct mg_http_room *room)
{
    if (room == NULL) {
        return;
    }
    mg_idle_destroy(room->idle);
    free(room);
}

size_t mg_http_room_held(const struct mg_http_room *room)
{
    return room->held_bytes;
}

bool mg_http_room_take(struct mg_http_call *call, size_t len)
{
    struct mg_http_room *room = call->client->options.room;
    if (room == NULL) {
        return true;
    }
    size_t read_bytes = call->free_bytes + call->room_bytes + len;
    if (read_bytes <= FREE_BYTES) {
        call->free_bytes += len;
        return true;
    }
    bool has_room = room->held_bytes + len <= room->max_bytes;
    if (!has_room && room->beyond != NULL && room->beyond != call) {
        if (!call->is_waiting) {
            TAILQ_INSERT_TAIL(&room->waiting, call, room_next);
        }
        call->is_waiting = true;
        return false;
    }
    if (!has_room) {
        room->beyond = call;
    }
    call->room_bytes += len;
    room->held_bytes += len;
    return true;
}

void mg_http_room_leave(struct mg_http_call *call)
{
    struct mg_http_room *room = call->client->options.room;
    if (room == NULL) {
        return;
    }
    if (call->is_waiting) {
        TAILQ_REMOVE(&room->waiting, call, room_next);
    }
    if (room->beyond == call) {
        room->beyond = NULL;
    }
    call->is_waiting = false;
    room->held_bytes -= call->room_bytes;
    call->room_bytes = call->free_bytes = 0;
    if (!TAILQ_EMPTY(&room->waiting)) {
        mg_idle_arm(room->idle);
    }
}
