/* Addresses below /api/v1/. */
#ifndef MG_CONSOLE_PATH_H
#define MG_CONSOLE_PATH_H

#include <stdbool.h>

#define MG_PATH_PART_SIZE 128

/* Splits "orders/ID/verb"; absent parts are "". False: there are more parts, or one is too long. */
bool mg_path_split(const char *rest, char ret_noun[MG_PATH_PART_SIZE], char ret_id[MG_PATH_PART_SIZE],
                   char ret_verb[MG_PATH_PART_SIZE]);

#endif
