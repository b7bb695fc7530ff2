/* The access token of a service, as its executor has it; a service without one needs none. */
#include "agent.h"

static const struct mg_token_source *source_of(const struct mg_served *served)
{
    return served->agent->executor->tokens;
}

bool mg_served_has_token(struct mg_served *served)
{
    const struct mg_token_source *source = source_of(served);
    return source == NULL || source->is_ready(served);
}

bool mg_served_is_token_coming(const struct mg_served *served)
{
    const struct mg_token_source *source = source_of(served);
    return source != NULL && source->is_coming(served);
}

const char *mg_served_token_fault(const struct mg_served *served)
{
    const struct mg_token_source *source = source_of(served);
    return source == NULL ? "" : source->fault(served);
}
