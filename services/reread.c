/* See reread.h. */
#include "reread.h"

#include "base/log.h"

void mg_reread_log_failure(const char *what, const struct mg_err *err)
{
    mg_log(MG_LOG_ERROR, "could not read a file again; its previous contents stay in use",
           MG_LOG_TEXT("what", what), MG_LOG_TEXT("reason", err->text));
}

void mg_reread_log(const char *what, enum mg_class class, const struct mg_err *err)
{
    if (class == MG_OK) {
        mg_log(MG_LOG_INFO, "file read again", MG_LOG_TEXT("what", what));
    } else {
        mg_reread_log_failure(what, err);
    }
}

void mg_reread_secret(struct mg_config *config, const char *name, mg_config_take_fn *take, void *arg)
{
    enum mg_config_reread state = MG_REREAD_NO_FILE;
    struct mg_err err;
    enum mg_class class = mg_config_reread_secret(config, name, take, arg, &state, &err);
    if (class != MG_OK || state != MG_REREAD_NO_FILE) {
        mg_reread_log(name, class, &err);
    }
}
