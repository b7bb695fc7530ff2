/* Addresses below /api/v1/. */
#ifndef MG_CONSOLE_PATH_H
#define MG_CONSOLE_PATH_H

#include <stdbool.h>

#define PART_SIZE 128

/* "orders/ID/verb" to its parts, "" for those that are not there; false: there are more, or too long ones. */
bool path_split(const char *rest, char ret_noun[PART_SIZE], char ret_id[PART_SIZE], char ret_verb[PART_SIZE]);

#endif
