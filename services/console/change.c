/* See change.h. */
#include "console/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct change *change_create(struct mg_console *console, struct mg_http_exchange *request,
                             const char by[NAME_SIZE])
{
    struct change *change = calloc(1, sizeof *change);
    if (change == NULL) {
        return NULL;
    }
    change->console = console;
    change->request = request;
    LIST_INSERT_HEAD(&console->changes, change, entry);
    memcpy(change->by, by, sizeof change->by);
    return change;
}

void change_free(struct change *change)
{
    LIST_REMOVE(change, entry);
    free(change);
}

void changes_free(struct mg_console *console)
{
    while (!LIST_EMPTY(&console->changes)) {
        change_free(LIST_FIRST(&console->changes));
    }
}

static void change_over(const struct change *change, unsigned int status)
{
    asker_forget(change->console->asker);
    mg_log(status < 300 ? MG_LOG_INFO : MG_LOG_WARN, "change requested", MG_LOG_TEXT("by", change->by),
           MG_LOG_TEXT("noun", change->noun), MG_LOG_TEXT("id", change->id),
           MG_LOG_TEXT("verb", change->verb), MG_LOG_NUMBER("status", status));
}

void change_end_with(struct change *change, unsigned int status, struct mg_slice json)
{
    change_over(change, status);
    if (change->request != NULL) {
        answer_json(change->request, status, json);
    }
    change_free(change);
}

void change_end(struct change *change, unsigned int status, const char *text)
{
    change_over(change, status);
    if (change->request != NULL && status < 300) {
        answer_text(change->request, status, text);
    } else if (change->request != NULL) {
        answer_error(change->request, status, "%s", text);
    }
    change_free(change);
}

/* ---- the request's body ---- */

bool member_text(const struct json_t *body, const char *name, char *ret_text, size_t size)
{
    struct mg_slice text = document_text(document_member(body, name));
    bool has_room = text.len < size;
    (void)snprintf(ret_text, size, "%s", has_room && text.data != NULL ? text.data : "");
    return has_room;
}

uint64_t member_number(const struct json_t *body, const char *name)
{
    int64_t number = 0;
    return document_integer(document_member(body, name), &number) && number > 0 ? (uint64_t)number : 0;
}
