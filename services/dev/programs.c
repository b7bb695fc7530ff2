/* Makegood's own processes: see dev_run.h. */
#include <signal.h>
#include <stdio.h>

#include "dev_run.h"
#include "doors.h"

static void option_env(struct mg_part *part, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        mg_child_env(mg_part_words(part), "MAKEGOOD_%s=%s", name, value);
    }
}

/* A part that knows the servers; `program` in the folder of programs. NULL: no memory. */
static struct mg_part *part_make(struct mg_dev *dev, const char *name, const char *program,
                                 enum mg_part_rank rank, bool has_store)
{
    struct mg_part *part = mg_part_add(dev->parts, name, rank, SIGTERM);
    if (part == NULL) {
        return NULL;
    }
    mg_child_word(mg_part_words(part), "%s/%s", dev->options->programs, program);
    option_env(part, "AMQP_URL", dev->broker.url);
    option_env(part, "AMQP_CA_FILE", dev->broker.tls.ca_file);
    option_env(part, "AMQP_CERT_FILE", dev->broker.tls.cert_file);
    option_env(part, "AMQP_KEY_FILE", dev->broker.tls.key_file);
    option_env(part, "ALLOW_PLAINTEXT", dev->options->broker.is_plaintext_allowed ? "true" : "");
    option_env(part, "PG_DSN", has_store ? dev->dsn : "");
    return part;
}

static struct mg_part *service_make(struct mg_dev *dev, const char *name, const char *program, bool has_store)
{
    struct mg_part *part = part_make(dev, name, program, MG_PART_SERVICE, has_store);
    if (part != NULL) {
        mg_child_word(mg_part_words(part), "--http");
        mg_child_word(mg_part_words(part), "127.0.0.1:0");
    }
    return part;
}

static struct mg_part *door_make(struct mg_dev *dev, const char *verb, const char *listen, const char *tokens)
{
    struct mg_part *part = part_make(dev, verb, "makegood", MG_PART_DOOR, true);
    if (part != NULL) {
        mg_child_word(mg_part_words(part), "%s", verb);
        mg_child_word(mg_part_words(part), "--listen");
        mg_child_word(mg_part_words(part), "%s", listen);
        mg_child_word(mg_part_words(part), "--tokens-file");
        mg_child_word(mg_part_words(part), "%s/%s", dev->state.path, tokens);
    }
    return part;
}

static struct mg_part *gateway_make(struct mg_dev *dev)
{
    struct mg_part *part = door_make(dev, "gateway", dev->options->gateway, MG_DOORS_GATEWAY_TOKENS);
    if (part != NULL && dev->options->webhook_url[0] != '\0') {
        mg_child_word(mg_part_words(part), "--webhooks-file");
        mg_child_word(mg_part_words(part), "%s/%s", dev->state.path, MG_DOORS_WEBHOOKS);
    }
    return part;
}

static enum mg_class part_begin(struct mg_part *part, struct mg_err *err)
{
    return part != NULL ? mg_part_start(part, MG_PART_NOTIFIES, err)
                        : mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
}

enum mg_class mg_dev_start_agent(struct mg_dev *dev, const struct mg_dev_service *service, struct mg_err *err)
{
    char name[MG_NAME_MAX + 8];
    (void)snprintf(name, sizeof(name), "agent-%s", service->name);
    struct mg_part *agent = service_make(dev, name, "makegood-agent", false);
    if (agent != NULL) {
        mg_child_word(mg_part_words(agent), "--service");
        mg_child_word(mg_part_words(agent), "%s", service->file);
    }
    return part_begin(agent, err);
}

enum mg_class mg_dev_start_programs(struct mg_dev *dev, struct mg_err *err)
{
    enum mg_class class = part_begin(service_make(dev, "scheduler", "makegood-scheduler", true), err);
    if (class == MG_OK) {
        class = part_begin(service_make(dev, "supervisor", "makegood-supervisor", true), err);
    }
    for (int i = 0; i < dev->services.count && class == MG_OK; i++) {
        class = mg_dev_start_agent(dev, &dev->services.items[i], err);
    }
    if (class == MG_OK) {
        class = part_begin(gateway_make(dev), err);
    }
    return class == MG_OK
               ? part_begin(door_make(dev, "console", dev->options->console, MG_DOORS_CONSOLE_TOKENS), err)
               : class;
}
