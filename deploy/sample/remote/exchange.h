/*
 * One request and the ways to answer it, well and badly. Everything of libmicrohttpd that the handlers need,
 * and the waiting that ends when the program does. Each connection has a thread of its own, so a handler may
 * wait.
 */
#ifndef REMOTE_EXCHANGE_H
#define REMOTE_EXCHANGE_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger.h"

#define BODY_MAX_BYTES (4 * 1024 * 1024) /* far above any order */
#define STATUS_REFUSED 422               /* permanent; libmicrohttpd renamed its constant between versions */
#define KEY_MAX_LEN    512               /* an order's id, a step and a generation stay below */

struct remote {
    struct ledger *ledger;
    const char *only_service;         /* NULL: all three */
    unsigned int undo_unknown_status; /* 204 or 404 */
    bool is_tls;                      /* HTTPS, for clients with a certificate */
    int stop_fd;                      /* readable once the program ends */
};

struct exchange {
    const struct remote *remote;
    struct MHD_Connection *connection;
    const char *method, *path;
    char *body; /* ends with a NUL beyond body_len */
    size_t body_len;
    bool is_over; /* the body was above its limit and has been read past */
};

/* The answer is `json`, an object's text; header_name may be NULL. */
enum MHD_Result answer_json(const struct exchange *exchange, unsigned int status, const char *json,
                            const char *header_name, const char *header_value);
/* {"error": code, "reason": reason} */
enum MHD_Result answer_error(const struct exchange *exchange, unsigned int status, const char *code,
                             const char *reason);
enum MHD_Result answer_nothing(void);                         /* closes the connection */
enum MHD_Result answer_page(const struct exchange *exchange); /* 404 in HTML, as an ingress answers */
enum MHD_Result answer_garbage(const struct exchange *exchange);
enum MHD_Result answer_huge(const struct exchange *exchange);
enum MHD_Result answer_half(const struct exchange *exchange, const char *json);

/* Waits; false if the program is to end. */
bool wait_ms(const struct exchange *exchange, int64_t ms);
/* Waits; also ends when the client hangs up, then false too. */
bool wait_for_client_ms(const struct exchange *exchange, int64_t ms);

/* effects.c: the three things that are asked of a service. */
enum MHD_Result serve_do(const struct exchange *exchange, const char *service, const char *key);
enum MHD_Result serve_undo(const struct exchange *exchange, const char *service, const char *key);
enum MHD_Result serve_get(const struct exchange *exchange, const char *service, const char *key);
/* routes.c */
enum MHD_Result serve(const struct exchange *exchange);

#endif
