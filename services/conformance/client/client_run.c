/*
 * The script of a run: each case starts the command, plays the case, and notes the answers. A rule is
 * broken only by an act of the client, or by one that fails to come within its time. Where an earlier failure
 * leaves the evidence away, its verdict is "not shown".
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client_process.h"
#include "io/amqp/topology.h"
#include "played_scheduler.h"
#include "relay.h"

#define LOOK_MS     5 /* a condition is looked at this often */
#define OPEN_MS     10000
#define PATIENCE_MS 4000 /* longer than a program waits that takes an order for a call */
#define KILLED_MS   2000 /* until the end of a killed process is known */
#define DRAIN_MS    500  /* for a post that was on its way when its run ended */
/* A client that reads on from a queue that is kept need not post again. Most that do have done so by then. */
#define READ_ON_MS 1000

struct run {
    const struct mg_client_options *options;
    struct mg_client_conformance *to;
    struct mg_intake intake;
    struct mg_relay *relay;
    struct mg_command command;
    struct mg_client_seen seen[MG_CASE_COUNT];
    enum mg_client_case which;     /* runs now */
    struct mg_submitted submitted; /* the last one of the case */
    uint8_t digest[MG_SHA256_SIZE];
    int came,
        ignored; /* submissions of the case, and those of them that the broker seems not to have taken */
    struct mg_relay_seen posted; /* as the relay saw the case */
    bool is_interrupted;
};

static struct mg_client_seen *seen_of(struct run *run)
{
    return &run->seen[run->which];
}

/* ---- waiting ---- */

typedef bool condition_fn(struct run *run);
struct wait {
    struct run *run;
    condition_fn *is_met;
    int64_t until_boot_ms;
    bool is_over, outlasts_loss;
};

static bool is_lost(const struct run *run)
{
    return run->is_interrupted || run->intake.lost[0] != '\0' || run->intake.is_crowded;
}

static void on_look(void *arg)
{
    struct wait *wait = arg;
    wait->is_over = wait->is_met(wait->run);
    if (wait->is_over || (is_lost(wait->run) && !wait->outlasts_loss) ||
        mg_clock_boot_ms() >= wait->until_boot_ms) {
        mg_loop_stop(wait->run->options->loop);
    }
}

static bool wait_run(struct wait *wait, int64_t ms)
{
    struct run *run = wait->run;
    struct mg_timer *timer = mg_timer_create(run->options->loop, on_look, wait);
    if (timer == NULL) {
        snprintf(run->intake.lost, sizeof(run->intake.lost), "no memory for a wait");
        return false;
    }
    wait->until_boot_ms = mg_clock_boot_ms() + ms;
    mg_timer_start(timer, 0, LOOK_MS);
    mg_loop_run(run->options->loop);
    mg_timer_destroy(timer);
    return wait->is_over;
}

/* Runs the loop until the condition holds, at most so long. False: it does not hold, or all is lost. */
static bool wait_for(struct run *run, condition_fn *is_met, int64_t ms)
{
    struct wait wait = {.run = run, .is_met = is_met};
    return wait_run(&wait, ms);
}

static bool is_up(struct run *run)
{
    char reason[16];
    return mg_intake_is_up(&run->intake, reason, sizeof(reason));
}

static bool has_ended(struct run *run)
{
    return mg_command_has_ended(&run->command);
}

static bool has_exited(struct run *run)
{
    return run->command.has_exited;
}

static bool has_post(struct run *run)
{
    return seen_of(run)->posts > 0 || has_ended(run);
}

static bool has_second_post(struct run *run)
{
    return seen_of(run)->posts > 1 || has_ended(run);
}

static bool has_line(struct run *run)
{
    return seen_of(run)->line_count > 0 || has_ended(run);
}

static bool is_reading_again(struct run *run)
{
    return mg_relay_seen(run->relay)->consumers > 0 || has_second_post(run);
}

static bool is_complete(struct run *run)
{
    return mg_case_is_complete(run->which, seen_of(run)) || has_ended(run);
}

static bool is_confirmed(struct run *run)
{
    return run->intake.unconfirmed == 0;
}

static bool is_drained(struct run *run)
{
    return run->came >= mg_relay_seen(run->relay)->posts;
}

/* ---- incoming ---- */

static void on_submitted(void *arg, const struct mg_submitted *submitted)
{
    struct run *run = arg;
    struct mg_client_seen *seen = seen_of(run);
    if (run->came++ < run->ignored) {
        return;
    }
    if (seen->posts++ == 0) {
        snprintf(seen->order_id, sizeof(seen->order_id), "%s", submitted->order_id);
        memcpy(run->digest, submitted->digest, sizeof(run->digest));
    } else if (strcmp(seen->order_id, submitted->order_id) != 0) {
        seen->has_other_order = true;
    } else if (memcmp(run->digest, submitted->digest, sizeof(run->digest)) != 0) {
        seen->has_other_bytes = true;
    }
    run->submitted = *submitted;
}

static void on_line(void *arg, const char *text)
{
    struct mg_client_seen *seen = seen_of(arg);
    struct mg_client_line line;
    if (!mg_client_line_parse(text, &line)) {
        snprintf(seen->said, sizeof(seen->said), "%s", text[0] != '\0' ? text : seen->said);
        mg_utf8_mend(seen->said);
    } else if (seen->line_count < MG_CLIENT_LINES_MAX) {
        seen->lines[seen->line_count++] = line;
    }
}

static void on_signal(void *arg)
{
    ((struct run *)arg)->is_interrupted = true;
}

/* ---- a case ---- */

/* Sends the first ones of the case's messages. */
static void first_send(struct run *run, int count)
{
    const struct mg_case *its = mg_case_of(run->which);
    for (int i = 0; i < count && its->sends[i].message != MG_MESSAGE_NONE; i++) {
        mg_intake_send(&run->intake, &run->submitted, &its->sends[i]);
    }
}

static int64_t timeout_of(const struct run *run)
{
    return run->options->timeout_ms;
}

/* The case's own part, from the first post to its last statuses. */
static void act(struct run *run)
{
    if (run->which == MG_CASE_PATIENCE) {
        (void)wait_for(run, has_ended, PATIENCE_MS);
    } else if (run->which == MG_CASE_CONFIRM_LOST) {
        mg_relay_cut(run->relay);
        if (!wait_for(run, has_second_post, timeout_of(run))) {
            return;
        }
    } else if (run->which == MG_CASE_CUT) {
        first_send(run, 1);
        (void)wait_for(run, has_line, timeout_of(run));
        (void)wait_for(run, is_confirmed, timeout_of(run));
        mg_relay_cut(run->relay);
        (void)wait_for(run, is_reading_again, timeout_of(run));
        (void)wait_for(run, has_second_post, READ_ON_MS);
    }
    first_send(run, MG_CASE_SENDS_MAX); /* after a cut the first ones again, as schedulers do */
    (void)wait_for(run, is_confirmed, timeout_of(run));
    if (run->which == MG_CASE_CUT && run->intake.returned > 0 &&
        wait_for(run, has_second_post,
                 timeout_of(run))) { /* the old queue is gone: these go to the new one */
        first_send(run, MG_CASE_SENDS_MAX);
    }
}

static enum mg_relay_plan plan_of(enum mg_client_case which)
{
    return which == MG_CASE_CONFIRM_LOST ? MG_RELAY_HOLD
           : which == MG_CASE_REFUSED    ? MG_RELAY_REFUSE
           : which == MG_CASE_RETURNED   ? MG_RELAY_MISS
                                         : MG_RELAY_PASS;
}

static void ending_note(struct run *run)
{
    struct mg_client_seen *seen = seen_of(run);
    seen->has_ended = has_exited(run);
    seen->exit_code = run->command.exit_code;
    seen->signal_number = run->command.signal_number;
    mg_command_kill(&run->command);
    struct wait killed = {.run = run, .is_met = has_exited, .outlasts_loss = true};
    (void)wait_run(&killed, KILLED_MS);
    mg_command_finish(&run->command);
}

static enum mg_class case_run(struct run *run, enum mg_client_case which, struct mg_err *err)
{
    const struct mg_client_options *options = run->options;
    run->which = which;
    run->came = 0;
    run->ignored = which == MG_CASE_REFUSED ? 1 : 0;
    run->intake.returned = 0;
    run->submitted = (struct mg_submitted){.order_id = ""};
    mg_relay_begin(run->relay, plan_of(which));
    enum mg_class class = mg_command_start(&run->command, options->loop, options->words, options->word_count,
                                           mg_relay_url(run->relay), on_line, run, err);
    if (class != MG_OK) {
        return class;
    }
    run->to->runs++;
    if (wait_for(run, has_post, timeout_of(run)) && seen_of(run)->posts > 0 &&
        run->submitted.fault[0] == '\0' && run->submitted.reply_to[0] != '\0') {
        act(run);
        if (wait_for(run, is_complete, timeout_of(run))) {
            (void)wait_for(run, has_ended, MG_CLIENT_END_MS);
        }
    }
    (void)wait_for(run, is_confirmed, timeout_of(run));
    ending_note(run);
    if (which != MG_CASE_RETURNED) { /* its first post never comes */
        (void)wait_for(run, is_drained, DRAIN_MS);
    }
    run->posted = *mg_relay_seen(run->relay);
    mg_relay_begin(run->relay, MG_RELAY_PASS);
    return MG_OK;
}

/* ---- verdicts ---- */

static void submit_judge(struct run *run)
{
    const struct mg_client_seen *seen = seen_of(run);
    struct mg_finding *finding = &run->to->findings[MG_CLIENT_SUBMIT];
    char end[64] = "it still ran";
    if (seen->has_ended) {
        snprintf(end, sizeof(end), "it exited with %d", seen->exit_code);
    }
    if (seen->posts == 0) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "no order came within %" PRId64 " ms: %s%s%s",
                        timeout_of(run), end, seen->said[0] != '\0' ? "; its last line: " : "", seen->said);
    } else if (seen->has_other_order) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "it posted more than one order; one is due");
    } else if (run->submitted.fault[0] != '\0') {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "schedulers reject its order: %s", run->submitted.fault);
    } else {
        mg_client_judge(finding, MG_KEEPING_KEPT, "it posted order %s", seen->order_id);
    }
}

static void reply_to_judge(struct run *run)
{
    const struct mg_submitted *submitted = &run->submitted;
    struct mg_slice queue = mg_slice_of(submitted->reply_to);
    struct mg_finding *finding = &run->to->findings[MG_CLIENT_REPLY_TO];
    if (submitted->reply_to[0] == '\0') {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "the post has no reply_to: the client gets no status");
    } else if (mg_topology_is_direct_reply(queue) || mg_topology_is_reserved(queue) ||
               !mg_topology_is_queue_of(mg_slice_of(submitted->client), queue)) {
        mg_client_judge(finding, MG_KEEPING_BROKEN,
                        "schedulers refuse the reply_to %s; a queue of the client is due",
                        submitted->reply_to);
    } else if (run->intake.returned > 0) {
        mg_client_judge(finding, MG_KEEPING_BROKEN, "there is no queue %s, as its reply_to says",
                        submitted->reply_to);
    } else {
        mg_client_judge(finding, MG_KEEPING_KEPT, "its statuses go to %s", submitted->reply_to);
    }
}

static bool is_kept(const struct run *run, enum mg_client_rule rule)
{
    return run->to->findings[rule].keeping == MG_KEEPING_KEPT;
}

/* The first run. False: it shows so little that no other one is worth it. */
static bool plain_judge(struct run *run)
{
    submit_judge(run);
    if (seen_of(run)->posts == 0) {
        return false;
    }
    mg_posted_judge(&run->posted.posted[0], run->posted.confirming == run->posted.posts, run->to->findings);
    reply_to_judge(run);
    if (is_kept(run, MG_CLIENT_SUBMIT) && is_kept(run, MG_CLIENT_REPLY_TO)) {
        mg_case_judge(MG_CASE_PLAIN, seen_of(run), timeout_of(run), &run->to->findings[MG_CLIENT_STATUSES]);
    }
    return is_kept(run, MG_CLIENT_STATUSES);
}

/* Why a broken rule leaves a case without evidence; NULL: it does not. */
static const char *obstacle(const struct run *run, enum mg_client_case which)
{
    if (which == MG_CASE_REFUSED && !is_kept(run, MG_CLIENT_CONFIRMS)) {
        return "without publisher confirms no refusal comes";
    }
    if (which == MG_CASE_RETURNED && !is_kept(run, MG_CLIENT_MANDATORY)) {
        return "a post that is not mandatory does not come back";
    }
    if (which == MG_CASE_RETURNED && !is_kept(run, MG_CLIENT_CONFIRMS)) {
        return "without publisher confirms a post counts as taken at once";
    }
    return NULL;
}

static enum mg_class script(struct run *run, struct mg_err *err)
{
    struct mg_finding *findings = run->to->findings;
    for (enum mg_client_rule rule = 0; rule < MG_CLIENT_RULE_COUNT; rule++) {
        mg_client_judge(&findings[rule], MG_KEEPING_NOT_SHOWN, "an earlier rule is broken");
    }
    bool goes_on = true;
    for (enum mg_client_case which = 0; which < MG_CASE_COUNT && goes_on && !is_lost(run); which++) {
        const char *why_not = obstacle(run, which);
        if (why_not != NULL) {
            mg_client_judge(&findings[mg_case_of(which)->rule], MG_KEEPING_NOT_SHOWN, "%s", why_not);
            continue;
        }
        enum mg_class class = case_run(run, which, err);
        if (class != MG_OK) {
            return class;
        }
        if (which == MG_CASE_PLAIN) {
            goes_on = plain_judge(run);
        } else {
            mg_case_judge(which, &run->seen[which], timeout_of(run), &findings[mg_case_of(which)->rule]);
        }
    }
    mg_cases_judge(run->seen, findings);
    return MG_OK;
}

/* ---- the run ---- */

static enum mg_class run_open(struct run *run, struct mg_err *err)
{
    const struct mg_client_options *options = run->options;
    char reason[MG_ERR_TEXT_MAX];
    if (!mg_loop_on_signal(options->loop, SIGINT, on_signal, run) ||
        !mg_loop_on_signal(options->loop, SIGTERM, on_signal, run)) {
        return mg_err_set(err, MG_TRANSIENT, "no descriptors for signals");
    }
    enum mg_class class = mg_relay_create(options->loop, options->address.url, &run->relay, err);
    if (class == MG_OK) {
        class = mg_intake_open(&run->intake, options->loop, &options->address, on_submitted, run, err);
    }
    if (class == MG_OK && !wait_for(run, is_up, OPEN_MS)) {
        (void)mg_intake_is_up(&run->intake, reason, sizeof(reason));
        class = mg_err_set(err, MG_TRANSIENT, "could not reach the broker: %s", reason);
    }
    return class;
}

enum mg_class mg_client_conformance_run(const struct mg_client_options *options,
                                        struct mg_client_conformance *ret_conformance, struct mg_err *err)
{
    static struct run run; /* too large for a stack */
    run = (struct run){.options = options, .to = ret_conformance};
    *ret_conformance = (struct mg_client_conformance){.runs = 0};
    enum mg_class class = run_open(&run, err);
    class = class == MG_OK ? script(&run, err) : class;
    if (class == MG_OK && run.is_interrupted) {
        class = mg_err_set(err, MG_PERMANENT, "ended by a signal");
    } else if (class == MG_OK && run.intake.is_crowded) {
        class =
            mg_err_set(err, MG_STALE, "a scheduler is at work here: stop it, or use another virtual host");
    } else if (class == MG_OK && run.intake.lost[0] != '\0') {
        class = mg_err_set(err, MG_TRANSIENT, "the broker was lost: %s", run.intake.lost);
    }
    mg_intake_close(&run.intake);
    mg_relay_destroy(run.relay);
    return class;
}
