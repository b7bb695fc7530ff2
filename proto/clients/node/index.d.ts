// The types of the library. Durations are in seconds.

/** A number that JavaScript would print with other digits, as 14.00. It computes as that number, and is written with its own digits. */
export class Digits {
  /** Throws for a text that is no number of JSON. */
  constructor(text: string);
  readonly text: string;
  toString(): string;
  valueOf(): number;
  toJSON(): unknown;
}

/** Throws for bytes that are no JSON, and for a name that occurs twice in an object. */
export function readJson(bytes: Uint8Array): unknown;

/** As JSON.stringify, and Digits with their digits. Throws for a value that is no JSON. */
export function writeJson(value: unknown): string;

export type Kind = "do" | "undo" | "verify";
export type Executed = "yes" | "no" | "maybe";

/** The answer of a handler. `executed` is the important member: "no" only if it is certain that nothing happened. */
export class Outcome {
  private constructor();
  readonly outcome: "done" | "accepted" | "absent" | "transient" | "permanent" | "unknown";
  readonly executed: Executed;
  readonly result: unknown;
  readonly code: string;
  readonly text: string;
  readonly retryAfterS?: number;
}

/** It is so: the do or undo happened, the verify found it done. */
export function Done(result?: unknown): Outcome;
/** The service works on it. For a step with finish_within, which is then polled with verify. */
export function Accepted(result?: unknown): Outcome;
/** The verify or undo found that it had not happened. */
export function Absent(): Outcome;
/** It failed in a way that may pass. */
export function Transient(options?: {retryAfterS?: number | bigint; text?: string; code?: string; executed?: Executed}): Outcome;
/** A refusal that another attempt would get, too. */
export function Permanent(code: string, text?: string, options?: {executed?: Executed}): Outcome;
/** No answer proves whether it happened; the step's on_unknown decides. */
export function Unknown(text?: string): Outcome;

/** request.schema.json */
export interface RequestMessage {
  v: 1 | 2 | 3;
  order_id: string;
  step: string;
  service: string;
  attempt: number;
  kind: Kind;
  idempotency_key: string;
  do_key: string;
  complete_by: string;
  sent_at: string;
  at_most_once?: boolean;
  pollable?: boolean;
  traceparent?: string;
  request: {
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    path: string;
    headers?: {[name: string]: string};
    content_type?: string;
    response?: "json" | "text";
    body?: unknown;
  };
}

/** A request as its handler gets it. */
export interface Request {
  /** All of it. */
  readonly message: RequestMessage;
  readonly version: number;
  readonly kind: Kind;
  readonly orderId: string;
  readonly step: string;
  readonly attempt: number;
  /** The same for every attempt, redelivery and takeover of this step and kind. */
  readonly idempotencyKey: string;
  /** The key under which the do was, or would have been, sent. */
  readonly doKey: string;
  readonly method: string;
  readonly path: string;
  /** A number in it is Digits where JavaScript would print other digits. */
  readonly body: any;
  readonly traceparent: string;
  /** An earlier delivery of it may have acted, or may be at work. */
  readonly isRedelivered: boolean;
  /** Seconds for the handler, less a margin for the reply. An answer that comes later is dropped. */
  timeLeftS(): number;
}

/** An exception is logged and answered as transient: the service may have acted. */
export type Handler = (request: Request) => Outcome | Promise<Outcome>;

export interface Log {
  info(text: string): void;
  warn(text: string): void;
}

export interface LinkOptions {
  /** Options of net.connect, or tls.connect for amqps: the contents of PEM files as ca, cert and key. */
  socket?: object;
  /** Default: both to stderr. */
  log?: Log;
}

/** Serves the steps of one service. At most `concurrency` handlers run at once. */
export class Agent {
  constructor(service: string, options: LinkOptions & {
    url: string; do: Handler; undo?: Handler; verify?: Handler;
    /** Default 16. */
    concurrency?: number;
    /** Default 30. */
    drainTimeoutS?: number;
  });
  /** Until SIGTERM, SIGINT or stop(). true: everything in hand was answered. Otherwise the broker gives the rest to another agent. */
  run(): Promise<boolean>;
  /** Consuming stops, calls under way are answered, then run() ends. The second time it ends at once. */
  stop(): void;
}

/** submission.schema.json, without workflow and payload */
export interface SubmissionMembers {
  order_id?: string;
  workflow_version?: number;
  priority?: "normal" | "high";
  complete_within?: string;
  notify?: "order" | "steps";
}

/** status.schema.json */
export interface Status {
  v: 1;
  order_id?: string;
  seq: number;
  status: "accepted" | "rejected" | "step_completed" | "waiting" | "processed" | "compensating" | "compensated" | "cancelled" | "error";
  at: string;
  step?: string;
  signal?: string;
  title?: string;
  until?: string;
  reason?: string;
  output?: unknown;
  cause?: {step?: string; code?: string; text?: string; status?: number};
}

/** The statuses by which an order ends. An order in `error` may go on after an operator's repair. */
export const ENDS: readonly Status["status"][];

/** The broker took the post of an order for certain not: its queue is full, or there is none. */
export class Refused extends Error {}

/** A signal was not taken: it changed nothing. */
export class NotTaken extends Error {
  private constructor();
  /** `returned`: the client may not send this signal at all. */
  readonly outcome: "late" | "refused" | "not_found" | "invalid" | "conflict" | "returned" | "unwritable";
}

export class TimeoutError extends Error {}

/** Posts orders and receives their statuses. After a reconnect each order that has not ended is posted again: the same bytes under
 *  the same id are the same order, and its statuses move to the new queue. The timeouts are 30 s if none is given. */
export class Client {
  /** `client` names the client whose exchange and queue `makegood broker apply --client` made; one process per name, since two would
   *  take each other's statuses. Without it the client shares the exchange makegood.intake and makes a queue of its own. */
  constructor(url: string, options?: LinkOptions & {client?: string});
  /** Posts an order and returns its id once the broker has confirmed it. TypeError: an argument is wrong, and nothing was posted.
   *  TimeoutError: whether the order was taken is unknown; submit it again with its id, or wait for it. Refused: it was not taken. */
  submit(workflow: string, payload?: object, options?: SubmissionMembers & {traceparent?: string; timeoutS?: number}): Promise<string>;
  /** Sends a signal to an order, or to the one that waits for it under `key`, and returns its outcome. Only for a client with a
   *  name, and for the signals that `makegood broker apply --client NAME --signal NAME` gave it. `signal_id` is best the id of the
   *  event that the signal reports: the same again is the same signal. TypeError: an argument is wrong, and nothing was sent.
   *  TimeoutError: whether it was taken is unknown; send it again with its signal_id. NotTaken: it changed nothing. */
  signal(name: string, payload: unknown, options: ({order_id: string; key?: undefined} | {key: string; order_id?: undefined}) &
    {signal_id?: string; timeoutS?: number}): Promise<"taken" | "kept" | "counted" | "duplicate">;
  /** The order's statuses by rising `seq`, each once, up to an end. An `error` is one if no later status has come; a call after an
   *  operator's repair begins again and goes on behind it. TimeoutError: none came for so long. */
  statuses(orderId: string, options?: {timeoutS?: number}): AsyncGenerator<Status, void, void>;
  /** The status by which the order ended. */
  wait(orderId: string, options?: {timeoutS?: number}): Promise<Status>;
  /** Drops an order: it is not posted again, and its statuses are passed over. A client has room for 1,000. */
  forget(orderId: string): void;
  close(): Promise<void>;
}
