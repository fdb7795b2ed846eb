import type { IncomingMessage, ServerResponse } from "node:http";
import { codeOf, messageOf, toError } from "#lib/base/index.ts";
import { DoorRefusal } from "#kernel/doors/index.ts";
import { type ModelError, refusal, Refused } from "../failure.ts";
import type { Answer, Answered, Call, Route } from "./call.ts";
import { unknownCaller } from "./callers.ts";
import type { ApiParts } from "./parts.ts";
import { routesOf } from "./routes.ts";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export const prefix = "/api/v3";

/** Answers requests for `/api/v3`. Rejects with refusals that the door words. */
export function apiHandler(parts: ApiParts): (exchange: Exchange) => Promise<void> {
  const routes = routesOf(parts);
  return async (exchange) => {
    try {
      const answer = await answerOf(parts, routes, exchange);
      if (answer !== undefined) send(exchange, answer);
    } catch (thrown) {
      sendFailure(parts, exchange, thrown);
    }
  };
}

interface Target {
  readonly path: string;
  readonly query: URLSearchParams;
}

const noQuery = new URLSearchParams();

export function targetOf(url: string): Target {
  const mark = url.indexOf("?");
  if (mark < 0) return { path: url, query: noQuery };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

async function answerOf(
  { callers, agents }: ApiParts,
  routes: ReadonlyMap<string, Route>,
  { request, response }: Exchange,
): Promise<Answered> {
  const { path, query } = targetOf(request.url ?? "");
  const identified = callers.identify(request, query);
  const caller = identified instanceof Promise ? await identified : identified;
  if (caller === unknownCaller) return unauthorized;
  if (caller.principal.kind === "runner") agents?.heard(caller.principal.machine);
  const call: Call = { method: request.method ?? "", path: segmentsOf(path), query, caller, request, response };
  const route = routes.get(call.path[0] ?? "");
  if (route === undefined || !isOfApi(path)) throw new Refused(refusal(404, call.method, "", path, "No route"));
  return await route(call);
}

export const unauthorized: Answer = { code: 401, headers: { "WWW-Authenticate": "dr-provision" } };

const isOfApi = (path: string): boolean => path.startsWith(`${prefix}/`);

function segmentsOf(path: string): readonly string[] {
  const segments = path.slice(prefix.length + 1).split("/");
  if (!path.includes("%")) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    throw new Refused(refusal(400, "GET", "", path, "the path is not encoded properly"));
  }
}

/** Answers without a body have a type, too: clients insist on it. */
function send({ request, response }: Exchange, { code, body, headers }: Answer): void {
  endUnread(request, response);
  const text = body === undefined ? "" : JSON.stringify(body);
  const length = code === 204 || code === 304 ? {} : { "Content-Length": Buffer.byteLength(text) };
  response.writeHead(code, { "Content-Type": "application/json", ...length, ...headers });
  response.end(request.method === "HEAD" || text === "" ? undefined : text);
}

/** Ends the connection after the answer if a long body has not been read. */
function endUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const { "content-length": length = "0", "transfer-encoding": coding } = request.headers;
  if (coding !== undefined || Number(length) > mostDropped) response.shouldKeepAlive = false;
}

const mostDropped = 64 * 1024;

function sendFailure({ log }: ApiParts, exchange: Exchange, thrown: unknown): void {
  // The door words these.
  if (thrown instanceof DoorRefusal) throw thrown;
  const { request, response } = exchange;
  const { path } = targetOf(request.url ?? "");
  const method = request.method ?? "";
  if (!(thrown instanceof Refused))
    // The query may hold a token.
    log.error("a request has failed", { method, path, error: messageOf(thrown), stack: toError(thrown).stack });
  // A begun answer would look complete.
  if (response.headersSent) return void response.destroy();
  const body = thrown instanceof Refused ? thrown.body : failureOf(method, thrown);
  send(exchange, {
    code: body.Code,
    body: { ...body, Type: body.Type === "" ? method : body.Type } satisfies ModelError,
  });
}

/** Internal errors are not shown, but whoever sees this one can do something. */
const failureOf = (method: string, thrown: unknown): ModelError =>
  ["ENOSPC", "EDQUOT"].includes(codeOf(thrown) ?? "")
    ? refusal(507, method, "", "", "the disk of the server is full")
    : refusal(500, method, "", "", "the server has failed");
