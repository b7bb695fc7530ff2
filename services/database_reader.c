/* See database_reader.h. */
#include "database_reader.h"

#include "base/log.h"

static void store_changed(void *arg, bool is_up, const char *reason)
{
    (void)arg;
    if (is_up) {
        mg_log(MG_LOG_INFO, "database up", MG_LOG_NONE);
    } else {
        mg_log(MG_LOG_WARN, "database down", MG_LOG_TEXT("reason", reason));
    }
}

static void store_refused(void *arg, const char *reason)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
}

enum mg_class mg_reader_open(const struct mg_process *process, const struct mg_reader *reader,
                             struct mg_store **ret_store, struct mg_store **ret_beside, struct mg_err *err)
{
    struct mg_store_options options = {.dsn = process->options.pg_dsn,
                                       .name = reader->name,
                                       .is_plaintext_allowed = process->options.broker.is_plaintext_allowed,
                                       .is_unsafe_durability_allowed = true, /* it moves no orders */
                                       .statement_timeout = reader->timeout,
                                       .is_reader = true,
                                       .metrics = process->metrics,
                                       .on_state = store_changed,
                                       .on_refused = store_refused};
    enum mg_class class = mg_store_create(process->loop, &options, ret_store, err);
    /* Both reach the same server, so only the first one logs its state. */
    options.name = reader->beside_name;
    options.is_reader = false;
    options.statement_timeout = reader->beside_timeout;
    options.on_state = NULL;
    options.on_refused = NULL;
    return class == MG_OK ? mg_store_create(process->loop, &options, ret_beside, err) : class;
}
