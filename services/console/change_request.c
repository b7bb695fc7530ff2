/* See change_request.h. */
#include "console/change_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* ---- how its request is read ---- */

#define NAME_SHOWN_MAX 40

static const struct {
    const char *noun, *verb, *texts, *numbers;
} BODIES[] = {
#define MG_BODY(noun, verb, texts, numbers) {noun, verb, texts, numbers},
#include "console/members.def"
#undef MG_BODY
};

static bool is_among(const char *names, struct mg_slice name)
{
    while (names[0] != '\0') {
        size_t len = strcspn(names, " ");
        if (mg_json_string_is(name, (struct mg_slice){names, len})) {
            return true;
        }
        names += len + strspn(names + len, " ");
    }
    return false;
}

/* NULL: the row of BODIES has such a member; else the fault. */
static const char *member_fault(size_t row, struct mg_slice name, struct mg_slice value)
{
    int64_t number;
    if (is_among(BODIES[row].texts, name)) {
        return mg_json_type_of(value) == MG_JSON_STRING ? NULL : "expected a text";
    }
    if (is_among(BODIES[row].numbers, name)) {
        return mg_document_integer(value, "", &number) && number >= 0 ? NULL
                                                                      : "expected a whole number, 0 or more";
    }
    return "unknown member";
}

bool mg_members_check(struct mg_slice body, const char *noun, const char *verb,
                      char ret_refusal[MG_REFUSAL_SIZE])
{
    struct mg_slice name, value;
    size_t row = 0, rows = sizeof(BODIES) / sizeof(BODIES[0]);
    while (row < rows && (strcmp(BODIES[row].noun, noun) != 0 ||
                          (strcmp(BODIES[row].verb, verb) != 0 &&
                           (verb[0] == '\0' || strcmp(BODIES[row].verb, "*") != 0)))) {
        row++;
    }
    struct mg_json_walk walk = mg_json_walk_of(mg_json_trim(body));
    while (row < rows && mg_json_walk_next(&walk, &name, &value)) {
        const char *fault = member_fault(row, name, value);
        if (fault != NULL) {
            (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "%.*s: %s",
                           (int)mg_utf8_cut((struct mg_slice){name.data + 1, name.len - 2}, NAME_SHOWN_MAX),
                           name.data + 1, fault);
            mg_text_make_plain(ret_refusal);
            return false;
        }
    }
    return true;
}

uint64_t mg_member_number(struct mg_slice body, const char *pointer)
{
    int64_t number = 0;
    return mg_document_integer(body, pointer, &number) && number > 0 ? (uint64_t)number : 0;
}

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

/* ---- its life ---- */

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
    free(change->payload);
    for (int i = 0; i < MG_COMMAND_SETS_MAX; i++) {
        free(change->pointers[i]);
    }
    mg_schedule_destroy(change->schedule);
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

void mg_change_stored(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err)
{
    struct mg_change *change = arg;
    const char *what = strcmp(change->noun, "services") == 0 ? "service"
                       : strcmp(change->noun, "bulk") == 0   ? "bulk action"
                                                             : "schedule";
    char text[MG_PATH_PART_SIZE];
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else if (result == MG_CHANGE_DONE) {
        (void)snprintf(text, sizeof(text), "stored as version %llu", (unsigned long long)version);
        mg_change_end(change, 200, text);
    } else if (result == MG_CHANGE_CONFLICT) {
        (void)snprintf(text, sizeof(text), "the %s has changed or ended meanwhile; reload the page", what);
        mg_change_end(change, 409, text);
    } else {
        (void)snprintf(text, sizeof(text), "unknown %s", what);
        mg_change_end(change, 404, text);
    }
}
