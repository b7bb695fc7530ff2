/* Addresses below /api/v1/. */
#ifndef MG_CONSOLE_PATH_H
#define MG_CONSOLE_PATH_H

#include <stdbool.h>

#define PART_SIZE 128

/* Splits "orders/ID/verb"; absent parts are "". False: there are more parts, or one is too long. */
bool path_split(const char *rest, char ret_noun[PART_SIZE], char ret_id[PART_SIZE], char ret_verb[PART_SIZE]);

#endif
