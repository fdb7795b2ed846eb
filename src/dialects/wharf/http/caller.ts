import { refuse } from "./problem.ts";
import type { RestContext, RestEnvironment } from "./rest-api.ts";

/** Limit for clients without credentials. */
const mostAnonymous = 1000;

/** The door has checked any token that is present; a query token is only valid for requesting workers. */
const isAnonymous = ({ req }: RestContext): boolean =>
  req.header("authorization") === undefined &&
  !(req.method === "POST" && req.path === "/api/worker" && (req.query("token") ?? "") !== "");

/** For the audit log: `wharf:token from 127.0.0.1`. */
export function callerOf(context: RestContext): string {
  const bindings: Partial<RestEnvironment["Bindings"]> | undefined = context.env;
  const address = bindings?.incoming?.socket.remoteAddress;
  const user = isAnonymous(context) ? "system:anonymous" : "wharf:token";
  return address === undefined ? user : `${user} from ${address}`;
}

export function boundAnonymous(context: RestContext, count: number, what: string): void {
  if (count >= mostAnonymous && isAnonymous(context))
    throw refuse("too-many", `there are ${count} ${what}; clients without a token cannot add to ${mostAnonymous}`);
}
