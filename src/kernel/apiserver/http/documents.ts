import type { ResourceRegistry } from "../kinds/served-resource.ts";

/** A GET for discovery or OpenAPI, also for in-process clients. */
export interface DocumentRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  /** The client's ETag; an equal one is answered with 304. */
  readonly ifNoneMatch: string | undefined;
}

/** `Content-Type` may be among the headers and defaults to JSON. */
export interface DocumentReply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** Discovery and OpenAPI: undefined for other paths. Asynchronous because schemas are made on first use. */
export type Documents = (
  registry: ResourceRegistry,
  request: DocumentRequest,
) => DocumentReply | undefined | Promise<DocumentReply | undefined>;
