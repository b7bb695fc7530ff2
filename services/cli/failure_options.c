/* Which failures are meant: see failure_options.h. */
#include "failure_options.h"

#include <string.h>

#include "core/key.h"

/* What a person means by a part of an error. */
#define ERROR_MAX_BYTES 255

const char *option_text(const char *text)
{
    return text != NULL ? text : "";
}

static enum exit_code moment_read(const char *option, const char *text, char ret_number[MOMENT_SIZE])
{
    if (!moment_parse(option_text(text), ret_number)) {
        return cli_fail(EXIT_USAGE, "--%s %.80s: expected " MOMENT_RIGHT, option, text);
    }
    return EXIT_DONE;
}

static enum exit_code services_read(const struct mg_list *list, char ret_text[SERVICES_MAX_BYTES])
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < list->count; i++) {
        const char *name = list->items[i];
        if (!mg_name_is_valid(name, strlen(name)) || len + strlen(name) + 2 > SERVICES_MAX_BYTES) {
            return cli_fail(EXIT_USAGE, "--service %.80s: it is no service's name, or there are too many",
                            name);
        }
        len += (size_t)snprintf(ret_text + len, SERVICES_MAX_BYTES - len, "%s%s", i > 0 ? " " : "", name);
    }
    return EXIT_DONE;
}

enum exit_code failure_options_read(const struct cli *cli, struct failure_options *ret)
{
    const struct cli_options *options = &cli->options;
    ret->filter = (struct mg_failure_filter){.workflow = option_text(options->workflow),
                                             .step = option_text(options->step),
                                             .error = option_text(options->error),
                                             .services = ret->services,
                                             .since = ret->since,
                                             .until = ret->until};
    if (strlen(ret->filter.error) > ERROR_MAX_BYTES || strlen(ret->filter.workflow) > MG_NAME_MAX ||
        strlen(ret->filter.step) > MG_NAME_MAX) {
        return cli_fail(EXIT_USAGE, "--workflow, --step and --error: up to %d, %d and %d bytes", MG_NAME_MAX,
                        MG_NAME_MAX, ERROR_MAX_BYTES);
    }
    enum exit_code code = services_read(&options->services, ret->services);
    if (code == EXIT_DONE) {
        code = moment_read("since", options->since, ret->since);
    }
    if (code == EXIT_DONE) {
        code = moment_read("until", options->until, ret->until);
    }
    return code;
}
