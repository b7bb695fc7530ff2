/*
 * Signals with a key, and the orders that wait for them: which of them meet, whichever is first, late, sent twice or
 * redelivered. An action is one statement or one transaction, as services/scheduler/keyed_signals.c and
 * common/io/store/signal_rows.c have them. Under READ COMMITTED each sees all that was committed before it, and no lock is
 * held between two of them. README.md lists the counterparts.
 *
 * Two orders wait with the first key. Order 0 then waits with the second key, order 1 then runs, and so does order 0 in the
 * end. An order that runs has a request, which is to be published. Signals 0 and 1 have the first key, signal 2 has the
 * second one. The client sends signal 0 twice.
 */

#ifndef SENT
#define SENT 63 /* works that exist, one bit each */
#endif
#ifndef DEATHS
#define DEATHS 1 /* of schedulers, each between any two actions: the message in hand is redelivered */
#endif
#ifndef LOSSES
#define LOSSES 0 /* commits of unknown outcome: their scheduler decides again */
#endif
#ifndef LAPSES
#define LAPSES 0 /* time-outs of waits */
#endif

#define ORDERS  2
#define SIGNALS 3
#define NONE    9

/* Works, by their messages: 0 to 2 and 3 (once more the first) are signals, 4 and 5 let an order wait. */
#define WORKS           6
#define IS_SIGNAL(work) (work < 4)
#define SIGNAL_OF(work) (work == 3 -> 0 : work)
#define ORDER_OF(work)  (work - 4)
#define KEY_OF(signal)  (signal / 2)

/* A row of signal_by_key. */
#define ABSENT 0
#define FREE   1
#define TAKEN  2

/* An order, by its step. */
#define NEW    0
#define FIRST  1 /* it waits with the first key */
#define SECOND 2 /* it waits with the second key */
#define RUNS   3
#define LAPSED 4

byte row[SIGNALS];
byte taken_by[SIGNALS];
byte effects[SIGNALS];
byte at[ORDERS];
byte known[ORDERS]; /* its events: signals, one bit each */
byte root[ORDERS];  /* the message that its request follows from (chain.c) */
byte last[ORDERS];  /* the signal that its request follows from */
bit is_sent[ORDERS];
byte deaths = DEATHS, losses = LOSSES, lapses = LAPSES;
byte left;          /* messages without an ack */

#define WAITS(order, key) (at[order] == FIRST + key)
#define IS_KNOWN          (known[order] >> signal & 1)

/* A signal's own look is for this signal alone. So its message makes again all that it has led to. */
#ifdef WITHOUT_OWN_SIGNAL
#define IS_MEANT(s) true
#else
#define IS_MEANT(s) (!IS_SIGNAL(me) || key != KEY_OF(SIGNAL_OF(me)) || s == SIGNAL_OF(me))
#endif

/* An order's own look finds its own signals alone. So all that follows from it has the order's cause as its root. */
#ifdef WITHOUT_OWN_ORDER
#define MINE(order) NONE
#else
#define MINE(order) order
#endif

#ifdef WITHOUT_TAKEN_GUARD
#define IS_FREE true
#else
#define IS_FREE (row[signal] == FREE)
#endif

#ifdef WITHOUT_ROOT
#define IS_SENT_BY (IS_SIGNAL(me) && last[order] == SIGNAL_OF(me))
#else
#define IS_SENT_BY (root[order] == SIGNAL_OF(me))
#endif

#define FITS(s, o) (row[s] == FREE && KEY_OF(s) == key && IS_MEANT(s) && (mine == NONE || mine == o) && WAITS(o, key))
#define MAY_DIE    :: deaths > 0 -> deaths--; is_again = 1; printf("# its scheduler dies over message %d\n", me); goto begin

/* match_signal.sql: any pair, by one statement. */
inline match()
{
    signal = NONE;
    if
    :: FITS(0, 0) -> signal = 0; order = 0
    :: FITS(0, 1) -> signal = 0; order = 1
    :: FITS(1, 0) -> signal = 1; order = 0
    :: FITS(1, 1) -> signal = 1; order = 1
    :: FITS(2, 0) -> signal = 2; order = 0
    :: !(FITS(0, 0) || FITS(0, 1) || FITS(1, 0) || FITS(1, 1) || FITS(2, 0))
    fi;
    if
    :: signal == NONE -> printf("# message %d: a look with key %d finds nothing\n", me, key)
    :: else -> printf("# message %d: a look with key %d finds signal %d for order %d\n", me, key, signal, order)
    fi
}

/* The order takes the signal in the commit of its own change. */
inline give()
{
    known[order] = known[order] | 1 << signal;
    effects[signal]++;
    taken_by[signal] = order;
#ifdef WITHOUT_TAKEN_ROWS
    row[signal] = ABSENT;
#else
    row[signal] = TAKEN;
#endif
    printf("# message %d: order %d takes signal %d\n", me, order, signal);
    if
    :: order == 0 && key == 0 -> at[order] = SECOND
    :: else -> at[order] = RUNS; root[order] = SIGNAL_OF(me); last[order] = signal
    fi
}

proctype work(byte me)
{
    byte signal, order, key, mine;
    bit is_again; /* redelivered */
    bit is_retry; /* the order may have the signal already */
    bit is_next;  /* another look follows */
begin:
    atomic { /* at any time: in a queue, in a lane */
        signal = 0; order = 0; key = 0; mine = NONE; is_retry = 0; is_next = 0;
        if
        :: IS_SIGNAL(me) -> /* keep_signal.sql */
            signal = SIGNAL_OF(me);
            key = KEY_OF(signal);
            if
#ifdef WITHOUT_KEEPING_FIRST
            :: row[signal] == ABSENT && !WAITS(0, key) && !WAITS(1, key) -> goto keep
#endif
            :: row[signal] != TAKEN -> row[signal] = FREE; printf("# message %d: signal %d is kept\n", me, signal)
#ifndef WITHOUT_SIGNAL_AGAIN
            :: row[signal] == TAKEN && is_again -> order = taken_by[signal]; is_retry = 1; goto decide
            :: row[signal] == TAKEN && !is_again -> goto ack
#else
            :: row[signal] == TAKEN -> goto ack
#endif
            fi
        :: !IS_SIGNAL(me) && at[ORDER_OF(me)] == NEW -> /* the commit in which its step opens */
            order = ORDER_OF(me);
            mine = MINE(order);
            at[order] = FIRST;
            printf("# message %d: order %d begins to wait\n", me, order);
#ifdef WITHOUT_LOOK
            goto ack
#endif
        :: !IS_SIGNAL(me) && at[ORDER_OF(me)] != NEW -> /* a known cause */
            order = ORDER_OF(me);
#ifdef WITHOUT_LOOK_AGAIN
            goto ack
#else
            goto again
#endif
        fi
    };
look:
    atomic {
        if
        MAY_DIE
        :: match()
        fi;
        is_retry = 0;
        is_next = !(IS_SIGNAL(me) && signal == SIGNAL_OF(me));
        if
        :: signal == NONE -> goto ack
        :: else
        fi
    };
decide:
    atomic { /* signal_apply.c and the commit. By the order's version guard both are one action */
        if
        MAY_DIE
        :: IS_KNOWN && is_retry -> goto again
        :: IS_KNOWN && !is_retry -> goto look
        :: !IS_KNOWN && !(WAITS(order, key) && IS_FREE) -> goto look /* late, or another order has the signal */
        :: !IS_KNOWN && WAITS(order, key) && IS_FREE ->
            give();
            if
            :: goto after
            :: losses > 0 -> losses--; is_retry = 1; goto decide
            fi
        fi
    };
again:
    atomic { /* fold.c, effects_again: requests of this cause, and the key with which the order waits now */
        if
        MAY_DIE
        :: at[order] == RUNS && IS_SENT_BY -> is_sent[order] = 1; goto ack
        :: at[order] == FIRST || at[order] == SECOND -> key = at[order] - FIRST; mine = MINE(order); goto look
        :: !(at[order] == RUNS && IS_SENT_BY) && at[order] != FIRST && at[order] != SECOND -> goto ack
        fi
    };
after:
    atomic { /* the look for the key of the step that has opened, or the request */
        if
        MAY_DIE
        :: order == 0 && key == 0 -> key = 1; mine = MINE(order); goto look
        :: order != 0 || key != 0 -> is_sent[order] = 1; printf("# message %d: the request of order %d is published\n", me, order)
        fi;
        if
        :: is_next -> goto look
        :: else -> goto ack
        fi
    };
#ifdef WITHOUT_KEEPING_FIRST
keep:
    atomic { row[signal] = FREE; printf("# message %d: signal %d is kept\n", me, signal); goto ack };
#endif
ack:
    atomic {
        if
        MAY_DIE
        :: left--; printf("# message %d is acked\n", me)
        fi;
        signal = 0; order = 0; key = 0; mine = 0; is_again = 0; is_retry = 0; is_next = 0
    }
}

/* Time-outs: each is a change of its order like any other. */
proctype clock()
{
end_idle:
    if
    :: atomic { lapses > 0 && (at[0] == FIRST || at[0] == SECOND) -> lapses--; at[0] = LAPSED; goto end_idle }
    :: atomic { lapses > 0 && at[1] == FIRST -> lapses--; at[1] = LAPSED; goto end_idle }
    fi
}

#define IS_LOST(s, o) (row[s] == FREE && WAITS(o, KEY_OF(s)))

proctype end()
{
    bit is_twice, is_lost, is_unsent;
end_idle:
    atomic {
        left == 0 || effects[0] > 1 || effects[1] > 1 || effects[2] > 1 ->
        is_twice = effects[0] > 1 || effects[1] > 1 || effects[2] > 1;
        is_lost = left == 0 && (IS_LOST(0, 0) || IS_LOST(0, 1) || IS_LOST(1, 0) || IS_LOST(1, 1) || IS_LOST(2, 0));
        is_unsent = left == 0 && ((at[0] == RUNS && !is_sent[0]) || (at[1] == RUNS && !is_sent[1]));
        assert(!is_twice);
        assert(!is_lost);
        assert(!is_unsent)
    }
}

init {
    byte me;
    atomic {
        root[0] = NONE; root[1] = NONE; last[0] = NONE; last[1] = NONE;
        do
        :: me < WORKS && (SENT >> me & 1) -> run work(me); left++; me++
        :: me < WORKS && !(SENT >> me & 1) -> me++
        :: me == WORKS -> break
        od;
        me = 0;
        run clock();
        run end()
    }
}
