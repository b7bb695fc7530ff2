"""An agent: takes the requests of one service and answers them.

It consumes, judges deadlines and answers on one thread; each call of a handler has a thread of its own. Nothing of a request
outlives the process: a crash means redelivery.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import os
import signal
import socket
import ssl
import threading
import time
import traceback
from typing import Any, Callable

from . import arguments
from .job import Delivery, Job, Line, not_called, write_result
from .link import BACKOFF_MAX_S, BACKOFF_S, LOG, TICK_S, Link, pause_s, read_json, write_json
from .request import FAR_S, Clock, Newer, Outcome, Permanent, Request, Transient, boot_s, read_moment

BODY_MAX = 4 * 1024 * 1024
NEWER_DELIVERIES_MAX = 15  # below the queues' delivery limit of 20
NEWER_WAIT_S = 1.0         # so that it does not spin between agents that cannot read it
CONTROLS_MAX = 10          # control messages in their queue; the newest counts
REPORT_S = 5.0             # a report holds for 15 s
DOWN_VALID_S = 20.0
FORMER_LEADER_S = 5.0      # a lower epoch counts again after so long without the higher one
ROOM_S = 1.0               # after so long with room a delivery has not waited in its queue
STANDSTILL_S = 1.5         # a process without a turn for longer stalled
BURST_S = 0.1              # of a rate; smooths the grain of timers
HIGH_RUN_MAX = 4           # requests of high priority in a row while others wait

Handler = Callable[[Request], Outcome]
_numbers = itertools.count(1)  # of the agents of this process: an operator's limit is shared by instances


class Agent:
    """Serves the steps of one service with handlers for do, undo and verify. run() blocks until SIGTERM or SIGINT.

    A handler returns Done, Accepted, Absent, Transient, Permanent or Unknown. An exception is logged and answered as transient:
    the service may have acted. At most `concurrency` handlers run at once, each on a thread of its own. An agent does not
    outlive fork(): make one in each process. `ssl_context` is for a URL
    with amqps://, by default ssl.create_default_context(): the system's CAs.
    """

    def __init__(self, service: str, do: Handler, undo: Handler | None = None, verify: Handler | None = None, *, url: str,
                 ssl_context: ssl.SSLContext | None = None, concurrency: int = 16, drain_timeout: float = 30.0):
        self._service, self._pid = arguments.check_name("service", service), os.getpid()
        self._concurrency = arguments.check_integer("concurrency", concurrency, arguments.CONCURRENCY_MAX)
        self._drain_timeout = arguments.check_seconds("drain_timeout", drain_timeout)
        self._handlers = {"do": arguments.check_handler("do", do)} | {
            name: None if one is None else arguments.check_handler(name, one) for name, one in (("undo", undo), ("verify", verify))}
        self._process = int(time.time() * 1000)
        self._instance = f"{socket.gethostname()[:64]}:{os.getpid()}:{self._process // 1000}.{next(_numbers)}"
        self._link = Link(url, ssl_context, self._on_up, self._on_down)
        self._exchange = f"makegood.replies.{service}"
        self._lines = {True: Line(f"agent.{service}.requests.high"), False: Line(f"agent.{service}.requests")}
        self._jobs: set[Job] = set()
        self._doubtful: list[Job] = []
        self._clock = Clock()
        self._running, self._high_run, self._newer = 0, 0, 0
        self._shortages, self._short_until = 0, -math.inf  # of threads, in a row
        self._limit, self._rate, self._tokens, self._refilled, self._has_timer = concurrency, 0.0, 1.0, boot_s(), False
        self._control: dict[str, Any] = {"epoch": 0, "version": 0, "paused": False}
        self._control_came, self._health_came, self._awake_since = -math.inf, -math.inf, boot_s()
        self._is_named, self._is_down, self._is_prober = False, False, False
        self._reports, self._reported_at, self._turned = 0, -math.inf, boot_s()
        self._stops, self._drain_until, self._is_serving = 0, math.inf, True

    def run(self) -> bool:
        """True: everything in hand was answered. Otherwise the broker gives the rest to another agent."""
        arguments.check_process(self._pid, "agent")
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: self.stop())
            signal.signal(signal.SIGINT, lambda *_: self.stop())
        self._link.loop.call_later(TICK_S, self._tick)
        self._link.run()
        return not self._jobs

    def stop(self) -> None:
        """Consuming stops, calls under way are answered, then run() returns. The second time it returns at once."""
        self._stops += 1  # and no more: a signal may come in the middle of anything

    # ---- connection ----

    def _on_up(self) -> None:
        self._awake_since = boot_s()
        self._link.channel.queue_declare("", exclusive=True, auto_delete=True, arguments={"x-max-length": CONTROLS_MAX},
                                         callback=lambda frame: self._listen(frame.method.queue))

    def _listen(self, queue: str) -> None:
        self._link.channel.queue_bind(queue, f"makegood.control.{self._service}")
        self._link.channel.basic_consume(queue, self._on_control, auto_ack=True, exclusive=True)
        self._consume()
        self._report()
        for job in [one for one in self._jobs if one.outcome is not None]:
            self._offer(job)

    def _consume(self) -> None:
        """Consumes with the prefetch that fits the present limits."""
        channel = self._link.channel
        if channel is None or self._is_draining():
            return
        prefetch = max(1, int(min(self._limit, self._rate))) if self._rate else self._limit
        for is_high, line in self._lines.items():
            if line.consumer and line.prefetch == prefetch:
                continue
            if line.consumer:
                channel.basic_cancel(line.consumer)
            line.prefetch, line.room_since = prefetch, math.inf  # a backlog may have waited for this
            line.hold(0)
            channel.basic_qos(prefetch_count=prefetch)
            line.consumer = channel.basic_consume(line.queue, functools.partial(self._on_delivery, is_high))

    def _on_down(self) -> None:
        """From now on other agents may have all that is in hand. Requests that have not begun are left to them."""
        for line in self._lines.values():
            self._jobs.difference_update(line.waiting)
            line.waiting.clear()
            line.held, line.consumer, line.room_since = 0, "", math.inf
        self._doubtful.clear()
        for job in self._jobs:
            job.delivery = None
            job.may_still_act = job.may_still_act or not job.is_at_most_once

    # ---- requests ----

    def _on_delivery(self, is_high: bool, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        line, headers = self._lines[is_high], properties.headers or {}
        if channel is not self._link.channel:
            return  # it was left, and the broker gives the request to another one
        self._turn()
        received = boot_s()
        is_believed = method.exchange in ("", "makegood.requests")  # other writers may set the header at will
        is_again = method.redelivered or (is_believed and bool(headers.get("x-makegood-again")))
        is_fresh = not is_again and received - line.room_since >= ROOM_S
        line.hold(1)
        delivery = Delivery(channel, method.delivery_tag, line)
        try:
            if properties.type not in (None, "", "request"):
                raise Newer()
            if len(body) > BODY_MAX:
                raise ValueError(f"its body is above {BODY_MAX} bytes")
            request = Request(body, self._service)
        except Newer:
            counts = (headers.get("x-delivery-count", 0), headers.get("x-acquired-count", 0)) if method.redelivered else (0,)
            self._leave(delivery, max(counts))
            return
        except ValueError as error:
            LOG.warning("message %s refused and dead-lettered: %s", properties.message_id, error)
            delivery.give_back("basic_reject", requeue=False)
            return
        request.is_redelivered = is_again
        if is_fresh or request.sent_at - self._clock.now(received) <= FAR_S:  # one that waited may be of a clock that went back
            self._clock.note(received, request.sent_at, False)
        job = Job(request, delivery, received, is_fresh, is_again, properties.correlation_id or "")
        twin = next((one for one in self._jobs if is_again and one.name == job.name), None)
        if twin is None:
            self._admit(job)
        else:
            self._join(twin, delivery)

    @staticmethod
    def _join(twin: Job, delivery: Delivery) -> None:
        """The request was redelivered while it is in work here: the work goes on for the newer delivery."""
        if twin.delivery is not None:
            twin.delivery.give_back("basic_ack")
        twin.delivery, twin.may_still_act, twin.request.is_redelivered = delivery, True, True

    def _leave(self, delivery: Delivery, count: int) -> None:
        """Leaves a request to a newer agent. One waits here at a time, so that others pass."""
        if count >= NEWER_DELIVERIES_MAX:
            LOG.warning("a request that no running agent can read was dead-lettered")
            delivery.give_back("basic_reject", requeue=False)
            return
        self._newer += 1
        self._link.loop.call_later(NEWER_WAIT_S if self._newer == 1 else 0, functools.partial(self._return_newer, delivery))

    def _return_newer(self, delivery: Delivery) -> None:
        self._newer -= 1
        delivery.give_back("basic_nack", requeue=True)

    def _admit(self, job: Job) -> None:
        verdict = job.judge(self._clock)
        if verdict == "in doubt":
            self._doubtful.append(job)
            return
        self._jobs.add(job)
        if verdict == "late":
            self._end(job, "its complete-by has passed")
        elif verdict == "not called":
            self._answer(job, not_called("breaker_open", "by the database's clock, as it was known, the request came late"))
        elif job.is_at_most_once and job.request.is_redelivered:
            self._answer(job, Outcome("unknown", "maybe", None, "redelivered", "an earlier agent may have been called"))
        else:
            assert job.delivery is not None
            job.delivery.line.waiting.append(job)
            self._pump()

    def _pump(self) -> None:
        """Lets out the requests that may go."""
        while any(line.waiting for line in self._lines.values()):
            is_down = self._is_down and not self._is_prober
            is_called = not (self._is_draining() or self._control["paused"] or is_down)
            if is_called and not self._may_call():
                return
            job = self._next()
            if job.is_over():
                self._end(job, "its complete-by has passed")
            elif is_called:
                self._begin(job)
            elif self._is_draining():
                self._put_back(job)
            elif self._control["paused"]:
                self._answer(job, not_called("service_paused", "an operator has paused the service"))
            else:
                self._answer(job, not_called("breaker_open", "the service is down for most agents"))

    def _begin(self, job: Job) -> None:
        """Without a thread for it, the job is the first of its line again. So it is still given back with the connection."""
        try:
            threading.Thread(target=self._call, args=(job,), daemon=True).start()
        except Exception as error:  # pylint: disable=broad-except  # RuntimeError, or MemoryError
            assert job.delivery is not None
            job.delivery.line.waiting.appendleft(job)
            wait_s = pause_s(self._shortages)
            self._shortages, self._short_until = self._shortages + 1, boot_s() + wait_s
            LOG.warning("no thread to call %s on, next try in %.1f s: %s", job.name, wait_s, error)
            return
        self._running, self._tokens, self._shortages = self._running + 1, self._tokens - 1, 0

    def _may_call(self) -> bool:
        """False: a call that ends, a timer or the next tick looks again."""
        if self._running >= self._limit or boot_s() < self._short_until:
            return False
        elapsed, self._refilled = boot_s() - self._refilled, boot_s()
        self._tokens = min(max(1.0, self._rate * BURST_S), self._tokens + self._rate * elapsed) if self._rate else 1.0
        if self._tokens >= 1:
            return True
        if not self._has_timer:
            self._has_timer = True
            self._link.loop.call_later((1 - self._tokens) / self._rate, self._on_token)
        return False

    def _on_token(self) -> None:
        self._has_timer = False
        self._pump()

    def _next(self) -> Job:
        high, normal = self._lines[True].waiting, self._lines[False].waiting
        is_high = bool(high) and (not normal or self._high_run < HIGH_RUN_MAX)
        self._high_run = self._high_run + 1 if is_high and normal else 0
        return (high if is_high else normal).popleft()

    def _call(self, job: Job) -> None:
        """On a thread of its own."""
        request, result = job.request, None
        handler = self._handlers[request.kind]
        try:
            outcome = handler(request) if handler else Permanent("no_handler", f"the agent has no {request.kind}")
            if not isinstance(outcome, Outcome) or (outcome.outcome == "absent" and request.kind == "do"):
                raise TypeError(f"a handler of {request.kind} returned {outcome!r}")
            outcome = dataclasses.replace(outcome)  # checks it, since it may have been changed
            result = write_result(outcome.result)
        except BaseException as error:  # pylint: disable=broad-except  # whatever it is, the service may have acted
            LOG.exception("the handler failed for %s", job.name)
            outcome, result = Transient(code="exception", text=traceback.format_exception_only(type(error), error)[-1].strip()), "null"
        self._link.call(functools.partial(self._on_called, job, outcome, result))

    def _on_called(self, job: Job, outcome: Outcome, result: str | None) -> None:
        self._running -= 1
        job.result = result
        self._answer(job, outcome)
        self._pump()

    # ---- replies ----

    def _answer(self, job: Job, outcome: Outcome) -> None:
        job.outcome = outcome
        self._offer(job)

    def _offer(self, job: Job) -> None:
        """The reply is confirmed before the request is acked. Until complete-by it is offered again."""
        if job not in self._jobs:
            return  # an earlier offer was confirmed meanwhile
        if job.is_over():
            self._end(job, "its complete-by has passed")
        elif self._link.channel is not None:  # otherwise it is offered with the next connection
            trace = job.request.traceparent
            self._link.publish(self._exchange, "scheduler.replies", job.reply(), functools.partial(self._on_settled, job), type="reply",
                               correlation_id=job.correlation_id, message_id=job.name, headers={"traceparent": trace} if trace else None)

    def _on_settled(self, job: Job, settled: str) -> None:
        if settled == "confirmed":
            self._end(job)
        elif settled == "unwritable":
            self._end(job, "its reply cannot be written; the request is dead-lettered", "basic_reject", requeue=False)
        elif settled != "unknown":
            job.refusals += 1
            self._link.loop.call_later(min(BACKOFF_MAX_S, BACKOFF_S * job.refusals), functools.partial(self._offer, job))

    def _end(self, job: Job, dropped: str = "", verb: str = "basic_ack", **options: Any) -> None:
        if dropped:
            LOG.info("%s dropped without a reply: %s", job.name, dropped)
        self._jobs.discard(job)
        if job.delivery is not None:
            job.delivery.give_back(verb, **options)
            job.delivery = None

    def _put_back(self, job: Job) -> None:
        """Given back, a request that may be sent only once would count as redelivered, although it was not sent."""
        if job.is_at_most_once:
            self._answer(job, not_called("breaker_open", "the agent stopped before the call"))
            return
        self._jobs.discard(job)
        if job.delivery is not None:
            job.delivery.give_back("basic_nack", requeue=True)

    # ---- settings and reports ----

    def _on_control(self, _channel: Any, _method: Any, _properties: Any, body: bytes) -> None:
        now = boot_s()
        self._turn()
        try:
            control = read_json(body)
            if control["v"] != 1 or control["service"] != self._service:
                raise ValueError("it has another version or service")
            if control["epoch"] < self._control["epoch"] and now - self._control_came < FORMER_LEADER_S:
                return  # of a former leader
            shares = {share["instance"]: share for share in control["shares"]} if "shares" in control else None
            prober = control["down"]["prober"] if "down" in control else None
            sent_at = read_moment(control["sent_at"]) if "sent_at" in control else None
            is_new = (control["version"], control["paused"]) != (self._control["version"], self._control["paused"])
            self._limits_apply(shares)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            LOG.warning("a control message cannot be read; the previous settings stay in force: %r", error)
            return
        self._control, self._control_came = control, now
        if sent_at is not None:
            self._clock.note(now, sent_at, now - self._awake_since >= ROOM_S)
        if not control.get("undecided", False):
            health = prober is not None, prober == self._instance
            is_new = is_new or health != (self._is_down, self._is_prober)
            self._health_came, (self._is_down, self._is_prober) = now, health
        self._look_again(is_new)

    def _limits_apply(self, shares: dict[str, Any] | None) -> None:
        """Without a share an agent makes one call at a time; if it had a share, it keeps that."""
        share = {} if shares is None else shares.get(self._instance)
        if share is None and self._is_named:
            return
        self._is_named = bool(share)
        share = {"concurrency": 1} if share is None else share
        limits = min(self._concurrency, share.get("concurrency", self._concurrency)), float(share.get("rate", 0))
        if limits != (self._limit, self._rate):
            (self._limit, self._rate), self._refilled = limits, boot_s()
            LOG.info("limits changed: %d calls at once, %g a second", self._limit, self._rate or math.inf)
            self._consume()

    def _look_again(self, is_new: bool) -> None:
        doubtful, self._doubtful = self._doubtful, []
        for job in doubtful:
            self._admit(job)
        self._pump()
        if is_new or boot_s() - self._reported_at >= REPORT_S:
            self._report()

    def _report(self) -> None:
        if self._link.channel is None:
            return
        self._reports, self._reported_at = self._reports + 1, boot_s()
        reason = "stopping" if self._is_draining() else self._clock.fault(boot_s())
        is_open = self._is_down and not self._is_prober
        report = {"v": 1, "service": self._service, "instance": self._instance, "breaker": "open" if is_open else "closed",
                  "ready": not reason, "in_flight": self._running, "concurrency": self._limit, "reason": reason,
                  "control_version": self._control["version"], "process": self._process, "sequence": self._reports,
                  "prober": self._is_prober}
        self._link.publish(self._exchange, "scheduler.replies", write_json(report), lambda _settled: None, type="service_report")

    def _turn(self) -> None:
        """After a standstill no message that comes soon counts as fresh."""
        now = boot_s()
        if now - self._turned > STANDSTILL_S:
            self._awake_since = now
            for line in self._lines.values():
                line.room_since = now if line.room_since < math.inf else math.inf
        self._turned = now

    def _tick(self) -> None:
        try:
            self._look()
        finally:
            if self._is_serving:
                self._link.loop.call_later(TICK_S, self._tick)

    def _look(self) -> None:
        self._turn()
        self._link.tick()
        if boot_s() - self._health_came > DOWN_VALID_S:
            self._is_down = self._is_prober = False
        if self._stops > 0 and not self._is_draining():
            self._drain()
        self._look_again(False)
        is_done = not self._jobs and self._running == 0
        if self._is_draining() and (is_done or self._stops > 1 or boot_s() >= self._drain_until):
            self._is_serving = False
            self._link.stop()

    def _is_draining(self) -> bool:
        return self._drain_until < math.inf

    def _drain(self) -> None:
        LOG.info("stopping: finishing %d calls under way", self._running)
        self._drain_until = boot_s() + self._drain_timeout
        self._report()
        for line in self._lines.values():
            if self._link.channel is not None and line.consumer:
                self._link.channel.basic_cancel(line.consumer)
        for job in self._doubtful:
            self._put_back(job)
        self._doubtful.clear()
