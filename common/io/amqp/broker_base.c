/* See broker_base.h. */
#include "io/amqp/broker_base.h"

void mg_broker_enter(struct mg_broker_base *base)
{
    base->busy++;
}

void mg_broker_leave(struct mg_broker_base *base)
{
    if (--base->busy == 0 && base->is_closing) {
        base->ended(base->arg);
    }
}
