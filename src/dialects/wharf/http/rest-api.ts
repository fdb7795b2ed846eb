import { Hono, type Context } from "hono";
import { cors } from "hono/cors";
import type { StatusCode } from "hono/utils/http-status";
import type { HttpBindings } from "@hono/node-server";
import { type Logger, toError } from "#lib/base/index.ts";
import { DoorRefusal } from "#kernel/doors/index.ts";
import { jsonText, problemOf, problemType, refusalOfDoor, refuse, RestRefusal, wantsIndent } from "./problem.ts";

export interface RestEnvironment {
  Bindings: HttpBindings;
}
export type RestContext = Context<RestEnvironment>;

/** Errors become problem documents. */
export function createRestApi({
  log,
  origins = [],
  hasSecretQueries = false,
}: {
  readonly log: Logger;
  readonly origins?: readonly string[];
  /** Leaves queries out of refusals, which may be logged. */
  readonly hasSecretQueries?: boolean;
}): Hono<RestEnvironment> {
  // Released servers redirect between paths with and without a trailing slash.
  const api = new Hono<RestEnvironment>({ strict: false });
  if (origins.length > 0) api.use(cors({ origin: origins.includes("*") ? "*" : [...origins] }));
  const answer = (context: RestContext, refused: RestRefusal): Response =>
    sendProblem(context, refused, hasSecretQueries ? context.req.path : pathOf(context));
  api.get("/", (context) => sendJson(context, { message: "pong" }));
  api.notFound((context) => {
    const asked = `${context.req.method} ${context.req.path}`;
    return answer(context, refuse("record-not-found", `there is nothing at ${asked}`));
  });
  api.onError((thrown, context) => {
    if (thrown instanceof RestRefusal) return answer(context, thrown);
    if (thrown instanceof DoorRefusal) {
      for (const [name, value] of Object.entries(thrown.headers)) context.header(name, value);
      return answer(context, refusalOfDoor(thrown));
    }
    const { message, stack } = toError(thrown);
    log.error("a request has failed", { method: context.req.method, path: context.req.path, error: message, stack });
    return answer(context, refuse("internal-server-error", "the server has failed"));
  });
  return api;
}

export const sendJson = (context: RestContext, value: unknown, status: StatusCode = 200): Response =>
  send(context, value, status, "application/json; charset=utf-8");

function sendProblem(context: RestContext, refused: RestRefusal, path: string): Response {
  const problem = problemOf(refused, path);
  return send(context, problem, problem.status, problemType);
}

function send(context: RestContext, value: unknown, status: StatusCode, type: string): Response {
  const text = jsonText(value, wantsIndent(pathOf(context), context.req.header("user-agent")));
  // Keeps headers set by middleware.
  return context.newResponse(text, { status, headers: { "content-type": type } });
}

const pathOf = (context: RestContext): string => context.req.url.replace(/^[a-z]+:\/\/[^/]*/, "");

export function uintOf(name: string, text: string): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
  const found = JSON.stringify(text);
  throw refuse("invalid-param-uint", `${name}: expected a whole number from 0, found ${found}`, { parameter: name });
}
