import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import type { Identity } from "../authz/identity.ts";

/** What pages are made of: static files, open to all, and what sessions may read. Thrown refusals become a Status. */
export interface Pages {
  /** Paths below `/slipway/api` come here as well, instead of to this server's own API. */
  readonly hasApi?: boolean;
  answer(call: PageCall): Promise<void>;
  close(): void;
}

export interface PageCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Below `/slipway`, still percent-encoded; begins with a slash. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Absent: the request comes from no page of ours, and gets nothing but static files. */
  readonly caller?: PageCaller;
  /** Aborts when the client goes away, the server closes, or a guarded answer loses its session. */
  readonly signal: () => AbortSignal;
}

export interface PageCaller {
  readonly identity: Identity;
  /** Has the rights of the session. */
  readonly client: ApiClient;
  /** Whether the session may list the kind, in one namespace or in all of them. */
  mayList(type: Pick<ResourceType, "group" | "plural">, namespace?: string): boolean;
  /** Whether the session may get a path that is no resource, such as `/slipway/status`. */
  mayGet(path: string): boolean;
  /** Counts a long answer, or throws 429; it ends with the session. */
  openStream(): void;
}

const root = "/slipway";
const mirrorRoot = `${root}/api`;

export const isPagePath = (path: string): boolean => path === root || path.startsWith(`${root}/`);

export const pagePath = (path: string): string => path.slice(root.length) || "/";

/** The Kubernetes API for sessions: `/slipway/api/apis/slipway.dev/v1alpha1/…`. Undefined for another path. */
export const mirroredPath = (path: string): string | undefined =>
  path === mirrorRoot || path.startsWith(`${mirrorRoot}/`) ? path.slice(mirrorRoot.length) || "/" : undefined;
