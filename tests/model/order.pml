/*
 * One order of two steps, from its submission to its end, with every fault that can occur within the bounds of
 * bounds.h. The order's next state is decided by the product's own core (core.h). This file models its surroundings:
 * when each process reads, writes, publishes, acks and dies. README.md lists the counterpart of each part and the
 * omissions.
 *
 * A call of C in c_expr stands in parentheses, because Spin takes a bare one for a side effect.
 */

#include "bounds.h"

/* The order in the database. Enums are those of common/core. */
typedef Row {
    byte is_stored;
    byte order;
    byte goal;
    byte state[2];
    byte kind[2];
    byte attempt[2];
    byte failures[2];
    byte flags[2];
    byte quiet_of[2]; /* once its complete-by and quiesce are over, the step is quiet */
    byte due[2];
#if COMMANDS
    byte renewed_at[2]; /* first attempt under the key of generation 1 */
#endif
#if WAIT
    byte kept[2];     /* signals that came before their step began, in the order of their coming: word + 1 */
    byte known;       /* signals among the order's events, one bit each */
#endif
    short cause[2]    /* message that caused the running attempt */
};

Row row;
byte stored_statuses; /* by events: to be delivered to the client */
byte owed;            /* of these, recorded as owed */
short told_by[STATUSES]; /* the causes with these statuses in their events, by bit: turned, end */
#ifdef WITHOUT_VERSION_GUARD
Row seen[2];
#endif
#ifdef MAY_LOSE_TAIL
Row before;
byte tails = 1;
#endif

/* Queues, and calls that may still reach the service although their agents gave them up or died. */
short inbox[INBOX];
short requests[REQUESTS];
short calls[CALLS];
byte told; /* statuses that reached the client */

/* Schedulers: the message in hand of each, whether the row is unchanged since its read, and its open publishes. */
short hand[2];
bit is_fresh[2];
short sends[4];
byte statuses[2];

/* The clock: for each step the last attempt past its complete-by, and the last past its quiesce. */
byte late[2];
byte quiet[2];
byte order_time; /* ORDER_… */

#if GUARDS
byte fact;   /* the result of the condition: by the payload, so always the same */
byte judged; /* committed verdicts */
#endif

#if COMMANDS
/* An operator's command. It holds for the row that it was decided on. */
byte commands = COMMANDS; /* left */
byte resumed;             /* commands that changed the order */
byte repeats;             /* steps, one bit each, that an operator lets out once more */
bit is_basis;             /* the row has not changed since the command */
#endif

#if WAIT
/* Signals: one bit each. */
byte sent; /* and the cancellation */
byte taken;      /* it has ended its step */
byte counted[2]; /* commits in which it counted */
byte ends;       /* of the step that waits */
#endif

/* The remote services. */
byte effects[2];   /* effects that stand */
byte done_keys[2]; /* keys of dos known to the service, one bit each */
bit is_undone[2];

byte genuine[2]; /* attempts that failed or expired while the service was there */
byte crashes = CRASHES, losses = LOSSES, refusals = REFUSALS, duplicates = DUPLICATES, parks = PARKS;
short broken;

c_decl {
\#include "core/decide.h"
};
c_code {
\#include "parts.h"
};

inline must_hold() { c_code { check(); }; assert(broken == 0) }

/* Between a scheduler's reading and its writing. */
#if defined(IN_TURNS) || defined(WITHOUT_VERSION_GUARD)
#define OTHERS_ACT skip }; atomic { skip
#else
#define OTHERS_ACT skip
#endif
#ifdef WITHOUT_VERSION_GUARD
#define MAY_WRITE true
#else
#define MAY_WRITE is_fresh[me]
#endif

#define SEND(slot) sends[2 * me + slot]
#define DIE c_code { hand_lost(Pscheduler->me); }; index = 0; next = 0; goto end_idle

/*
 * services/scheduler: batch.c, fold.c, outbox.c, ack.c. With IN_TURNS another scheduler may write between a scheduler's
 * read and its write. The configuration with IN_TURNS proves that the version guard makes both one action; the others
 * rely on this.
 *
 * A late publish has the same result as a late take. So publishing joins the action before, unless the broker fails. A
 * death joins it too: its message is in the queue again at once and is taken at any time.
 */
proctype scheduler(byte me)
{
    byte index, next;
    bit gate, soon;
end_idle:
    atomic {
        (me == 0 || hand[0] != 0) && c_expr { (has_work()) } -> /* idle schedulers are alike: the first one takes */
        if /* any message: it may have overtaken all others */
        :: inbox[0] != 0 -> index = 0
        :: inbox[1] != 0 -> index = 1
        :: inbox[2] != 0 -> index = 2
        :: inbox[3] != 0 -> index = 3
        :: inbox[4] != 0 -> index = 4
        :: inbox[5] != 0 -> index = 5
        :: !ASKS_LIE && c_expr { (has_ask(0)) } -> c_code { ask(Pscheduler->me, 0); }; goto read
        :: !ASKS_LIE && c_expr { (has_ask(1)) } -> c_code { ask(Pscheduler->me, 1); }; goto read
        :: !ASKS_LIE && c_expr { (has_ask(ASK_ORDER)) } -> c_code { ask(Pscheduler->me, ASK_ORDER); }; goto read
        :: !ASKS_LIE && c_expr { (has_ask(ASK_OWED)) } -> c_code { ask(Pscheduler->me, ASK_OWED); }; goto read
#if COMMANDS
        :: c_expr { (has_ask(ASK_RESUME)) } -> c_code { ask(Pscheduler->me, ASK_RESUME); }; goto read
        :: c_expr { (has_ask(ASK_REPEAT)) } -> c_code { ask(Pscheduler->me, ASK_REPEAT); }; goto read
        :: c_expr { (has_ask(ASK_REPEAT + 1)) } -> c_code { ask(Pscheduler->me, ASK_REPEAT + 1); }; goto read
#endif
        fi;
        hand[me] = inbox[index];
        if
        :: c_code { bag_take(now.inbox, INBOX, Pscheduler->index); }
        :: duplicates > 0 && c_expr { (may_come_twice(now.hand[Pscheduler->me])) } -> duplicates--
        :: duplicates > 0 -> duplicates--; /* its connection is lost: another scheduler gets the message too, marked */
            c_code { bag_take(now.inbox, INBOX, Pscheduler->index);
                     inbox_put(now.hand[Pscheduler->me] | MARKED); }
        fi;
        index = 0;
read:
        c_code { Pscheduler->next = look(Pscheduler->me); };
look:
        if
        :: crashes > 0 -> crashes--; DIE
        :: next == LOOK_ACK || next == LOOK_RESEND -> goto publish
        :: next == LOOK_WRITE || next == LOOK_REPUBLISH
        fi;
        OTHERS_ACT;
        if
        :: MAY_WRITE
        :: !MAY_WRITE -> /* another scheduler has written: read again */
            c_code { sends_drop(Pscheduler->me); Pscheduler->next = look(Pscheduler->me); };
            goto look
        fi;
        if
        :: next == LOOK_REPUBLISH -> c_code { republish(Pscheduler->me); }; goto publish
        :: next == LOOK_WRITE
        fi;
        if
        :: parks > 0 && c_expr { (is_gate_asked(Pscheduler->me)) } -> parks--; gate = 1
        :: gate = 0
        fi;
        if
        :: c_expr { (is_soon_asked(Pscheduler->me)) } -> soon = 0
        :: soon = 1
        fi;
        c_code { commit(Pscheduler->me, Pscheduler->gate, Pscheduler->soon); };
        gate = 0; soon = 0;
        must_hold();
        if
        :: goto publish
        :: losses > 0 -> losses--; /* the answer to COMMIT is lost: the message runs again, marked */
            c_code { run_again(Pscheduler->me); Pscheduler->next = look(Pscheduler->me); };
            goto look
        fi;
publish:
        next = 0;
        if
        :: SEND(0) != 0 -> index = 0; goto send
        :: SEND(1) != 0 -> index = 1; goto send
        :: statuses[me] != 0 ->
            if
            :: c_code { statuses_arrived(Pscheduler->me); }
            :: refusals > 0 -> refusals--; owed = owed | statuses[me]
            fi;
            statuses[me] = 0;
            goto publish
        :: SEND(0) == 0 && SEND(1) == 0 && statuses[me] == 0 -> /* the ack */
            c_code { hand_settled(Pscheduler->me); };
            goto end_idle
        :: crashes > 0 -> crashes--; DIE
        fi;
send:
        if
        :: c_code { request_put(now.sends[2 * Pscheduler->me + Pscheduler->index]); };
            SEND(index) = 0;
            index = 0;
            goto publish
        :: losses > 0 && c_expr { (is_first(Pscheduler->me, Pscheduler->index)) } ->
            losses--; /* no confirm arrives; the request may be in the queue or not */
            if
            :: c_code { request_put(now.sends[2 * Pscheduler->me + Pscheduler->index]); }
            :: skip
            fi
        :: refusals > 0 -> refusals--; next = 1
        fi
    }; /* other processes act before the outcome is decided */
    atomic {
        if
        :: next == 0 -> c_code { send_again(Pscheduler->me, Pscheduler->index); }
        :: else -> c_code { send_failed(Pscheduler->me, Pscheduler->index); }
        fi;
        index = 0; next = 0;
        must_hold();
        goto publish
    }
}

/*
 * common/serving and services/agent. One agent without memory stands for any number. A
 * call that runs alongside others is a call that acts later (`calls`). A request that two agents work on is a marked copy
 * that is taken later.
 */
proctype agent()
{
    byte index, word;
    bit is_held; /* at most once, and delivered before */
    short job;
end_idle:
    atomic {
        requests[0] != 0 ->
        if
        :: index = 0
        :: requests[1] != 0 -> index = 1
        :: requests[2] != 0 -> index = 2
        :: requests[3] != 0 -> index = 3
        :: requests[4] != 0 -> index = 4
        :: requests[5] != 0 -> index = 5
        fi;
        job = requests[index];
        c_code { bag_take(now.requests, REQUESTS, Pagent->index);
                 Pagent->is_held = is_held_back(Pagent->job); };
        if
        :: skip
        :: losses > 0 -> losses--; /* its connection is lost: another gets the request too; this one goes on in doubt */
            c_code { Pagent->job |= MARKED; request_put(Pagent->job); };
        fi;
        if /* its clock may be behind by less than the quiesce */
        :: c_expr { (is_late(Pagent->job)) } -> goto ended
        :: c_expr { (!is_over(Pagent->job)) }
        fi;
        if
        :: crashes > 0 -> crashes--;
            c_code { if (!Pagent->is_held) { call_put(Pagent->job); }
                     job_lost(Pagent->job); };
            goto ended
        :: is_held -> word = DO_FAILED_OPEN /* not called: an earlier agent may have called */
        :: !is_held && c_expr { (is_kind(Pagent->job, MG_KIND_DO)) } ->
            if
            :: c_code { serve(Pagent->job); }; word = DO_DONE
            :: c_expr { (may_refuse(Pagent->job)) } -> word = DO_REFUSED_NO
            :: word = DO_FAILED_NO
            :: c_code { serve(Pagent->job); }; word = DO_FAILED_MAYBE /* the service acts and reports a failure */
            :: word = DO_FAILED_MAYBE
            :: c_code { call_put(Pagent->job); }; word = DO_FAILED_OPEN /* given up; the service still works */
            :: parks > 0 -> parks--; word = DO_AWAY_NO
            fi
        :: c_expr { (is_kind(Pagent->job, MG_KIND_VERIFY)) } ->
            if
            :: c_expr { (stands(Pagent->job)) } -> word = VERIFY_DONE
            :: c_expr { (!stands(Pagent->job)) } -> word = VERIFY_ABSENT
            :: word = VERIFY_FAILED
            fi
        :: c_expr { (is_kind(Pagent->job, MG_KIND_UNDO)) } ->
            if
            :: c_code { serve(Pagent->job); }; word = UNDO_DONE
            :: c_code { call_put(Pagent->job); }; word = UNDO_FAILED
            :: parks > 0 -> parks--; word = UNDO_AWAY
            fi
        fi;
        if
        :: c_expr { (is_late(Pagent->job)) } /* no reply */
        :: c_code { reply_put(Pagent->job, Pagent->word); }
        fi;
        if
        :: skip /* the ack */
        :: crashes > 0 && c_expr { (may_come_again(Pagent->job, Pagent->word)) } -> crashes--;
            c_code { job_lost(Pagent->job); }
        fi;
ended:
        index = 0; word = 0; is_held = 0; job = 0;
        must_hold();
        goto end_idle
    }
}

/*
 * services/supervisor: sweep.c, ask.c. It has no memory, so one stands for any number, each acting as leader. Without
 * ASKS_LIE the scheduler that takes an ask also triggers it, because an ask that became stale in the queue changes
 * nothing.
 */
proctype supervisor()
{
end_idle:
    if
    :: atomic { c_expr { (has_ask(0)) } -> c_code { ask(-1, 0); }; goto end_idle }
    :: atomic { c_expr { (has_ask(1)) } -> c_code { ask(-1, 1); }; goto end_idle }
    :: atomic { c_expr { (has_ask(ASK_ORDER)) } -> c_code { ask(-1, ASK_ORDER); }; goto end_idle }
    :: atomic { c_expr { (has_ask(ASK_OWED)) } -> c_code { ask(-1, ASK_OWED); }; goto end_idle }
    fi
}

/* Calls reach the service after their agent has given up, or never. */
proctype service()
{
    byte index;
end_idle:
    atomic {
        calls[0] != 0 ->
        if
        :: index = 0
        :: calls[1] != 0 -> index = 1
        :: calls[2] != 0 -> index = 2
        :: calls[3] != 0 -> index = 3
        :: calls[4] != 0 -> index = 4
        :: calls[5] != 0 -> index = 5
        fi;
        c_code { serve(now.calls[Pservice->index]); bag_take(now.calls, CALLS, Pservice->index); };
        index = 0;
        must_hold();
        goto end_idle
    }
}

#if WAIT
/* A client, at any time of the order; and an operator. */
proctype client()
{
end_idle:
    if
    :: atomic { c_expr { (may_signal(SIGNAL_YES)) } -> c_code { signal_send(SIGNAL_YES); }; goto end_idle }
    :: atomic { SIGNALS > 1 && c_expr { (may_signal(SIGNAL_NO)) } -> c_code { signal_send(SIGNAL_NO); }; goto end_idle }
    :: atomic { CANCELS && c_expr { (may_cancel()) } -> c_code { cancel_send(); }; goto end_idle }
    fi
}
#endif

/* Events of the world: deadlines, and a failover that loses the newest commit. */
proctype clock()
{
end_idle:
    if
    :: atomic { c_expr { (may_be_late(0)) } -> c_code { be_late(0); forget(); }; goto end_idle }
    :: atomic { c_expr { (may_be_late(1)) } -> c_code { be_late(1); forget(); }; goto end_idle }
    :: atomic { c_expr { (may_be_quiet(0)) } -> c_code { be_quiet(0); forget(); }; goto end_idle }
    :: atomic { c_expr { (may_be_quiet(1)) } -> c_code { be_quiet(1); forget(); }; goto end_idle }
    :: atomic { MAY_EXPIRE && order_time == ORDER_IN_TIME && c_expr { (is_open()) } ->
        order_time = ORDER_LATE;
        c_code { tell("the complete-by of the order has passed", 0); };
        goto end_idle }
#ifdef MAY_LOSE_TAIL
    :: atomic { tails > 0 && before.is_stored ->
        tails--;
        c_code { tail_lost(); };
        goto end_idle }
#endif
    fi
}

/* Enabled only when no other action is possible: then the order has ended, and the client has all statuses. */
proctype end()
{
    timeout ->
    assert(c_expr { (is_ended()) });
    assert(told == stored_statuses && owed == 0)
}

init {
    atomic {
#if GUARDS
        if
        :: fact = FACT_GO
        :: fact = FACT_SKIP
        :: fact = FACT_REFUSE
        fi;
#endif
        c_code { plan_init(); inbox_put(message(SUBMISSION, 0, 0, 0)); };
        run scheduler(0);
        run scheduler(1);
        run agent();
#if ASKS_LIE
        run supervisor();
#endif
        run service();
#if WAIT
        run client();
#endif
        run clock();
        run end()
    }
}
