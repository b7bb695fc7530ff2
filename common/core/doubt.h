/*
 * The policy of a step that may have happened (law 10, sticky maybe). Whatever begins such a step anew asks
 * it: a resume, a restart, or planning after lost state. A do alone would happen twice at a service that does
 * not de-duplicate. Inside of the core.
 */
#ifndef MG_CORE_DOUBT_H
#define MG_CORE_DOUBT_H

#include "core/decider.h"

enum mg_way {
    MG_WAY_DO,     /* nothing of it stands, or the service de-duplicates by the key */
    MG_WAY_ASK,    /* a verify first, or the next poll of accepted work */
    MG_WAY_PERSON, /* an operator settles it */
};

/* The way on for a step that begins anew, by its definition. */
enum mg_way mg_doubt_way(const struct mg_decider *decider, int step);
/* The command is the operator's explicit word to send the do of this step once more. */
bool mg_doubt_is_repeated(const struct mg_decider *decider, int step);
/* Moves a pending step that may have happened to the state in which it is asked about, or settled. */
void mg_doubt_begin(struct mg_decider *decider, int step);
/* Gives accepted work its time if it has none left. */
void mg_doubt_give_time(struct mg_decider *decider, int step);

#endif
