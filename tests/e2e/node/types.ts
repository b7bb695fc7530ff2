// The library's types of messages have the members of the schemas. It compiles, or they differ.
import type {RequestMessage, Status, SubmissionMembers} from "makegood";
import type {components} from "./messages.js";

type Schemas = components["schemas"];
type Both<A, B> = [A, B] extends [B, A] ? true : never;
type Alike<A, B> = Both<Required<A>, Required<B>> & Both<A, B>; // optional members, too

export const alike: {
  request: Alike<RequestMessage, Schemas["Request"]>;
  call: Alike<RequestMessage["request"], Schemas["Request"]["request"]>;
  status: Alike<Status, Schemas["Status"]>;
  cause: Alike<NonNullable<Status["cause"]>, NonNullable<Schemas["Status"]["cause"]>>;
  submission: Alike<SubmissionMembers & Pick<Schemas["Submission"], "workflow" | "payload">, Schemas["Submission"]>;
} = {request: true, call: true, status: true, cause: true, submission: true};
