import type { ResourceRegistry } from "../kinds/served-resource.ts";

/** A GET that discovery or OpenAPI may answer. */
export interface DocumentRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly ifNoneMatch: string | undefined;
}

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
