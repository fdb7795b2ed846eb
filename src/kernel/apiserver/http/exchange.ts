import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../authz/identity.ts";

/** One request and its answer, with what is known of them before a route is chosen. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  /** Aborts when the client goes away or the server closes. Made when first asked for: most requests never wait. */
  signal(): AbortSignal;
}

/** The signal of one exchange, for Exchange.signal. */
export function lazySignal(response: ServerResponse, closing: AbortSignal): () => AbortSignal {
  let signal: AbortSignal | undefined;
  return () => {
    if (signal !== undefined) return signal;
    const gone = new AbortController();
    if (response.destroyed) gone.abort();
    else response.once("close", () => gone.abort());
    signal = AbortSignal.any([gone.signal, closing]);
    return signal;
  };
}
