import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { JsonValue } from "#lib/base/index.ts";
import type { LargeBodies } from "./large-bodies.ts";
import type { SlowReaders } from "./slow-readers.ts";
import type { YamlReader } from "./yaml-reader.ts";
import type { Identity } from "../authz/identity.ts";

/** One request and its answer, and what is known before a route is chosen. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Still percent-encoded: routes decode their segments once. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  /** The large bodies of all requests under way. */
  readonly bodies: LargeBodies;
  readonly yaml: YamlReader;
  readonly readers: SlowReaders;
  /** Present when the audit log records bodies. */
  readonly noteBody?: (body: JsonValue | undefined) => void;
  /**
   * Present for writes: counts this one as under way or throws 429. Called when the body is complete, because a slow
   * sender would otherwise keep others out.
   */
  readonly enter?: () => void;
  /**
   * Present when the client asks for an upgrade: the connection and the bytes after the headers. The response stays
   * assigned to it and closes with it.
   */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer };
  /** Aborts when the client goes away or the server closes. Made on first use: most requests never wait. */
  signal(): AbortSignal;
}

/**
 * The signal of an exchange, aborted when the response or any of `closing` ends. Lazy, because an AbortController costs
 * more than the rest of a small GET.
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
