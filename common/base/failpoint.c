/* The environment names the armed failpoint; it is read once. */
#include "base/failpoint.h"

#ifdef MG_FAILPOINTS

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ENVIRONMENT "MAKEGOOD_FAILPOINT"

static const char *const names[MG_FAILPOINT_COUNT] = {
#define MG_FAILPOINT_AT(NAME, processes, what) #NAME,
#include "base/failpoint.def"
#undef MG_FAILPOINT_AT
};

static enum mg_failpoint armed = MG_FAILPOINT_COUNT;
static long passes_left;

static void arm(const char *value)
{
    size_t len = strcspn(value, ":");
    passes_left = value[len] == ':' ? strtol(value + len + 1, NULL, 10) : 1;
    for (int i = 0; i < MG_FAILPOINT_COUNT; i++) {
        if (strlen(names[i]) == len && strncasecmp(names[i], value, len) == 0) {
            armed = (enum mg_failpoint)i;
        }
    }
    if (armed == MG_FAILPOINT_COUNT || passes_left < 1) {
        fprintf(stderr, ENVIRONMENT "=%s names no failpoint; see base/failpoint.def\n", value);
        abort();
    }
}

void mg_failpoint_pass(enum mg_failpoint point)
{
    static bool is_read;
    if (!is_read) {
        const char *value = getenv(ENVIRONMENT);
        is_read = true;
        if (value != NULL) {
            arm(value);
        }
    }
    if (point == armed && --passes_left == 0) {
        (void)kill(getpid(), SIGKILL);
    }
}

#endif
