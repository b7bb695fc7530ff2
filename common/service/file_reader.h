/* Parts of the service file's parser that have files of their own. Private to common/service. */
#ifndef MG_SERVICE_FILE_READER_H
#define MG_SERVICE_FILE_READER_H

#include "json/reader.h"
#include "service/service.h"

/* A string member as malloced text; NULL if absent or at fault. "" is a fault: no member of a service file
 * may be empty. */
char *mg_service_read_text(const struct mg_json_object *object, const char *name, enum mg_json_need need);

/* A member that is an object with these names; false if it is absent or at fault. */
bool mg_service_open_part(const struct mg_json_object *object, const char *name, const char *const *names,
                          struct mg_json_object *ret_part);
/* The fault of a header's value, or NULL. */
const char *mg_service_value_fault(struct mg_slice value);

/* The only line of a secret's file, mounted or written by hand: printable ASCII, without the line's end.
 * Never blocks on a FIFO, because the agent may be running. `what` it is: "the header's value". */
enum mg_class mg_service_read_secret(const char *path, const char *what, char **ret_value,
                                     struct mg_err *err) MG_MUSTCHECK;

void mg_service_read_headers(const struct mg_json_object *object, struct mg_service *service);
/* auth.c: the members key and auth. After the headers, which must not repeat one of theirs. */
void mg_service_read_key(const struct mg_json_object *object, struct mg_service *service);
void mg_service_read_auth(const struct mg_json_object *object, struct mg_service *service);
void mg_service_auth_finish(struct mg_auth *auth);
void mg_service_read_answers(const struct mg_json_object *object, struct mg_service *service);
void mg_service_read_error(const struct mg_json_object *object, struct mg_service *service);
void mg_service_error_free(struct mg_service *service);

#endif
