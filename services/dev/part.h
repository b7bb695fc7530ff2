/*
 * The processes that `makegood dev` has started: their logs, readiness, restarts and end.
 *
 * A part that ends by itself is reported with the last lines of its log. One that was ready before
 * is started again, after a growing delay. One that was never ready is lost, because its cause is most often
 * a mistake that a restart repeats. So is one that ends again and again. A lost part ends the whole.
 *
 * A part that runs and is no longer ready is reported once, with its own reason, and again when it is ready.
 */
#ifndef MG_DEV_PART_H
#define MG_DEV_PART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/loop_child.h"

/* The order of the end: a higher rank ends first, and a lower one only after all of it has ended. */
enum mg_part_rank {
    MG_PART_REGISTER, /* epmd, in which RabbitMQ is registered */
    MG_PART_SERVER,   /* PostgreSQL, RabbitMQ */
    MG_PART_SERVICE,  /* scheduler, supervisor, agents */
    MG_PART_DOOR,     /* gateway, console */
    MG_PART_RANK_COUNT,
};

struct mg_parts;
struct mg_part;

struct mg_parts_options {
    struct mg_loop *loop;
    const char *logs;       /* a folder; each part has the file NAME.log there */
    int64_t unready_max_ms; /* a part that was ready, and has not been for so long, is reported */
    void (*report)(void *arg, const char *line); /* a line for people */
    mg_loop_fn *changed;                         /* a part has become ready, has ended or is lost */
    void *arg;
};

/* MG_TRANSIENT: no memory or descriptors. */
enum mg_class mg_parts_create(const struct mg_parts_options *options, struct mg_parts **ret_parts,
                              struct mg_err *err) MG_MUSTCHECK;
/* Forgets all of them. Those that still run go on. Accepts NULL. */
void mg_parts_destroy(struct mg_parts *parts);

/* NULL: no memory, or too many. `end_signal` asks the process to end. The kernel sends it if this process is
 * killed. */
struct mg_part *mg_part_add(struct mg_parts *parts, const char *name, enum mg_part_rank rank, int end_signal);
/* Its command and its environment, to which this process's is added. Without memory the start fails. */
struct mg_child_words *mg_part_words(struct mg_part *part);
void mg_part_user(struct mg_part *part, uid_t user, gid_t group); /* instead of root */

/* How its readiness is known. */
enum mg_part_sign {
    MG_PART_NOTIFIES, /* by STATUS= of sd_notify(3): Makegood's own */
    MG_PART_TRIED,    /* by mg_part_set_ready: its user has tried it */
    MG_PART_ENDS,     /* it does its work and exits with 0, which counts as ready */
};
enum mg_class mg_part_start(struct mg_part *part, enum mg_part_sign sign, struct mg_err *err) MG_MUSTCHECK;
void mg_part_set_ready(struct mg_part *part);
bool mg_part_is_ready(const struct mg_part *part);
int64_t mg_part_started_at_ms(const struct mg_part *part); /* the boot clock at its last start */
/* Kills a part that runs and does not work; it is started again as one that has ended by itself. `why` is
 * printed. */
void mg_part_replace(struct mg_part *part, const char *why);

/* The first part that is not ready, with its own reason; NULL: all are. */
const char *mg_parts_unready(const struct mg_parts *parts, const char **ret_reason);
bool mg_parts_have_lost(const struct mg_parts *parts);

/* Asks all parts of this rank to end, and starts none again from now on. A stopped one goes on for it. */
void mg_parts_ask_end(struct mg_parts *parts, enum mg_part_rank rank);
bool mg_parts_run(const struct mg_parts *parts, enum mg_part_rank rank);
/* Ends all parts of this rank and above at once. PostgreSQL shuts down without a checkpoint, others are
 * killed; a second call kills PostgreSQL, too. */
void mg_parts_kill(struct mg_parts *parts, enum mg_part_rank rank);

#endif
