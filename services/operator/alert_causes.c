/* See alert_causes.h. */
#include "operator/alert_causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define NAMES_MAX 3

/* Appends the name in "otto: the bank is called", unless it is among the names. */
static void name_add(const char *acked_by, char *names, size_t size, int *count)
{
    char name[128];
    size_t len = strcspn(acked_by, ":"), used = strlen(names);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) - 1 ? len : sizeof(name) - 1),
                   acked_by);
    if (name[0] == '\0' || strstr(names, name) != NULL || *count > NAMES_MAX) {
        return;
    }
    (*count)++;
    (void)snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "", *count > NAMES_MAX ? "…" : name);
}

void mg_alert_causes_count(const struct mg_table *causes, struct mg_alert_causes *ret)
{
    char names[MG_ALERT_KNOWN_SIZE - 64] = "";
    int name_count = 0;
    *ret = (struct mg_alert_causes){.alerts = 0};
    for (int row = 0; row < causes->row_count; row++) {
        int64_t count = strtoll(mg_table_cell(causes, row, "count"), NULL, 10);
        bool is_known = mg_table_cell(causes, row, "acked_at")[0] != '\0';
        ret->alerts += count;
        ret->unknown_alerts += is_known ? 0 : count;
        ret->unknown += !is_known;
        ret->known += is_known;
        if (is_known) {
            name_add(mg_table_cell(causes, row, "acked_by"), names, sizeof(names), &name_count);
        }
    }
    mg_utf8_mend(names); /* the cut may split a character */
    if (ret->known > 0) {
        (void)snprintf(ret->known_text, sizeof(ret->known_text), "%d cause%s known (%s)", ret->known,
                       ret->known == 1 ? "" : "s", names);
    }
}
