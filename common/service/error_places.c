/* The service file's `error`: the places of code and text in a refusing body, and how much of it is kept. */
#include <stdlib.h>
#include <string.h>

#include "service/file_reader.h"
#include "wire/reply.h"

static const char *const ERROR_NAMES[] = {"code", "text", "keep", NULL};

static void place_add(const struct mg_json_object *object, const char *name, char **places, int count,
                      char *text)
{
    if (text == NULL) {
        mg_json_member_fault(object, MG_TRANSIENT, name, "could not be kept: no memory");
    } else if (text[0] != '/' || !mg_json_pointer_is_valid(text)) {
        mg_json_member_fault(
            object, MG_BAD_INPUT, name,
            "\"%.80s\" is no JSON pointer; write \"/member/…\", with \"~0\" for \"~\" and \"~1\" for "
            "\"/\" in a name",
            text);
        free(text);
    } else {
        places[count] = text;
    }
}

static char *text_of(struct mg_slice quoted)
{
    struct mg_buf text;
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    char *copy = text.failed ? NULL : strdup(text.len > 0 ? text.data : "");
    mg_buf_finish(&text);
    return copy;
}

/* One pointer, or a list of them. Those of the defaults if the member is absent. */
static void read_places(const struct mg_json_object *error, const char *name, const char *const *defaults,
                        char *places[MG_ERROR_POINTERS_MAX + 1])
{
    struct mg_slice value = mg_json_get(error, name, MG_OPTIONAL), none, element;
    int count = 0;
    if (value.data == NULL) {
        for (; defaults[count] != NULL; count++) {
            place_add(error, name, places, count, strdup(defaults[count]));
        }
        return;
    }
    if (mg_json_type_of(value) == MG_JSON_STRING) {
        place_add(error, name, places, 0, text_of(value));
        return;
    }
    if (mg_json_type_of(value) != MG_JSON_ARRAY) {
        mg_json_member_fault(error, MG_BAD_INPUT, name, "%s; a JSON pointer or a list of them is expected",
                             mg_json_type_name(mg_json_type_of(value)));
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(value); mg_json_walk_next(&walk, &none, &element);
         count++) {
        if (count == MG_ERROR_POINTERS_MAX) {
            mg_json_member_fault(error, MG_BAD_INPUT, name, "more than %d JSON pointers",
                                 MG_ERROR_POINTERS_MAX);
            return;
        }
        if (mg_json_type_of(element) != MG_JSON_STRING) {
            mg_json_member_fault(error, MG_BAD_INPUT, name,
                                 "it holds %s; a list of JSON pointers is expected",
                                 mg_json_type_name(mg_json_type_of(element)));
            return;
        }
        place_add(error, name, places, count, text_of(element));
        if (places[count] == NULL) {
            return; /* a gap would end the list */
        }
    }
}

void mg_service_read_error(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_json_object error = {.faults = object->faults, .pointer = "/error", .names = ERROR_NAMES};
    struct mg_slice value = mg_json_get(object, "error", MG_OPTIONAL);
    if (value.data != NULL &&
        !mg_json_object_open(&error, object->faults, value, "/error", ERROR_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    read_places(&error, "code", MG_ERROR_CODE_PLACES, service->error.code);
    read_places(&error, "text", MG_ERROR_TEXT_PLACES, service->error.text);
    service->error.keep_bytes =
        (size_t)mg_json_get_integer(&error, "keep", MG_OPTIONAL, 0, MG_ERROR_KEEP_MAX, MG_ERROR_KEEP_DEFAULT);
}

void mg_service_error_free(struct mg_service *service)
{
    for (int i = 0; i < MG_ERROR_POINTERS_MAX; i++) {
        free(service->error.code[i]);
        free(service->error.text[i]);
    }
}
