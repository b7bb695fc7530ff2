/* One change that a page has requested, and how its request is read. */
#ifndef MG_CONSOLE_CHANGE_REQUEST_H
#define MG_CONSOLE_CHANGE_REQUEST_H

#include "console/console_parts.h"
#include "operator/document.h"
#include "operator/option_words.h"
#include "schedule/schedule.h"
#include "wire/command.h"

#define MG_MARK_SIZE 64

struct mg_change {
    LIST_ENTRY(mg_change) entry; /* in the console's list */
    struct mg_console *console;
    struct mg_http_exchange *request; /* NULL: the connection is closed */
    char by[MG_USER_NAME_SIZE], reason[MG_COMMAND_REASON_MAX + 1];
    char noun[MG_PATH_PART_SIZE], id[MG_PATH_PART_SIZE], verb[MG_PATH_PART_SIZE];
    struct mg_command command; /* of an order's change */
    char
        *payload; /* of a signal, a settle, a repair or a new order: JSON, which the command borrows; owned */
    char *pointers[MG_COMMAND_SETS_MAX];               /* of a repair; owned */
    char workflow[MG_NAME_MAX + 1];                    /* of a new order; "": of any other change */
    char queue[MG_PATH_PART_SIZE], mark[MG_MARK_SIZE]; /* of a dead letter's change */
    char refusal[MG_BULK_REFUSAL_SIZE];                /* which member is wrong */
    uint64_t version;                                  /* of a schedule, as shown */
    void (*note)(struct mg_change *change);            /* of act.c: records the change, then sends it */
    struct mg_schedule *schedule;                      /* to be resumed; NULL: none. Owned */
    int64_t orders_max; /* of a bulk action: the number of orders that the operator confirmed */
};

/* NULL: out of memory. The console keeps the change until mg_change_free, mg_change_end or
 * mg_change_end_with. */
struct mg_change *mg_change_create(struct mg_console *console, struct mg_http_exchange *request,
                                   const char by[MG_USER_NAME_SIZE]);
void mg_change_free(struct mg_change *change); /* after its request has been answered */
/* Answers the request with `text`, as an error from status 300 on, and frees the change. */
void mg_change_end(struct mg_change *change, unsigned int status, const char *text);
/* Ends it with the result of a store's change: of a service's settings, a schedule or a bulk action. */
void mg_change_stored(void *change, enum mg_change_result result, uint64_t version, const struct mg_err *err);
/* The same as mg_change_end with the caller's JSON. */
void mg_change_end_with(struct mg_change *change, unsigned int status, struct mg_slice json);

/* ---- order_actions.c ---- */

/* Reads a command about an order. NULL: it is valid; else the reason for a refusal. */
const char *mg_console_order_read(struct mg_change *change, struct mg_slice body);
/* Sends the change's command, and answers with its result. */
void mg_console_command_send(struct mg_change *change);
/* Reads the member `name` into change->payload: JSON in a text, since a browser would change digits; up to
 * MG_COMMAND_RESULT_MAX bytes. NULL, or the reason for a refusal. */
const char *mg_console_json_read(struct mg_change *change, const char *name, struct mg_slice quoted,
                                 struct mg_slice *ret_json);
void mg_console_command_id_make(const struct mg_change *change, uint64_t version, const char *click,
                                char ret_command_id[MG_UUID_SIZE]);

/* ---- order_post.c ---- */

/* NULL: the workflow is being read; else the reason for a refusal. change->note follows. */
const char *mg_console_post_begin(struct mg_change *change, struct mg_slice body);
void mg_console_post_send(struct mg_change *change);

/* ---- schedule_actions.c ---- */

/* NULL: the change is under way; else the reason for a refusal. */
const char *mg_console_schedule_change(struct mg_change *change, struct mg_slice body);

/* ---- bulk_actions.c ---- */

/* NULL: the change is under way; else the reason for a refusal. */
const char *mg_console_bulk_change(struct mg_change *change, struct mg_slice body);

#endif
