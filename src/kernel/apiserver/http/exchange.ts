import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../authz/identity.ts";

/** One request and its answer, with what is known of them before a route is chosen. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  /** Aborts when the client goes away or the server closes. */
  readonly signal: AbortSignal;
}
