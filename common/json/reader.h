/*
 * Reading the members of one object into a struct. Every mistake is reported with its JSON pointer and a
 * valid form. Getters return no errors: mistakes are collected in `struct mg_json_faults`, and the caller
 * checks once, at the end. So a message's file is a list of its members. The text has passed mg_json_check.
 */
#ifndef MG_JSON_READER_H
#define MG_JSON_READER_H

#include "json/json.h"
#include "json/scan.h"
#include "json/word_lists.h"

/* Longest pointer in a message; a longer one is cut, only in the message. */
#define MG_JSON_POINTER_SIZE 256
/* Of one mistake; with place and pointer in front it still fits struct mg_err. */
#define MG_FAULT_TEXT_SIZE 400

struct mg_json_faults {
    struct mg_err *err;                 /* the first mistake; MG_BAD_INPUT takes precedence over MG_STALE */
    const struct mg_mistakes *mistakes; /* receives all mistakes; NULL: none */
    struct mg_slice text;               /* of a definition */
    struct mg_json_place (*place)(const struct mg_json_faults *faults, const char *pointer, const char *at);
    enum mg_class class; /* MG_OK: none so far */
    int count, named;    /* named: in `err` */
    bool is_newer;       /* "v" is above the known version: other apparent mistakes may be valid there */
};

/* A reader of the report needs no more. The search of the nearest name costs time that a hostile text must
 * not multiply. */
#define MG_JSON_FAULTS_MAX 100
/* True once further mistakes are only counted, not reported. */
bool mg_json_faults_are_many(const struct mg_json_faults *faults);

void mg_json_fault(struct mg_json_faults *faults, enum mg_class class, const char *pointer,
                   const char *format, ...) MG_PRINTF(4, 5);
/* A mistake whose place in the definition is not where the value at `pointer` begins, but `at`. `pointer` is
 * NULL if the text is no JSON. */
void mg_json_fault_at(struct mg_json_faults *faults, enum mg_class class, const char *pointer, const char *at,
                      const char *format, ...) MG_PRINTF(5, 6);

#define MG_JSON_NAMES_MAX 24 /* members of the largest known object */

struct mg_json_object {
    struct mg_json_faults *faults;
    char pointer[MG_JSON_POINTER_SIZE];
    const char *const *names;                  /* NULL-ended, as given to open */
    struct mg_slice values[MG_JSON_NAMES_MAX]; /* by index in names; absent if the object lacks the member */
};

enum mg_json_unknown {
    MG_JSON_UNKNOWN_IGNORED, /* messages: a newer sender may add members */
    MG_JSON_UNKNOWN_REFUSED, /* submissions and definitions: a misspelt name must not be lost */
};

/* False, with a fault, if `value` is not an object; then no getter may be called. */
bool mg_json_object_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                         struct mg_slice value, const char *pointer, const char *const *names,
                         enum mg_json_unknown unknown);

/* Puts "(and 3 more)" after the first mistake, and returns the class. */
enum mg_class mg_json_faults_end(struct mg_json_faults *faults);

/* Checks a body and opens it as an object: the start of every message parser. */
bool mg_json_message_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                          struct mg_slice body, const struct mg_json_limits *limits, const char *const *names,
                          enum mg_json_unknown unknown);
/* A definition's mistakes have line and column; those of a message have no `place`. */
struct mg_json_faults mg_json_definition_faults(struct mg_slice text, const struct mg_mistakes *mistakes,
                                                struct mg_err *err);
/* Opens a definition as a message; all its mistakes of syntax are reported, and unknown members. */
bool mg_json_definition_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                             const struct mg_json_limits *limits, const char *const *names);
/* Checks the member "v" of a message: 1. A higher version is MG_STALE: the message is left for a newer
 * instance. */
void mg_json_version_check(const struct mg_json_object *object);
/* The same for a message with versions up to `newest`; returns the given one. */
int mg_json_get_version(const struct mg_json_object *object, int newest);

/* Writes "<pointer>/<name>", the name escaped by RFC 6901. */
void mg_json_pointer_join(const char *pointer, struct mg_slice name, char ret_pointer[MG_JSON_POINTER_SIZE]);
void mg_json_member_fault(const struct mg_json_object *object, enum mg_class class, const char *name,
                          const char *format, ...) MG_PRINTF(4, 5);

enum mg_json_need { MG_OPTIONAL, MG_REQUIRED };

/* The value's bytes in the text; absent, with a fault if required, if there is no such member. */
struct mg_slice mg_json_get(const struct mg_json_object *object, const char *name, enum mg_json_need need);
/* The same, with a fault if the type differs. */
struct mg_slice mg_json_get_typed(const struct mg_json_object *object, const char *name,
                                  enum mg_json_need need, enum mg_json_type type);

/* Text for people: cut at a character's boundary if it does not fit. "" if absent. */
void mg_json_get_text(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      char *ret_text, size_t size);
/* A string that must fit whole and pass `is_valid`; `right` describes a valid value. "" if absent. */
void mg_json_get_checked(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                         bool (*is_valid)(const char *text, size_t len), const char *right, char *ret_text,
                         size_t size);
void mg_json_get_name(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      char *ret_name); /* MG_NAME_MAX + 1 bytes */
void mg_json_get_order_id(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                          char *ret_id); /* MG_ORDER_ID_MAX + 1 bytes */
int64_t mg_json_get_integer(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                            int64_t min, int64_t max, int64_t absent);
double mg_json_get_number(const struct mg_json_object *object, const char *name, double above, double max,
                          double absent);
bool mg_json_get_bool(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      bool absent);
/* "250ms", "15m": at least 1 ms. */
int64_t mg_json_get_duration(const struct mg_json_object *object, const char *name, int64_t max_ms,
                             int64_t absent_ms);
/* RFC 3339 in UTC, "2026-01-31T12:34:56.789Z", as milliseconds since 1970. Required. */
int64_t mg_json_get_time(const struct mg_json_object *object, const char *name);
/* The index of a word in a NULL-ended list. A word outside the list is a fault of class `unknown`: MG_STALE
 * if a newer version may send it, MG_BAD_INPUT if a person wrote it. -1 with a fault, `absent` if absent. */
int mg_json_get_word(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                     const char *const *words, enum mg_class unknown, int absent);
int mg_json_word_of(const struct mg_json_object *object, const char *name, struct mg_slice value,
                    const char *const *words, enum mg_class unknown);

/* The nearest name in a NULL-ended list; NULL if none is near. */
const char *mg_json_nearest(const char *const *names, struct mg_slice name);

#endif
