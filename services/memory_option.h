/* The option that bounds the memory for messages: a row in the option table of each program that holds
 * messages. */
#ifndef MG_SERVICES_MEMORY_OPTION_H
#define MG_SERVICES_MEMORY_OPTION_H

#include "base/config.h"
#include "base/memory.h"

#define MG_MEMORY_OPTION_HELP                                                                                \
    "memory for messages and the data built from them, 16 MiB or more; 0: half of the limit of the control " \
    "group or of the machine, at most 512 MiB"
/* clang-format off */
#define MG_MEMORY_OPTION(variable)                                                                           \
    {.name = "memory-budget", .type = MG_OPTION_INTEGER, .target = &(variable), .default_value = "0",        \
     .min = 0, .max = INT64_C(1) << 40, .value_name = "BYTES",                                               \
     .help = MG_MEMORY_OPTION_HELP}
/* clang-format on */

/* MG_BAD_INPUT: too little for one message. */
enum mg_class mg_memory_option_check(int64_t asked, size_t *ret_bytes, struct mg_err *err) MG_MUSTCHECK;

#endif
