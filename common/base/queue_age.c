/* The bound of a queue's age, see queue_age.h. The first look in the list gives the bound. */
#include "base/queue_age.h"

/* Drops every other look, but never the first and the last. */
static void looks_thin(struct mg_queue_age *age)
{
    int kept = 1;
    for (int i = 2; i < age->count; i += 2) {
        age->looks[kept++] = age->looks[i];
    }
    if (age->count % 2 == 0) {
        age->looks[kept++] = age->looks[age->count - 1];
    }
    age->count = kept;
}

/* Drops the looks before the youngest one that has lost all its messages; they are obsolete. */
static void looks_pass(struct mg_queue_age *age, int64_t taken)
{
    int passed = 0;
    for (int i = 0; i < age->count; i++) {
        if (taken >= age->looks[i].gone_at) {
            passed = i;
            age->is_known = true;
        }
    }
    for (int i = passed; i < age->count; i++) {
        age->looks[i - passed] = age->looks[i];
    }
    age->count -= passed;
}

int64_t mg_queue_age_look(struct mg_queue_age *age, int64_t now_ms, int64_t depth, int64_t taken,
                          int64_t unsure)
{
    if (depth <= 0) { /* every later message is younger than this */
        age->looks[0] = (struct mg_queue_look){now_ms, taken};
        age->count = 1;
        age->is_known = true;
        return 0;
    }
    looks_pass(age, taken);
    if (age->count == MG_QUEUE_LOOKS_MAX) {
        looks_thin(age);
    }
    age->looks[age->count++] = (struct mg_queue_look){now_ms, taken + depth + unsure};
    return now_ms - age->looks[0].at_ms;
}
