/*
 * One order of the benchmark as the broker carried it, message by message, recorded from a run of
 * tests/bench/run. It is of bench.workflow.json: a payload of 1 KB, three calls that are done at once.
 */
#ifndef MG_TESTS_BENCH_RECORDED_H
#define MG_TESTS_BENCH_RECORDED_H

#define RECORDED_STEPS 3
/* The time of the first request, at which the still clock begins, and the time limit of its step. */
#define RECORDED_TIMES "\"complete_by\":\"2026-11-21T19:31:06.548Z\",\"sent_at\":\"2026-11-21T19:30:06.548Z\""

#define RECORDED_ORDER_ID    "01a1ff96-5c4e-7053-a99d-%012d"
#define RECORDED_ID_SIZE     37
#define RECORDED_REPLY_QUEUE "amq.gen-Hu9fG89Ju7vFKrJch6UANw"

#define RECORDED_LETTERS  "abcdefghijklmnopqrstuvwxyz "
#define RECORDED_LETTERS4 RECORDED_LETTERS RECORDED_LETTERS RECORDED_LETTERS RECORDED_LETTERS
#define RECORDED_PAYLOAD                                                                                               \
    "{\"customer\":\"ERNSH\",\"total\":1863.40,\"currency\":\"EUR\",\"note\":\"hijklmnopqrstuvwxyz " RECORDED_LETTERS4 \
        RECORDED_LETTERS4 RECORDED_LETTERS4 RECORDED_LETTERS4 RECORDED_LETTERS4 RECORDED_LETTERS4                      \
            RECORDED_LETTERS4 RECORDED_LETTERS4 RECORDED_LETTERS RECORDED_LETTERS                                      \
    "abcdefghijklmnopqrstuvw\"}"

/* The order. */
#define RECORDED_SUBMISSION "{\"order_id\":\"%.36s\",\"workflow\":\"bench\",\"payload\":" RECORDED_PAYLOAD "}"

/* The order, the step, then order and step of its key, and again; the path; the order. */
#define RECORDED_REQUEST                                                                                     \
    "{\"v\":1,\"order_id\":\"%.36s\",\"step\":\"%s\",\"service\":\"bench\",\"attempt\":1,\"kind\":\"do\","   \
    "\"idempotency_key\":\"%.36s.%s.do\",\"do_key\":\"%.36s.%s.do\"," RECORDED_TIMES ","                     \
    "\"request\":{\"method\":\"POST\",\"path\":\"%s\","                                                      \
    "\"body\":{\"order\":\"%.36s\",\"payload\":" RECORDED_PAYLOAD "}}}"

#define RECORDED_ANSWER "{\"id\":\"remote-1\",\"state\":\"done\"}"

/* The order, the step. */
#define RECORDED_REPLY                                                                                       \
    "{\"v\":1,\"order_id\":\"%.36s\",\"step\":\"%s\",\"attempt\":1,\"kind\":\"do\",\"outcome\":\"done\","    \
    "\"executed\":\"yes\",\"result\":" RECORDED_ANSWER "}"

#endif
