/* Parts of the service file's parser that have files of their own. Private to common/wire. */
#ifndef MG_WIRE_SERVICE_READ_H
#define MG_WIRE_SERVICE_READ_H

#include "wire/json_reader.h"
#include "wire/service.h"

/* A string member as malloced text; NULL if absent or at fault. "" is a fault: no member of a service file
 * may be empty. */
char *mg_service_read_text(const struct mg_json_object *object, const char *name, enum mg_json_need need);

void mg_service_read_headers(const struct mg_json_object *object, struct mg_service *service);
void mg_service_read_answers(const struct mg_json_object *object, struct mg_service *service);

#endif
