/* See change_request.h. */
#include "console/change_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct mg_change *mg_change_create(struct mg_console *console, struct mg_http_exchange *request,
                                   const char by[MG_USER_NAME_SIZE])
{
    struct mg_change *change = calloc(1, sizeof(*change));
    if (change == NULL) {
        return NULL;
    }
    change->console = console;
    change->request = request;
    LIST_INSERT_HEAD(&console->changes, change, entry);
    memcpy(change->by, by, sizeof(change->by));
    return change;
}

void mg_change_free(struct mg_change *change)
{
    LIST_REMOVE(change, entry);
    free(change);
}

void mg_changes_free(struct mg_console *console)
{
    while (!LIST_EMPTY(&console->changes)) {
        mg_change_free(LIST_FIRST(&console->changes));
    }
}

static void change_over(const struct mg_change *change, unsigned int status)
{
    mg_asker_forget(change->console->asker);
    mg_log(status < 300 ? MG_LOG_INFO : MG_LOG_WARN, "change requested", MG_LOG_TEXT("by", change->by),
           MG_LOG_TEXT("noun", change->noun), MG_LOG_TEXT("id", change->id),
           MG_LOG_TEXT("verb", change->verb), MG_LOG_NUMBER("status", status));
}

void mg_change_end_with(struct mg_change *change, unsigned int status, struct mg_slice json)
{
    change_over(change, status);
    if (change->request != NULL) {
        mg_answer_json(change->request, status, json);
    }
    mg_change_free(change);
}

void mg_change_end(struct mg_change *change, unsigned int status, const char *text)
{
    change_over(change, status);
    if (change->request != NULL && status < 300) {
        mg_answer_text(change->request, status, text);
    } else if (change->request != NULL) {
        mg_answer_error(change->request, status, "%s", text);
    }
    mg_change_free(change);
}
