/* See members.h. */
#include "console/members.h"

#include <stdio.h>
#include <string.h>

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
    struct mg_json_walk walk;
    struct mg_slice name, value;
    size_t row = 0, rows = sizeof(BODIES) / sizeof(BODIES[0]);
    while (row < rows && (strcmp(BODIES[row].noun, noun) != 0 ||
                          (strcmp(BODIES[row].verb, verb) != 0 &&
                           (verb[0] == '\0' || strcmp(BODIES[row].verb, "*") != 0)))) {
        row++;
    }
    mg_json_walk_begin(&walk, mg_json_trim(body));
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
