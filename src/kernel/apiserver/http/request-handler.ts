import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "#kernel/model/index.ts";
import { guardBrowser } from "../authz/browser-guard.ts";
import { authorize } from "../authz/identity.ts";
import type { Authenticator } from "../authz/tokens.ts";
import { badRequest, unknownResource } from "../verbs/refusals.ts";
import type { Documents } from "./documents.ts";
import { type Exchange, lazySignal } from "./exchange.ts";
import { type HealthChecks, healthReply } from "./health.ts";
import type { InFlight, Slot } from "./in-flight.ts";
import type { RequestLabels, RequestMetrics } from "./metrics.ts";
import { answerCall, identifyCall, MethodNotAllowed, type ResourceServer } from "./resource-handler.ts";
import { jsonReply, refusalOf, type Reply, send, sendStatus } from "./respond.ts";
import { parseRoute } from "./route.ts";
import { versionInfo } from "./version.ts";

const maxUrlLength = 8192;

/** The parts of one listener that its requests use. */
export interface FrontDoor {
  readonly resources: ResourceServer;
  readonly authenticator: Authenticator;
  readonly documents: Documents;
  readonly health: HealthChecks;
  readonly inFlight: InFlight;
  readonly metrics: RequestMetrics;
  readonly hostNames: readonly string[];
  readonly version: string;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
}

type Labels = Omit<RequestLabels, "code">;
const otherLabels: Labels = { verb: "other", resource: "other", subresource: "" };

/** Answers one request, whatever it is; never throws. */
export async function handleRequest(
  door: FrontDoor,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { clock, log } = door.resources.context;
  const startedAt = clock.now();
  stampHeaders(request, response);
  const told: { labels: Labels } = { labels: otherLabels };
  try {
    await route(door, request, response, told);
  } catch (thrown) {
    if (request.socket.destroyed) {
      // Nobody is there to hear of it.
      response.destroy();
    } else {
      const refusal = refusalOf(thrown);
      if (refusal.reason === "InternalError") log.error("request failed", { path: request.url, error: thrown });
      drainBody(request, response);
      sendStatus(response, refusal.toStatus(), thrown instanceof MethodNotAllowed ? { Allow: thrown.allow } : {});
    }
  }
  door.metrics.record({ ...told.labels, code: String(response.statusCode) }, clock.now() - startedAt);
}

function stampHeaders(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  response.setHeader("X-Request-Id", id);
  response.setHeader("Audit-Id", id);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cache-Control", "no-cache, private");
}

/** A refusal may come before the body has been read; the rest of it must not be taken for the next request. */
function drainBody(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete) response.setHeader("Connection", "close");
}

async function route(
  door: FrontDoor,
  request: IncomingMessage,
  response: ServerResponse,
  told: { labels: Labels },
): Promise<void> {
  if (door.closing.aborted) throw new ApiError("ServiceUnavailable", "the server is shutting down");
  const refused = guardBrowser(request.headers, door.hostNames);
  if (refused !== undefined) {
    drainBody(request, response);
    return sendStatus(response, refused.status);
  }
  const { path, query } = parseUrl(request.url ?? "/");
  const open = openReply(door, request.method ?? "", path, query);
  // Health and version are open to everybody, so the caller has no name yet.
  const anonymous: Exchange = {
    request,
    response,
    path,
    query,
    identity: { user: "system:anonymous", groups: [] },
    signal: lazySignal(response, door.closing),
  };
  if (open !== undefined) return send(anonymous, open);
  const address = request.socket.remoteAddress ?? "";
  const identity = door.authenticator.authenticate(request.headers.authorization, address);
  const exchange: Exchange = { ...anonymous, identity };
  const resource = parseRoute(path);
  if (resource === undefined) return sendDocument(door, exchange);
  const call = identifyCall(door.resources.context, resource, request.method ?? "", query);
  const { verb } = call;
  told.labels = { verb, resource: call.resource.type.plural, subresource: resource.subresource };
  const leave = door.inFlight.enter(slotOf(verb), identity.user);
  // A watch goes on after its handler has returned, so its place is free when the answer ends.
  response.once("close", leave);
  await answerCall(door.resources, call, exchange);
}

function slotOf(verb: string): Slot {
  if (verb === "watch") return "watch";
  return verb === "get" || verb === "list" ? "reading" : "mutating";
}

function parseUrl(url: string): { readonly path: string; readonly query: URLSearchParams } {
  if (url.length > maxUrlLength) {
    throw new ApiError("BadRequest", `the URL is longer than ${maxUrlLength} characters`, { code: 414 });
  }
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)) };
}

/** What is answered without credentials. */
function openReply(door: FrontDoor, method: string, path: string, query: URLSearchParams): Reply | undefined {
  const reply =
    path === "/version" || path === "/version/"
      ? jsonReply(versionInfo(door.version))
      : healthReply(path, query, door.health);
  if (reply !== undefined && method !== "GET" && method !== "HEAD") throw new MethodNotAllowed(method, ["GET"]);
  return reply;
}

/** Paths that name no resource: metrics, discovery, OpenAPI and the list of paths. */
async function sendDocument(door: FrontDoor, exchange: Exchange): Promise<void> {
  const { path, query, request } = exchange;
  authorize(exchange.identity, { verb: "get", group: "", resource: path });
  const { context } = door.resources;
  if (path === "/metrics") return send(exchange, await metricsReply(door));
  if (path === "/") return send(exchange, jsonReply({ paths: rootPaths(door) }));
  const etag = request.headers["if-none-match"];
  const accept = request.headers.accept ?? "";
  const found = await door.documents(context.registry(), { path, query, accept, ifNoneMatch: etag });
  if (found === undefined) throw unknownResource();
  if (request.method !== "GET" && request.method !== "HEAD") throw new MethodNotAllowed(request.method ?? "", ["GET"]);
  const { "Content-Type": contentType = "application/json", ...headers } = found.headers;
  await send(exchange, { code: found.code, contentType, headers, body: Buffer.from(found.body) });
}

async function metricsReply(door: FrontDoor): Promise<Reply> {
  const body = Buffer.from(await door.metrics.render());
  return { code: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body };
}

function rootPaths(door: FrontDoor): readonly string[] {
  const groupVersions = door.resources.context
    .registry()
    .all()
    .map(({ type }) => {
      return type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
    });
  const groups = groupVersions
    .filter((path) => path.startsWith("/apis/"))
    .map((path) => path.slice(0, path.lastIndexOf("/")));
  const fixed = [
    "/api",
    "/apis",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
  ];
  return [...new Set([...fixed, ...groups, ...groupVersions])].sort();
}
