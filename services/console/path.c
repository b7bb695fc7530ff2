/* See path.h. */
#include "console/path.h"

#include <string.h>

bool mg_path_split(const char *rest, char ret_noun[MG_PATH_PART_SIZE], char ret_id[MG_PATH_PART_SIZE],
                   char ret_verb[MG_PATH_PART_SIZE])
{
    char *const parts[] = {ret_noun, ret_id, ret_verb};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t len = strcspn(rest, "/");
        if (len >= MG_PATH_PART_SIZE) {
            return false;
        }
        memcpy(parts[i], rest, len);
        parts[i][len] = '\0';
        rest += len + (rest[len] == '/');
    }
    return rest[0] == '\0';
}
