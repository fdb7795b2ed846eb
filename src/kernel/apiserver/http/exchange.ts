import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { JsonValue } from "#lib/base/index.ts";
import type { LargeBodies } from "./large-bodies.ts";
import type { SlowReaders } from "./slow-readers.ts";
import type { YamlReader } from "./yaml-reader.ts";
import type { Identity } from "../authz/identity.ts";

/** A request and its answer, before routing. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Still percent-encoded: routes decode their segments once. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly identity: Identity;
  /** Large bodies of all current requests. */
  readonly bodies: LargeBodies;
  readonly yaml: YamlReader;
  readonly readers: SlowReaders;
  /** Present when the audit log records bodies. */
  readonly noteBody?: (body: JsonValue | undefined) => void;
  /** For writes: counts this one or throws 429. Called when the body is complete, so slow senders block nobody. */
  readonly enter?: () => void;
  /** For upgrades: the connection and the bytes after the headers. The response stays assigned to it. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer };
  /** Aborts when the client goes away or the server closes. Made on first use: most requests never wait. */
  signal(): AbortSignal;
}

/** Aborted when the response or any of `closing` ends. Lazy: an AbortController costs more than a small GET. */
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
