/* The file of a profile: the words of the options, and the payload. See profile.h. */
#include <stdio.h>
#include <string.h>

#include "claim.h"
#include "json/reader.h"
#include "profile.h"

static const struct mg_json_limits LIMITS = {
    .max_bytes = MG_PROFILE_MAX_BYTES, .max_depth = 40, .max_members = 100000, .any_number = true};

#define VALUE_SIZE 1024 /* of a setting; the longest is a share with a payload */

static const char *const NAMES[] = {"$schema",    "workflow", "services", "orders",      "rate", "seed",
                                    "stop_after", "payload",  "results",  "accepted_at", "time", "fail",
                                    "refuse",     "lose",     "finish",   "down",        "when", "signal",
                                    "choice",     "lines",    "never",    NULL};

/* A setting's value; "" with a fault if it is no text. */
static void text_take(struct mg_json_faults *faults, struct mg_slice value, const char *pointer,
                      char ret_text[VALUE_SIZE])
{
    struct mg_buf buf;
    ret_text[0] = '\0';
    mg_buf_init_fixed(&buf, ret_text, VALUE_SIZE);
    if (mg_json_type_of(value) != MG_JSON_STRING) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; a text is expected, as of the option",
                      mg_json_type_name(mg_json_type_of(value)));
    } else if (!mg_json_string(value, &buf) || buf.failed) {
        ret_text[0] = '\0';
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "too long for a value");
    }
}

static void setting_put(struct mg_profile *profile, struct mg_json_faults *faults, enum mg_setting setting,
                        const char *name, struct mg_slice value, const char *pointer)
{
    char text[VALUE_SIZE];
    struct mg_err err;
    text_take(faults, value, pointer, text);
    if (text[0] != '\0' && mg_profile_set(profile, setting, name, text, &err) != MG_OK) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s", err.text);
    }
}

/* A service may be down several times, and signals may have several choices: a list of texts. */
static void values_put(struct mg_profile *profile, struct mg_json_faults *faults, enum mg_setting setting,
                       const char *name, struct mg_slice value, const char *pointer)
{
    struct mg_slice none, element;
    char place[MG_JSON_POINTER_SIZE];
    bool has_several = setting == MG_SETTING_DOWN || setting == MG_SETTING_CHOICE;
    if (!has_several || mg_json_type_of(value) != MG_JSON_ARRAY) {
        setting_put(profile, faults, setting, name, value, pointer);
        return;
    }
    struct mg_json_walk walk = mg_json_walk_of(value);
    for (int i = 0; mg_json_walk_next(&walk, &none, &element); i++) {
        (void)snprintf(place, sizeof(place), "%.*s/%d", MG_JSON_POINTER_SIZE - 16, pointer, i);
        setting_put(profile, faults, setting, name, mg_json_trim(element), place);
    }
}

static void settings_read(struct mg_profile *profile, const struct mg_json_object *object,
                          enum mg_setting setting)
{
    struct mg_slice values = mg_json_get_typed(object, mg_setting_name(setting), MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_slice quoted, value;
    char parent[MG_JSON_POINTER_SIZE], pointer[MG_JSON_POINTER_SIZE], name[VALUE_SIZE];
    if (values.data == NULL) {
        return;
    }
    mg_json_pointer_join(object->pointer, mg_slice_of(mg_setting_name(setting)), parent);
    for (struct mg_json_walk walk = mg_json_walk_of(values); mg_json_walk_next(&walk, &quoted, &value);) {
        mg_json_pointer_join(parent, (struct mg_slice){quoted.data + 1, quoted.len - 2}, pointer);
        text_take(object->faults, quoted, pointer, name);
        if (name[0] != '\0') {
            values_put(profile, object->faults, setting, name, mg_json_trim(value), pointer);
        }
    }
}

static void claims_read(struct mg_profile *profile, const struct mg_json_object *object)
{
    struct mg_slice array = mg_json_get_typed(object, "never", MG_OPTIONAL, MG_JSON_ARRAY);
    struct mg_slice none, value;
    char place[MG_JSON_POINTER_SIZE];
    struct mg_err err;
    const struct mg_expr *expr;
    struct mg_json_walk walk = mg_json_walk_of(array);
    for (int i = 0; array.data != NULL && mg_json_walk_next(&walk, &none, &value); i++) {
        struct mg_buf text;
        (void)snprintf(place, sizeof(place), "/never/%d", i);
        mg_buf_init(&text, MG_EXPR_TEXT_MAX + 1);
        if (!mg_json_string(mg_json_trim(value), &text) || text.failed) {
            mg_json_fault(object->faults, MG_BAD_INPUT, place,
                          "an expression is expected, a text of up to %d bytes", MG_EXPR_TEXT_MAX);
        } else if (mg_claim_compile(profile->workflow, mg_buf_slice(&text), profile->arena, &expr, &err) !=
                       MG_OK ||
                   mg_profile_add_claim(profile, mg_buf_slice(&text), &err) != MG_OK) {
            mg_json_fault(object->faults, err.class == MG_TRANSIENT ? MG_TRANSIENT : MG_BAD_INPUT, place,
                          "%s", err.text);
        }
        mg_buf_finish(&text);
    }
}

static void name_check(const struct mg_profile *profile, const struct mg_json_object *object)
{
    char name[MG_NAME_MAX + 1];
    mg_json_get_name(object, "workflow", MG_REQUIRED, name);
    if (name[0] != '\0' && strcmp(name, profile->workflow->name) != 0) {
        mg_json_member_fault(object, MG_BAD_INPUT, "workflow",
                             "the profile is for workflow \"%s\", and the definition is of \"%s\"", name,
                             profile->workflow->name);
    }
}

static void rate_read(struct mg_profile *profile, const struct mg_json_object *object)
{
    struct mg_slice rate = mg_json_get_typed(object, "rate", MG_OPTIONAL, MG_JSON_NUMBER);
    char text[VALUE_SIZE];
    struct mg_err err;
    if (rate.data == NULL) {
        return;
    }
    (void)snprintf(text, sizeof(text), "%.*s", (int)(rate.len < VALUE_SIZE ? rate.len : VALUE_SIZE - 1),
                   rate.data);
    if (mg_profile_set_rate(profile, text, &err) != MG_OK) {
        mg_json_member_fault(object, MG_BAD_INPUT, "rate", "%s", err.text);
    }
}

static void numbers_read(struct mg_profile *profile, const struct mg_json_object *object)
{
    profile->orders =
        mg_json_get_integer(object, "orders", MG_OPTIONAL, 1, MG_PROFILE_ORDERS_MAX, profile->orders);
    profile->seed = mg_json_get_integer(object, "seed", MG_OPTIONAL, 1, INT64_MAX, profile->seed);
    profile->lines =
        mg_json_get_integer(object, "lines", MG_OPTIONAL, 1, MG_PROFILE_LINES_MAX, profile->lines);
    profile->stop_after_ms =
        mg_json_get_duration(object, "stop_after", MG_WAIT_MAX_MS, profile->stop_after_ms);
    if (mg_json_get(object, "accepted_at", MG_OPTIONAL).data != NULL) {
        profile->accepted_at_ms = mg_json_get_time(object, "accepted_at");
    }
    rate_read(profile, object);
}

static void data_read(struct mg_profile *profile, const struct mg_json_object *object)
{
    struct mg_slice results = mg_json_get_typed(object, "results", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_err err;
    profile->payload = mg_json_get_typed(object, "payload", MG_OPTIONAL, MG_JSON_OBJECT);
    if (results.data != NULL && mg_profile_set_results(profile, results, &err) != MG_OK) {
        mg_json_member_fault(object, MG_BAD_INPUT, "results", "%s", err.text);
    }
}

enum mg_class mg_profile_read(struct mg_profile *profile, struct mg_slice text,
                              const struct mg_mistakes *mistakes, struct mg_err *err)
{
    struct mg_json_object object;
    profile->text = mg_arena_copy(profile->arena, text);
    if (profile->text.data == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read the profile: no memory");
    }
    struct mg_json_faults faults = mg_json_definition_faults(profile->text, mistakes, err);
    if (!mg_json_definition_open(&object, &faults, &LIMITS, NAMES)) {
        return mg_json_faults_end(&faults);
    }
    name_check(profile, &object);
    numbers_read(profile, &object);
    data_read(profile, &object);
    profile->service_count = mg_service_paths_read(&object, profile->services);
    for (int setting = 0; setting < MG_SETTING_COUNT; setting++) {
        settings_read(profile, &object, (enum mg_setting)setting);
    }
    claims_read(profile, &object);
    return mg_json_faults_end(&faults);
}
