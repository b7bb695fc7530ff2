/* The parts of the library's client. None of these names is exported. */
#ifndef MG_LIBRARY_PRIVATE_H
#define MG_LIBRARY_PRIVATE_H

#include <pthread.h>

#include "client/poster.h"
#include "client/statuses.h"
#include "makegood.h"
#include "wire/command.h"

/* Sets `error`, which may be NULL, and returns the code. The text is made plain: arguments are often input.
 */
enum mg_error_code mg_error_set(struct mg_error *error, enum mg_error_code code, const char *format, ...)
    MG_PRINTF(3, 4);
/* The same from an error of ours. */
enum mg_error_code mg_error_from(struct mg_error *error, const struct mg_err *err);

/* The members of the options, as errors call them. */
extern const struct mg_broker_names mg_library_names;

/* False: this is a child of the process `maker`, which opened the client or agent; an error reports it. */
bool mg_library_is_own(pid_t maker, struct mg_error *error);

/* A thread that is cancelled within a call would keep the lock, and be counted for ever. So each call that
 * waits, locks or reads files returns before the cancellation of its thread takes effect. Returns the
 * former state, for the release. */
int mg_library_cancel_hold(void);
void mg_library_cancel_release(int state);

/* Opens the log of the process, once for all clients and agents. */
void mg_library_log_start(void);

/* One order in hand, or one signal. Callers and the loop's thread change it under the client's lock. */
struct mg_library_order {
    TAILQ_ENTRY(mg_library_order)
    entry, move; /* in the client's list; among those on their way to the loop */
    struct mg_posting posting;
    struct mg_statuses statuses;
    char order_id[MG_CLIENT_ORDER_ID_SIZE]; /* of a signal the correlation id, made for it */
    char signal[MG_NAME_MAX + 1], signal_id[MG_COMMAND_ID_MAX + 1];
    struct mg_command_result answer; /* to the signal */
    bool is_answered;
    char *traceparent; /* NULL: none */
    struct mg_buf body;
    uint64_t serial;                 /* another order of the same id has another one */
    int submitters;                  /* calls that wait for the confirm */
    bool is_posting;                 /* the poster has it */
    bool is_joining;                 /* it waits for the loop to give it to the poster */
    bool is_taken;                   /* confirmed once, or a status came */
    enum mg_publish_outcome refusal; /* certainly not taken; MG_PUBLISH_CONFIRMED: no refusal */
};

/* Writes and checks the submission. */
enum mg_error_code mg_library_order_create(const struct mg_client_order *wanted,
                                           struct mg_library_order **ret_order, struct mg_error *error);
/* The same for a signal of the client. */
enum mg_error_code mg_library_signal_create(const char *client, const struct mg_client_signal *wanted,
                                            struct mg_library_order **ret_order, struct mg_error *error);
void mg_library_order_free(struct mg_library_order *order); /* accepts NULL */

/* The public form of a status. NULL: no memory. */
struct mg_client_status *mg_library_status_create(const struct mg_kept_status *kept);

#endif
