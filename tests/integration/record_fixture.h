/*
 * Orders and events as text: each column that the store loads, as " name=value". Two records with the same
 * text are the same.
 */
#ifndef MG_TESTS_RECORD_FIXTURE_H
#define MG_TESTS_RECORD_FIXTURE_H

#include <stdio.h>

#include "io/store/store.h"

void record_print_order(FILE *out, const struct mg_order_record *record); /* and its payload, not its steps */
void record_print_step(FILE *out, const struct mg_order_record *record, int index);
void record_print_event(FILE *out, const struct mg_event_record *event);
void record_print_slice(FILE *out, const char *name, struct mg_slice text);

#endif
