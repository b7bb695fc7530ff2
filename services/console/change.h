/* One change that a page asked for, while it is under way; and how its request is read. */
#ifndef MG_CONSOLE_CHANGE_H
#define MG_CONSOLE_CHANGE_H

#include "console/path.h"
#include "console/server.h"
#include "operator/batch_words.h"
#include "wire/command.h"

#define MARK_SIZE 64

struct change {
    struct change *next; /* of the console's */
    struct mg_console *console;
    struct mg_http_exchange *request; /* NULL: it is no more */
    char by[NAME_SIZE], reason[MG_COMMAND_REASON_MAX + 1];
    char noun[PART_SIZE], id[PART_SIZE], verb[PART_SIZE];
    struct mg_command command;              /* of an order */
    char queue[PART_SIZE], mark[MARK_SIZE]; /* of a dead letter */
    char refusal[BATCH_REFUSAL_SIZE];       /* of a batch: what is wrong with it */
    int64_t orders_max;                     /* of a batch: so many were confirmed */
};

/* NULL: there is no memory. The console keeps it until one of the functions below ends it. */
struct change *change_create(struct mg_console *console, struct mg_http_exchange *request,
                             const char by[NAME_SIZE]);
void change_free(struct change *change); /* its request has been answered */
/* Answers the request with this text, or as an error, and is the end of the change. */
void change_end(struct change *change, unsigned int status, const char *text);
/* The same with JSON of one's own. */
void change_end_with(struct change *change, unsigned int status, struct mg_slice json);

/* A text of what the page sent; "" if there is none. False: there is one, and it is too long. */
bool text_read(struct mg_slice body, const char *pointer, char *ret_text, size_t size);
/* 0 if there is no such number. */
uint64_t number_read(struct mg_slice body, const char *pointer);

/* ---- batches.c ---- */

/* NULL: it is under way; else what is wrong with it. */
const char *batch_change(struct change *change, struct mg_slice body);

#endif
