/*
 * Outside input of traces: a client's traceparent, and a collector's answer. The input is either. An accepted
 * context keeps the identities of its text. An accepted answer yields a number in range.
 */
#include "base/trace.h"
#include "fuzz.h"
#include "wire/otlp.h"

static void try_context(struct mg_slice text)
{
    struct mg_trace trace, again;
    char written[MG_TRACEPARENT_SIZE];
    FUZZ_POISON(trace);
    if (!mg_trace_parse(text, &trace)) {
        FUZZ_POISON(again);
        FUZZ_REQUIRE(memcmp(&trace, &again, sizeof(trace)) == 0);
        return;
    }
    FUZZ_REQUIRE(text.len >= MG_TRACEPARENT_SIZE - 1 && memcmp(text.data, "ff", 2) != 0);
    mg_trace_write(&trace, written);
    FUZZ_REQUIRE(strlen(written) == MG_TRACEPARENT_SIZE - 1 && memcmp(written, "00-", 3) == 0);
    FUZZ_REQUIRE(memcmp(written + 3, text.data + 3, 50) ==
                 0); /* both identities, and the character between them */
    FUZZ_REQUIRE(strstr(written, "-0000000000000000-") == NULL);
    FUZZ_REQUIRE(mg_trace_parse(mg_slice_of(written), &again));
    FUZZ_REQUIRE(memcmp(trace.trace_id, again.trace_id, sizeof(trace.trace_id)) == 0);
    FUZZ_REQUIRE(memcmp(trace.parent_id, again.parent_id, sizeof(trace.parent_id)) == 0);
    FUZZ_REQUIRE(trace.flags == again.flags && trace.flags <= (MG_TRACE_SAMPLED | MG_TRACE_RANDOM));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mg_slice text = {(const char *)data, size};
    try_context(text);
    int64_t rejected = mg_otlp_read_rejected(text);
    FUZZ_REQUIRE(rejected >= 0 && rejected <= INT64_C(10) * INT32_MAX + 9);
    return 0;
}
