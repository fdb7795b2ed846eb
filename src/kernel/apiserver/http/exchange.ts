import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { JsonValue } from "#lib/base/index.ts";
import type { LargeBodies } from "./large-bodies.ts";
import type { SlowReaders } from "./slow-readers.ts";
import type { YamlReader } from "./yaml-reader.ts";
import type { Identity } from "../authz/identity.ts";

/** One request and its answer, with what is known of them before a route is chosen. It lives as long as the answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As it came, still percent-encoded: routes decode their segments once. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  /** Large bodies of all requests that are under way. */
  readonly bodies: LargeBodies;
  readonly yaml: YamlReader;
  /** Whoever waits for the reader of the answer does so here. */
  readonly readers: SlowReaders;
  /** Present when the audit log wants to know what was sent. */
  readonly noteBody?: (body: JsonValue | undefined) => void;
  /**
   * Present for writes: takes their place among those under way, or throws 429. Called when the body has come, because whoever sends
   * his slowly would otherwise keep others out with a few bytes a minute.
   */
  readonly enter?: () => void;
  /**
   * Present when the client wants the connection for something else than HTTP (`Upgrade`): the connection, and what came behind the
   * headers. The response is still assigned to it, and closes with it.
   */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer };
  /** Aborts when the client goes away or the server closes. Made when first asked for: most requests never wait. */
  signal(): AbortSignal;
}

/**
 * The signal of one exchange, for Exchange.signal; `closing` are others that end it. A response that was destroyed before the first question gives a signal that has
 * aborted already. An AbortController with its listener costs more than the rest of a small GET, hence lazily.
 */
export function lazySignal(response: ServerResponse, ...closing: readonly AbortSignal[]): () => AbortSignal {
  let signal: AbortSignal | undefined;
  return () => {
    if (signal !== undefined) return signal;
    const gone = new AbortController();
    if (response.destroyed) gone.abort();
    else response.once("close", () => gone.abort());
    signal = AbortSignal.any([gone.signal, ...closing]);
    return signal;
  };
}
