/* Messages of a newer version: hold, give back, or set aside. */
#include "core/newer.h"

enum mg_newer mg_newer_judge(uint32_t given_count, int held, int prefetch, uint32_t at_once_max)
{
    int room = prefetch / MG_NEWER_SHARE > 0 ? prefetch / MG_NEWER_SHARE : 1;
    if (given_count >= MG_NEWER_DELIVERIES_MAX) {
        return MG_NEWER_SET_ASIDE;
    }
    if (held < room) {
        return MG_NEWER_HOLD;
    }
    return given_count < at_once_max ? MG_NEWER_GIVE_BACK : MG_NEWER_SET_ASIDE;
}
