import type { ResourceRegistry } from "../kinds/served-resource.ts";

/** A GET that discovery or OpenAPI may answer, without the HTTP around it: so the client in this process can ask as well. */
export interface DocumentRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  /** The ETag the caller has; the same one is answered with 304 and no body. */
  readonly ifNoneMatch: string | undefined;
}

/** `Content-Type` is one of the headers; JSON when it is not. */
export interface DocumentReply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** Discovery and OpenAPI: undefined for a path that is none of theirs. May wait, because schemas are made when first asked for. */
export type Documents = (
  registry: ResourceRegistry,
  request: DocumentRequest,
) => DocumentReply | undefined | Promise<DocumentReply | undefined>;
