/* Files that a process reads again at SIGHUP, and their lines in the log. `what` names one for people:
 * "amqp-url", "tokens-file". */
#ifndef MG_REREAD_H
#define MG_REREAD_H

#include "base/config.h"

/* The file could not be used, so its previous contents stay in use. */
void mg_reread_log_failure(const char *what, const struct mg_err *err);
/* Logs the result of reading a file. `err` counts only if the class is not MG_OK. */
void mg_reread_log(const char *what, enum mg_class class, const struct mg_err *err);
/* Reads the file of the secret `name` (mg_config_reread_secret) and logs the result. Without a file it does
 * nothing. */
void mg_reread_secret(struct mg_config *config, const char *name, mg_config_take_fn *take, void *arg);

#endif
