/* See members.h. */
#include "console/members.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *noun, *verb, *texts, *numbers;
} BODIES[] = {
#define MG_BODY(noun, verb, texts, numbers) {noun, verb, texts, numbers},
#include "console/members.def"
#undef MG_BODY
};

static bool is_among(const char *names, const char *name)
{
    size_t len = strlen(name);
    while (names[0] != '\0') {
        size_t word = strcspn(names, " ");
        if (word == len && memcmp(names, name, len) == 0) {
            return true;
        }
        names += word + strspn(names + word, " ");
    }
    return false;
}

/* NULL: the row of BODIES has such a member; else the fault. */
static const char *member_fault(size_t row, const char *name, const struct json_t *value)
{
    int64_t number;
    if (is_among(BODIES[row].texts, name)) {
        return mg_document_text(value).data != NULL ? NULL : "expected a text";
    }
    if (is_among(BODIES[row].numbers, name)) {
        return mg_document_integer(value, &number) && number >= 0 ? NULL
                                                                  : "expected a whole number, 0 or more";
    }
    return "unknown member";
}

bool mg_members_check(struct json_t *body, const char *noun, const char *verb,
                      char ret_refusal[MG_REFUSAL_SIZE])
{
    const struct json_t *value;
    const char *name;
    size_t row = 0, rows = sizeof(BODIES) / sizeof(BODIES[0]);
    while (row < rows && (strcmp(BODIES[row].noun, noun) != 0 ||
                          (strcmp(BODIES[row].verb, verb) != 0 &&
                           (verb[0] == '\0' || strcmp(BODIES[row].verb, "*") != 0)))) {
        row++;
    }
    for (int i = 0; row < rows && (value = mg_document_pair(body, i, &name)) != NULL; i++) {
        const char *fault = member_fault(row, name, value);
        if (fault != NULL) {
            (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "%.40s: %s", name, fault);
            mg_text_make_plain(ret_refusal);
            return false;
        }
    }
    return true;
}

bool mg_member_text(const struct json_t *body, const char *name, char *ret_text, size_t size)
{
    struct mg_slice text = mg_document_text(mg_document_member(body, name));
    bool has_room = text.len < size;
    (void)snprintf(ret_text, size, "%s", has_room && text.data != NULL ? text.data : "");
    return has_room;
}

uint64_t mg_member_number(const struct json_t *body, const char *name)
{
    int64_t number = 0;
    return mg_document_integer(mg_document_member(body, name), &number) && number > 0 ? (uint64_t)number : 0;
}
