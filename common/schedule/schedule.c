/* The definition of a schedule. See schedule.h. */
#include "schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"

static const struct mg_json_limits LIMITS = {
    .max_bytes = MG_SCHEDULE_MAX_BYTES, .max_depth = 32, .max_members = 32768, .any_number = true};

static const char *const NAMES[] = {"$schema", "schedule", "workflow", "cron", "every", "zone", "payload",
                                    "overlap", "catch_up", "jitter",   "from", "to",    NULL};
const char *const MG_OVERLAP_WORDS[] = {"skip", "allow", "cancel", "queue", NULL};

static const char *const REFERENCES[] = {"/slot/at", "/slot/date", "/slot/time", "/schedule", NULL};

static bool is_zone(const char *text, size_t len)
{
    static const char ALLOWED[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
    return len > 0 && len <= MG_ZONE_MAX && strspn(text, ALLOWED) == len;
}
#define ZONE_RIGHT "the name of a zone, as in \"Europe/Zurich\" or \"UTC\""

static struct mg_slice unquoted(struct mg_slice quoted)
{
    return (struct mg_slice){quoted.data + 1, quoted.len - 2};
}

static bool has(const struct mg_json_object *object, const char *name)
{
    return mg_json_get(object, name, MG_OPTIONAL).data != NULL;
}

static void cron_read(const struct mg_json_object *object, struct mg_schedule *schedule)
{
    char why[MG_CRON_WHY_SIZE];
    struct mg_slice quoted = mg_json_get_typed(object, "cron", MG_REQUIRED, MG_JSON_STRING);
    if (quoted.data != NULL && quoted.len - 2 > MG_CRON_TEXT_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "cron", "%zu bytes; up to %d are allowed", quoted.len - 2,
                             MG_CRON_TEXT_MAX);
    } else if (quoted.data != NULL && !mg_cron_parse(unquoted(quoted), &schedule->cron, why)) {
        mg_json_member_fault(object, MG_BAD_INPUT, "cron", "%s", why);
    }
    mg_json_get_checked(object, "zone", MG_REQUIRED, is_zone, ZONE_RIGHT, schedule->zone,
                        sizeof(schedule->zone));
}

static void every_read(const struct mg_json_object *object, struct mg_schedule *schedule)
{
    schedule->every_ms = mg_json_get_duration(object, "every", MG_EVERY_MAX_MS, MG_EVERY_MAX_MS);
    if (schedule->every_ms < MG_EVERY_MIN_MS) {
        mg_json_member_fault(object, MG_BAD_INPUT, "every", "is too often; the least is \"10s\"");
    }
    if (has(object, "zone")) {
        mg_json_member_fault(object, MG_BAD_INPUT, "zone",
                             "a length of time is the same in all zones; leave it out, or write \"cron\"");
    }
    (void)snprintf(schedule->zone, sizeof(schedule->zone), "UTC");
}

static void times_read(const struct mg_json_object *object, struct mg_schedule *schedule)
{
    if (has(object, "cron") == has(object, "every")) {
        mg_json_fault(
            object->faults, MG_BAD_INPUT, object->pointer,
            "a schedule has either \"cron\": \"30 2 * * *\" with a \"zone\", or \"every\": \"15m\"");
    } else if (has(object, "cron")) {
        cron_read(object, schedule);
    } else {
        every_read(object, schedule);
    }
}

static int64_t date_read(const struct mg_json_object *object, const char *name, int64_t absent)
{
    struct mg_slice value = mg_json_get(object, name, MG_OPTIONAL);
    if (value.data == NULL || mg_slice_is(value, "null")) {
        return absent;
    }
    struct mg_slice quoted = mg_json_get_typed(object, name, MG_OPTIONAL, MG_JSON_STRING);
    int64_t minute = quoted.data != NULL ? mg_civil_date_parse(unquoted(quoted)) : absent;
    if (minute < 0 && quoted.data != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "is no date; write it as in \"2026-12-01\"");
        return absent;
    }
    return minute;
}

static void dates_read(const struct mg_json_object *object, struct mg_schedule *schedule)
{
    const int64_t day_min = 1440;
    schedule->from_min = date_read(object, "from", INT64_MIN);
    int64_t last = date_read(object, "to", INT64_MAX);
    schedule->to_min = last == INT64_MAX ? last : last + day_min;
    if (schedule->to_min <= schedule->from_min) {
        mg_json_member_fault(object, MG_BAD_INPUT, "to", "lies before \"from\"; the last date is included");
    }
}

/* Of two slots in a row, among the first ones. Dense patterns repeat each day, and others lie further apart.
 */
static int64_t least_distance_ms(const struct mg_cron *cron)
{
    enum { LOOKS = 400 };
    int64_t minute = mg_cron_next(cron, 0), least = INT64_MAX;
    for (int i = 0; i < LOOKS && least > 1; i++) {
        int64_t next = mg_cron_next(cron, minute); /* never NEVER: the dates of four hundred slots come */
        least = next - minute < least ? next - minute : least;
        minute = next;
    }
    return least * 60000;
}

static void policy_read(const struct mg_json_object *object, struct mg_schedule *schedule)
{
    int overlap = mg_json_get_word(object, "overlap", MG_OPTIONAL, MG_OVERLAP_WORDS, MG_BAD_INPUT, 0);
    schedule->overlap = overlap >= 0 ? (enum mg_overlap)overlap : MG_OVERLAP_SKIP;
    schedule->catch_up_ms = mg_json_get_duration(object, "catch_up", MG_CATCH_UP_MAX_MS, MG_CATCH_UP_MS);
    schedule->jitter_ms = mg_json_get_duration(object, "jitter", MG_JITTER_MAX_MS, 0);
    if (schedule->every_ms > 0 && schedule->jitter_ms >= schedule->every_ms) {
        mg_json_member_fault(object, MG_BAD_INPUT, "jitter", "is not shorter than \"every\"");
    } else if (schedule->cron.minutes != 0 && schedule->jitter_ms > 0 &&
               schedule->jitter_ms > least_distance_ms(&schedule->cron)) {
        mg_json_member_fault(
            object, MG_BAD_INPUT, "jitter",
            "is longer than the time from one slot to the next; a slot would wait for the one before");
    }
}

static void reference_check(void *arg, const char *reference)
{
    const struct mg_json_object *object = arg;
    for (int i = 0; REFERENCES[i] != NULL; i++) {
        if (strcmp(reference, REFERENCES[i]) == 0) {
            return;
        }
    }
    mg_json_member_fault(object, MG_BAD_INPUT, "payload",
                         "${%.120s}: a schedule knows ${/slot/at}, ${/slot/date}, ${/slot/time} and "
                         "${/schedule} only; write \"$${\" for a plain \"${\"",
                         reference);
}

/* Strings are templates, at any depth; names of members are not. */
static void strings_check(struct mg_json_object *object, struct mg_slice value)
{
    struct mg_slice name, inner;
    struct mg_err err;
    enum mg_json_type type = mg_json_type_of(value);
    if (type == MG_JSON_STRING) {
        enum mg_class class = mg_template_scan(value, reference_check, object, &err);
        if (class != MG_OK) {
            mg_json_member_fault(object, class, "payload", "%s", err.text);
        }
    }
    if (type != MG_JSON_OBJECT && type != MG_JSON_ARRAY) {
        return;
    }
    struct mg_json_walk walk = mg_json_walk_of(value);
    while (mg_json_walk_next(&walk, &name, &inner)) { /* as deep as LIMITS allow */
        strings_check(object, mg_json_trim(inner));
    }
}

static void payload_read(struct mg_json_object *object, struct mg_schedule *schedule)
{
    struct mg_err err;
    struct mg_slice payload = mg_json_get_typed(object, "payload", MG_OPTIONAL, MG_JSON_OBJECT);
    if (payload.data == NULL) {
        payload = mg_slice_of("{}");
    }
    strings_check(object, payload);
    if (object->faults->class != MG_OK) {
        return;
    }
    enum mg_class class =
        mg_template_compile(payload, MG_TEMPLATE_JSON, schedule->arena, &schedule->payload, &err);
    if (class != MG_OK) {
        mg_json_member_fault(object, class, "payload", "%s", err.text);
    }
}

static void schedule_read(struct mg_schedule *schedule, struct mg_json_faults *faults)
{
    struct mg_json_object object;
    if (!mg_json_definition_open(&object, faults, &LIMITS, NAMES)) {
        return;
    }
    (void)mg_json_get_typed(&object, "$schema", MG_OPTIONAL, MG_JSON_STRING); /* for editors */
    mg_json_get_name(&object, "schedule", MG_REQUIRED, schedule->name);
    mg_json_get_name(&object, "workflow", MG_REQUIRED, schedule->workflow);
    times_read(&object, schedule);
    dates_read(&object, schedule);
    policy_read(&object, schedule);
    payload_read(&object, schedule);
}

enum mg_class mg_schedule_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                                struct mg_schedule **ret_schedule, struct mg_err *err)
{
    struct mg_schedule *schedule = calloc(1, sizeof(*schedule));
    if (schedule != NULL) { /* a reference of a few bytes becomes a piece of the template */
        schedule->arena = mg_arena_create(64 * text.len + 4096);
        schedule->text = schedule->arena != NULL ? mg_arena_copy(schedule->arena, text) : schedule->text;
    }
    if (schedule == NULL || schedule->text.data == NULL) {
        mg_schedule_destroy(schedule);
        return mg_err_set(err, MG_TRANSIENT, "could not read a schedule of %zu bytes: no memory", text.len);
    }
    struct mg_json_faults faults = mg_json_definition_faults(schedule->text, mistakes, err);
    schedule_read(schedule, &faults);
    if (faults.class != MG_OK) {
        mg_schedule_destroy(schedule); /* with the text that has the places */
        return mg_json_faults_end(&faults);
    }
    *ret_schedule = schedule;
    return MG_OK;
}

void mg_schedule_destroy(struct mg_schedule *schedule)
{
    if (schedule != NULL) {
        mg_arena_destroy(schedule->arena);
        free(schedule);
    }
}
