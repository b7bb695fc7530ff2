/* Traces: the parts read from a header, the derived identities, and the sampled traces. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/trace.h"
#include "suite.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static bool parse(const char *text, struct mg_trace *ret_trace)
{
    return mg_trace_parse(mg_slice_of(text), ret_trace);
}

/* Catches: a context that does not arrive as it was sent. The example is the recommendation's own. */
START_TEST(a_traceparent_is_read_and_written)
{
    struct mg_trace trace;
    char text[MG_TRACEPARENT_SIZE];
    ck_assert(parse("00-" TRACE "-" PARENT "-01", &trace));
    ck_assert_uint_eq(trace.flags, MG_TRACE_SAMPLED);
    ck_assert_uint_eq(trace.trace_id[0], 0x0a);
    ck_assert_uint_eq(trace.parent_id[7], 0x31);
    mg_trace_write(&trace, text);
    ck_assert_str_eq(text, "00-" TRACE "-" PARENT "-01");
    ck_assert(parse("00-" TRACE "-" PARENT "-00", &trace));
    ck_assert_uint_eq(trace.flags, 0);
}
END_TEST

/* Catches: an invalid context taken for a valid one, so that spans of strangers come together. */
START_TEST(a_text_that_is_no_traceparent_is_left)
{
    static const char *const BAD[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT,            /* no flags */
        "00-" TRACE "-" PARENT "-0",       /* half of them */
        "00-" TRACE "-" PARENT "-01-",     /* 00 ends after its flags */
        "00-" TRACE "-" PARENT "-01-more", /* so it has no more */
        "00-" TRACE "-" PARENT "-011",     /* one digit too many */
        "01-" TRACE "-" PARENT "-01more",  /* nor has any version without a dash */
        "ff-" TRACE "-" PARENT "-01",      /* forbidden */
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", /* capitals */
        "00-" TRACE "-" PARENT "-0G",
        "0x-" TRACE "-" PARENT "-01",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        " 00-" TRACE "-" PARENT "-01",
        "00-" TRACE "-" PARENT "-01 ",
    };
    struct mg_trace before, trace;
    memset(&before, 0x5a, sizeof(before));
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        trace = before;
        ck_assert_msg(!parse(BAD[i], &trace), "\"%s\" was taken", BAD[i]);
        ck_assert_mem_eq(&trace, &before, sizeof(trace));
    }
    ck_assert(!mg_trace_parse((struct mg_slice){NULL, 0}, &trace));
    ck_assert(!mg_trace_parse((struct mg_slice){"00-" TRACE "-" PARENT "-01", 54}, &trace)); /* cut */
}
END_TEST

/* Catches: a later version that breaks traces; unknown flags of it that are passed on. */
START_TEST(of_a_later_version_what_00_knows_is_taken)
{
    struct mg_trace trace;
    char text[MG_TRACEPARENT_SIZE];
    ck_assert(parse("cc-" TRACE "-" PARENT "-03-what-else", &trace));
    mg_trace_write(&trace, text);
    ck_assert_str_eq(text, "00-" TRACE "-" PARENT "-03");
    ck_assert(parse("01-" TRACE "-" PARENT "-fd", &trace));
    mg_trace_write(&trace, text);
    ck_assert_str_eq(text, "00-" TRACE "-" PARENT "-01");
}
END_TEST

/* Catches: another derivation, by which instances of two versions put one order into two traces. */
START_TEST(identities_are_derived_and_stay_so)
{
    struct mg_trace trace;
    uint8_t id[MG_SPAN_ID_SIZE];
    char text[2 * MG_TRACE_ID_SIZE + 1];
    mg_trace_of_order("o1", &trace);
    *mg_hex_write(trace.trace_id, MG_TRACE_ID_SIZE, text) = '\0';
    ck_assert_str_eq(text, "2352da7280f1decc3acf1ba84eb945c9"); /* sha256sum of "o1" */
    ck_assert_uint_eq(trace.flags, 0);
    mg_span_id("order", "o1", id);
    *mg_hex_write(id, sizeof(id), text) = '\0';
    ck_assert_str_eq(text, "5826ace2448d39d6"); /* of "order/o1" */
    mg_span_id("attempt", "o1.reserve.1.do", id);
    *mg_hex_write(id, sizeof(id), text) = '\0';
    ck_assert_str_eq(text, "488d6ad1479ac5af"); /* of "attempt/o1.reserve.1.do" */
}
END_TEST

/* Catches: a share read as another, above all 0 as everything. */
START_TEST(a_share_is_a_number_from_0_to_1)
{
    static const struct {
        const char *share;
        uint64_t threshold;
    } GOOD[] = {{"0", UINT64_C(1) << 56},
                {"0.0", UINT64_C(1) << 56},
                {"1", 0},
                {"1.0", 0},
                {"0.5", UINT64_C(1) << 55},
                {"0.25", UINT64_C(3) << 54},
                {"00.5", UINT64_C(1) << 55}};
    static const char *const BAD[] = {"",     ".",   ".5",   "1.",   "1.1", "2",  "-1",
                                      "0.5x", "0,5", "1e-2", "0..1", " 1",  "nan"};
    uint64_t threshold;
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        ck_assert_msg(mg_trace_threshold_parse(GOOD[i].share, &threshold), "%s", GOOD[i].share);
        ck_assert_uint_eq(threshold, GOOD[i].threshold);
    }
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        ck_assert_msg(!mg_trace_threshold_parse(BAD[i], &threshold), "\"%s\" was taken", BAD[i]);
    }
}
END_TEST

/* Catches: a choice by other bits than those of the standard, or a share that is not kept. */
START_TEST(traces_are_chosen_by_their_last_56_bits)
{
    struct mg_trace trace = {.flags = 0};
    uint64_t none, half, all;
    ck_assert(mg_trace_threshold_parse("0", &none) && mg_trace_threshold_parse("0.5", &half) &&
              mg_trace_threshold_parse("1", &all));
    memset(trace.trace_id, 0xff, 9); /* these do not count */
    ck_assert(mg_trace_is_chosen(&trace, all) && !mg_trace_is_chosen(&trace, half));
    trace.trace_id[9] = 0x80;
    ck_assert(mg_trace_is_chosen(&trace, half) && !mg_trace_is_chosen(&trace, none));
    memset(trace.trace_id, 0xff, MG_TRACE_ID_SIZE);
    ck_assert(!mg_trace_is_chosen(&trace, none));
    uint64_t tenth;
    int chosen = 0;
    ck_assert(mg_trace_threshold_parse("0.1", &tenth));
    for (int i = 0; i < 10000; i++) {
        char order_id[32];
        (void)snprintf(order_id, sizeof(order_id), "order-%d", i);
        mg_trace_of_order(order_id, &trace);
        chosen += mg_trace_is_chosen(&trace, tenth) ? 1 : 0;
    }
    ck_assert_int_gt(chosen, 850); /* 1000, five times its deviation; the ids are always the same */
    ck_assert_int_lt(chosen, 1150);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *tests = tcase_create("trace");
    tcase_add_test(tests, a_traceparent_is_read_and_written);
    tcase_add_test(tests, a_text_that_is_no_traceparent_is_left);
    tcase_add_test(tests, of_a_later_version_what_00_knows_is_taken);
    tcase_add_test(tests, identities_are_derived_and_stay_so);
    tcase_add_test(tests, a_share_is_a_number_from_0_to_1);
    tcase_add_test(tests, traces_are_chosen_by_their_last_56_bits);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
