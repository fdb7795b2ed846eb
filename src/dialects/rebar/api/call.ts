import type { IncomingMessage, ServerResponse } from "node:http";
import type { Write } from "../store.ts";
import { refusal, Refused } from "../failure.ts";
import { requirement } from "../model/claims.ts";
import type { Caller } from "./callers.ts";

/** A request of a caller who has proved who they are. */
export interface Call {
  readonly method: string;
  /** The decoded segments after `/api/v3`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Answer {
  readonly code: number;
  /** Written as JSON; absent: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined if the route has written the response itself. */
export type Answered = Answer | undefined;
export type Route = (call: Call) => Answered | Promise<Answered>;

export const found = (body: unknown): Answer => ({ code: 200, body });
export const created = (body: unknown): Answer => ({ code: 201, body });
export const done: Answer = { code: 204 };

export const isRead = (method: string): boolean => method === "GET" || method === "HEAD";

export const noRoute = ({ method, path }: Call): Refused =>
  new Refused(refusal(404, method, path[0] ?? "", path.slice(1).join("/"), "No route"));

export const notFound = (method: string, model: string, key: string): Refused =>
  new Refused(refusal(404, method === "HEAD" ? "GET" : method, model, key, "Not Found"));

export const badRequest = (method: string, model: string, key: string, message: string): Refused =>
  new Refused(refusal(400, method, model, key, message));

/** Throws 403 unless the caller has the claim. */
export function demand({ caller }: Call, scope: string, action: string, specific: string): void {
  if (!caller.may(scope, action, specific)) throw denied(scope, action, specific);
}

export const denied = (scope: string, action: string, specific: string): Refused =>
  new Refused(refusal(403, "AUTH", scope, specific, "Cannot access URL", requirement(scope, action, specific)));

export const isSet = (query: URLSearchParams, name: string): boolean => query.get(name) === "true";

export const listOfWords = (text: string | null): readonly string[] | undefined =>
  text === null ? undefined : text.split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));

export function writeOf({ caller, query }: Call, machine?: string): Write {
  return {
    by: caller.principal,
    isForced: isSet(query, "force"),
    mayReposition: machine !== undefined && caller.may("machines", "updateTaskList", machine),
  };
}
