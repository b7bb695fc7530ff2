/*
 * Bounds of the model, read by Spin and by the C compiler; `run` sets the values of a configuration. Below
 * the bounds: the properties that can break.
 */
#ifndef ATTEMPTS
#define ATTEMPTS 2 /* of a do and, again, of an undo */
#endif
#ifndef CRASHES
#define CRASHES 1 /* of schedulers and agents together, each between any two actions */
#endif
#ifndef LOSSES
#define LOSSES 0 /* publishes or commits of unknown outcome; lost connections of agents */
#endif
#ifndef REFUSALS
#define REFUSALS 0 /* publishes that the broker refuses */
#endif
#ifndef DUPLICATES
#define DUPLICATES 0 /* messages delivered to schedulers twice, unchanged or marked */
#endif
#ifndef PARKS
#define PARKS 0 /* times that a service is away */
#endif
#ifndef MAY_EXPIRE
#define MAY_EXPIRE 0 /* the order has a complete-by */
#endif
#ifndef IN_PARALLEL
#define IN_PARALLEL 0 /* the second step does not wait for the first */
#endif
#ifndef ON_UNKNOWN
#define ON_UNKNOWN 0 /* enum mg_on_unknown: retry, verify, operator */
#endif
#ifndef ON_FAILURE
#define ON_FAILURE 0 /* enum mg_on_failure, of a failed step: compensate, error */
#endif
#ifndef PIVOT
#define PIVOT 0 /* the second step is a pivot, without an undo */
#endif
#ifndef COMMANDS
#define COMMANDS 0 /* resumes that an operator may send, each while the order needs a person; at most 1 */
#endif
#ifndef LEARN
#define LEARN 0 /* enum mg_learn: none, repeat. With repeat the undo needs its step's result */
#endif
#ifndef GUARDS
#define GUARDS 0 /* 1: the second step has a condition; 2: the first one has, and the second one needs it */
#endif
#ifndef WAIT
#define WAIT 0 /* a step calls nothing and waits for a signal. 1: the second step; 2: the first one */
#endif
#ifndef WAIT_SKIPS
#define WAIT_SKIPS 0 /* without a signal in time the step is skipped, else it fails */
#endif
#ifndef SIGNALS
#define SIGNALS 1 /* 1: one that ends the step; 2: also one that refuses it */
#endif
#ifndef CANCELS
#define CANCELS 0 /* an operator cancels the order once, at any time */
#endif
#ifndef FORGETS
#define FORGETS 0 /* the service recognises no key: it acts on every do */
#endif
#ifndef AT_MOST_ONCE
#define AT_MOST_ONCE 0 /* each do is sent at most once */
#endif
#ifndef ANSWERED_MAY_ACT
/* Whether a request with a final answer other than done may be delivered again. Its agent died between the
 * confirm of the reply and its ack. */
#define ANSWERED_MAY_ACT 0
#endif

#ifndef ASKS_LIE
#define ASKS_LIE 0 /* the supervisor's asks stay in the queue and may become stale */
#endif

/* Kinds of statuses after `accepted`: a turn and an end, and the same once more after a command. */
#if COMMANDS
#define STATUSES 4
#else
#define STATUSES 2
#endif

/* Room; a configuration that needs more ends with BROKEN_BOUND. */
#define INBOX    6
#define REQUESTS 6
#define CALLS    6

/* Broken properties, one bit each, so that a trail names it. */
#define BROKEN_ONCE        1   /* two effects of one piece of work */
#define BROKEN_PROCESSED   2   /* processed, but not both steps are in effect */
#define BROKEN_COMPENSATED 4   /* compensated, but an effect stands */
#define BROKEN_OVERTAKEN   8   /* a do took effect after its undo */
#define BROKEN_MONOTONE    16  /* an attempt's number fell */
#define BROKEN_MOVING      32  /* an open order that nothing will move */
#define BROKEN_WAITING     64  /* given up although fewer attempts failed than the definition allows */
#define BROKEN_TRUTH       128 /* done without having been done, undone without having been undone */
#define BROKEN_ERROR       256 /* in error without need of a person */
#define BROKEN_GUARD       1024 /* a step ran, or was skipped, against its condition; or that was judged twice */
#define BROKEN_DOUBT       2048  /* a step in doubt is done again without leave, or loses its doubt */
#define BROKEN_COMMAND     4096  /* one command of an operator changed the order twice */
#define BROKEN_PIVOT       8192  /* a step is undone although the pivot is in effect */
#define BROKEN_SIGNAL      16384 /* a signal counts twice, is lost, or its step has two ends or none */
#define BROKEN_BOUND       512   /* not of Makegood: a queue of the model is too short */

/* The complete-by of the order. */
#define ORDER_IN_TIME   0
#define ORDER_LATE      1
#define ORDER_UNBOUNDED 2 /* it has none any more: its pivot is done */

/* Results of the condition: enum mg_fact. */
#define FACT_GO     0
#define FACT_SKIP   1
#define FACT_REFUSE 2

/* Words of replies; a request's word is its kind. An open reply is about a call that was given up, or that
 * has another delivery of its request alongside it. Then a call of the attempt may still act. */
#define DO_DONE         0
#define DO_DONE_OPEN    1
#define DO_REFUSED_NO   2 /* permanent, executed: no */
#define DO_REFUSED_OPEN 3
#define DO_FAILED_NO    4
#define DO_FAILED_OPEN  5
#define DO_AWAY_NO      6 /* the service cannot be reached */
#define DO_AWAY_OPEN    7
#define DO_FAILED_MAYBE 8 /* the service's own answer */
#define VERIFY_DONE     9
#define VERIFY_ABSENT   10
#define VERIFY_FAILED   11
#define UNDO_DONE       12
#define UNDO_FAILED     13
#define UNDO_AWAY       14

/* A scheduler's next action with a message, after reading the row. */
#define LOOK_ACK       0
#define LOOK_WRITE     1
#define LOOK_RESEND    2
#define LOOK_REPUBLISH 3 /* resend, once the step is maybe */

/* Subject of a sweep's ask: a step, or one of these. The last three are an operator's: a resume, and a resume
 * that repeats the first or the second step. */
#define ASK_ORDER  2
#define ASK_OWED   3
#define ASK_RESUME 4
#define ASK_REPEAT 5
