/* See suspects.h. */
#include "core/suspects.h"

#include <assert.h>
#include <string.h>

enum mg_suspicion mg_suspects_judge(uint32_t delivery_count)
{
    if (delivery_count < MG_SUSPECT_COUNT) {
        return MG_SUSPECT_NOT;
    }
    return delivery_count < MG_ISOLATED_COUNT ? MG_SUSPECT_BESIDE : MG_SUSPECT_ISOLATED;
}

bool mg_suspects_came(struct mg_suspects *suspects, int consumer, enum mg_suspicion suspicion)
{
    assert(consumer >= 0 && consumer < MG_SUSPECT_CONSUMERS_MAX);
    if (suspicion == MG_SUSPECT_NOT) {
        bool is_new = suspects->in_hand == 0 && !suspects->is_trusted[consumer];
        suspects->is_trusted[consumer] = suspects->is_trusted[consumer] || is_new;
        return is_new;
    }
    memset(suspects->is_trusted, 0, sizeof(suspects->is_trusted));
    suspects->isolated += suspicion == MG_SUSPECT_ISOLATED ? 1 : 0;
    return ++suspects->in_hand == 1 || (suspicion == MG_SUSPECT_ISOLATED && suspects->isolated == 1);
}

bool mg_suspects_ended(struct mg_suspects *suspects, enum mg_suspicion suspicion)
{
    if (suspicion == MG_SUSPECT_NOT) {
        return false;
    }
    assert(suspects->in_hand > 0);
    suspects->in_hand--;
    return suspicion == MG_SUSPECT_ISOLATED && --suspects->isolated == 0;
}

uint16_t mg_suspects_prefetch(const struct mg_suspects *suspects, int consumer, uint16_t prefetch)
{
    if (suspects->isolated > 0) {
        return 0;
    }
    return suspects->is_trusted[consumer] || prefetch == 0 ? prefetch : 1;
}
