import { refuse } from "./problem.ts";
import type { RestContext, RestEnvironment } from "./rest-api.ts";

/** The most records of a kind to which clients without credentials can add. */
const mostAnonymous = 1000;

/** The door has checked the token of a client that presents one. It looks at the query only where a worker is requested. */
const isAnonymous = ({ req }: RestContext): boolean =>
  req.header("authorization") === undefined &&
  !(req.method === "POST" && req.path === "/api/worker" && (req.query("token") ?? "") !== "");

/** Who has sent a request, for the audit log: `wharf:token from 127.0.0.1` for a client that presented the token of the server. */
export function callerOf(context: RestContext): string {
  // Absent where no connection is behind the request.
  const bindings: Partial<RestEnvironment["Bindings"]> | undefined = context.env;
  const address = bindings?.incoming?.socket.remoteAddress;
  const user = isAnonymous(context) ? "system:anonymous" : "wharf:token";
  return address === undefined ? user : `${user} from ${address}`;
}

/** Refuses a client without credentials that would add to so many records. */
export function boundAnonymous(context: RestContext, count: number, what: string): void {
  if (count >= mostAnonymous && isAnonymous(context))
    throw refuse("too-many", `there are ${count} ${what}; clients without a token cannot add to ${mostAnonymous}`);
}
