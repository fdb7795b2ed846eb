import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError, badRequest, unknownResource } from "#kernel/model/index.ts";
import type { ApiClient, Metrics } from "#kernel/kit/index.ts";
import type { Instant, JsonObject, JsonValue, Millis } from "#lib/base/index.ts";
import { type AuditFacts, auditLine } from "../audit/audit-record.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Identity } from "../authz/identity.ts";
import { guardBrowser } from "../authz/browser-guard.ts";
import { certificateIdentity, ignoredCertificate } from "../authz/client-certificate.ts";
import { impersonated } from "../authz/impersonation.ts";
import { accessTo, authorize } from "../authz/authorizer.ts";
import type { Authenticator } from "../authz/tokens.ts";
import type { Documents } from "./documents.ts";
import { type Exchange, lazySignal } from "./exchange.ts";
import { type HealthChecks, healthReply, versionInfo } from "./health.ts";
import type { LargeBodies } from "./large-bodies.ts";
import type { InFlight, Slot } from "./in-flight.ts";
import type { RequestLabels, RequestMetrics } from "./metrics.ts";
import { answerCall, identifyCall, MethodNotAllowed, type ResourceServer } from "./resource-handler.ts";
import { checkTimeout, wantsIndent } from "./query.ts";
import { jsonReply, refusalOf, type Reply, send, sendStatus } from "./respond.ts";
import type { OpenStreams } from "./open-streams.ts";
import { isPodStream, parseRoute, type ResourceRoute } from "./route.ts";
import { isPagePath, mirroredPath, pagePath, type Pages } from "./pages.ts";
import { isFromPage, isSessionPath, sessionOf, sessionReply } from "./session-endpoints.ts";
import type { SlowReaders } from "./slow-readers.ts";
import type { Sessions, Witness } from "../sessions/sessions.ts";
import type { YamlReader } from "./yaml-reader.ts";

// The order of checks: closing (503), Host and Origin (400, 421, 403), URL, health and version (open to all), sessions,
// authentication (401). A resource path then: kind and verb (404, 405, 501), limits (429), authorization (403), the
// verb; writes count as under way when their body is complete. Any other path: authorization, then metrics, discovery,
// OpenAPI or 404. A connection whose body is still arriving is not used again after a refusal.

/** What proxies pass on. */
const maxUrlLength = 8192;
/** Longer URLs have large selectors or continue tokens, which take half a millisecond to read. */
const shortUrlLength = 1024;

/** Decrypting this much is cheaper than another connection's handshake. */
const drainedBytes = 256 * 1024;

/** Everything but `hostNames` and `closing` is shared by a server's listeners. */
export interface FrontDoor {
  readonly resources: ResourceServer;
  readonly authenticator: Authenticator;
  readonly documents: Documents;
  readonly health: HealthChecks;
  readonly inFlight: InFlight;
  readonly bodies: LargeBodies;
  readonly yaml: YamlReader;
  readonly readers: SlowReaders;
  readonly sessions: Sessions;
  readonly streams: OpenStreams;
  readonly requests: RequestMetrics;
  readonly metrics: Metrics;
  readonly hostNames: readonly string[];
  readonly version: string;
  readonly closing: AbortSignal;
  /** Answers `/slipway/status`. */
  readonly about?: (() => JsonObject) | undefined;
  readonly pages?: Pages;
  /** A client with the rights of this identity. */
  readonly clientOf: (identity: Identity) => ApiClient;
  readonly audit?: AuditLog;
}

interface Told {
  labels: Labels;
  identity?: Identity;
  caller?: Identity;
  route?: ResourceRoute;
  query?: URLSearchParams;
  body?: JsonValue | undefined;
  /** Health and version are not audited. */
  isOpen?: true;
}

type Labels = Omit<RequestLabels, "code">;
const otherLabels: Labels = { verb: "other", resource: "other", subresource: "" };

/** Answers and counts one request; never throws. A handler's bug is a 500, logged with its stack. */
export async function handleRequest(
  door: FrontDoor,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade?: Exchange["upgrade"],
): Promise<void> {
  const { clock, log } = door.resources.context;
  const startedAt = clock.monotonic();
  // Node removes it from a request that ends early.
  const { socket } = request;
  const ip = socket.remoteAddress ?? "";
  stampHeaders(request, response);
  const told: Told = { labels: otherLabels };
  try {
    await route(door, request, response, told, upgrade);
  } catch (thrown) {
    if (socket.destroyed) {
      response.destroy();
    } else {
      const refusal = refusalOf(thrown);
      if (refusal.reason === "InternalError") log.error("request failed", { path: pathOf(request), error: thrown });
      drainBody(door, request, response);
      sendStatus(response, refusal.toStatus(), {
        headers: thrown instanceof MethodNotAllowed ? { Allow: thrown.allow } : {},
        isForPeople: isForPeople(request, told.query),
      });
    }
  }
  // Logs and artifacts may wait for people and disks.
  if (response.writableEnded && !isStreamed(told.route?.subresource)) door.readers.ended(response);
  const took = clock.monotonic() - startedAt;
  door.requests.record({ ...told.labels, code: String(response.statusCode) }, took);
  if (door.audit !== undefined && told.isOpen !== true) {
    door.audit.append(auditLine(auditFacts(request, response, told, { now: clock.now(), took, ip })));
  }
}

/** Sent as it arrives. */
const isStreamed = (subresource: string | undefined): boolean => subresource === "log" || subresource === "artifacts";

/** Without the query, which may hold a token. */
const pathOf = ({ url = "" }: IncomingMessage): string => (url.split("?", 1)[0] ?? "").slice(0, 256);

/** A watch is recorded when it begins. */
function auditFacts(
  request: IncomingMessage,
  response: ServerResponse,
  { labels, identity, caller, route, query, body }: Told,
  { now, took, ip }: { readonly now: Instant; readonly took: Millis; readonly ip: string },
): AuditFacts {
  return {
    id: String(response.getHeader("Audit-Id")),
    startedAt: now - took,
    ms: took,
    ip,
    code: response.statusCode,
    verb: route === undefined ? (request.method ?? "").toLowerCase() : labels.verb,
    ...(route === undefined ? { path: pathOf(request) } : route),
    ...(route === undefined ? {} : { resource: route.plural }),
    ...(identity === undefined ? {} : { identity }),
    ...(caller === undefined ? {} : { caller }),
    ...(query?.getAll("dryRun").includes("All") === true ? { isDryRun: true } : {}),
    ...(body === undefined ? {} : { body, bodyBytes: Number(request.headers["content-length"]) }),
  };
}

/** Sets the request's id, the client's if it is plain text, and headers against caching and content guessing. */
function stampHeaders(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  response.setHeader("X-Request-Id", id);
  response.setHeader("Audit-Id", id);
  response.setHeader("X-Content-Type-Options", "nosniff");
  // Objects may hold secrets, so nothing caches them; documents with a hash override this.
  response.setHeader("Cache-Control", "no-store");
  // A browser that opens an answer must run nothing in it.
  response.setHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
}

/** May be called before the URL has been checked. */
function isForPeople({ url = "", headers }: IncomingMessage, known?: URLSearchParams): boolean {
  if (known !== undefined) return wantsIndent(known, headers["user-agent"]);
  const mark = url.indexOf("?");
  const query = mark < 0 || url.length > maxUrlLength ? "" : url.slice(mark + 1);
  return wantsIndent(new URLSearchParams(query), headers["user-agent"]);
}

/** Keeps the unread body out of the next request: reads a short one as Go does, else closes the connection. */
function drainBody({ bodies, resources }: FrontDoor, request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const announced = Number(request.headers["content-length"]);
  if (announced > Math.min(drainedBytes, resources.context.limits.maxBodyBytes) || Number.isNaN(announced))
    response.setHeader("Connection", "close");
  else void bodies.share(request).then(() => request.resume());
}

/** Throws refusals; fills in `told`. */
async function route(
  door: FrontDoor,
  request: IncomingMessage,
  response: ServerResponse,
  told: Told,
  upgrade: Exchange["upgrade"],
): Promise<void> {
  if (door.closing.aborted) throw new ApiError("ServiceUnavailable", "the server is shutting down");
  if (hasTwoHosts(request.rawHeaders)) throw badRequest("the request has more than one Host header");
  const refused = guardBrowser(request.headers, door.hostNames, isPageVisit(request));
  if (refused !== undefined) {
    drainBody(door, request, response);
    return sendStatus(response, refused.status, { isForPeople: isForPeople(request) });
  }
  if (upgrade !== undefined && hasBody(request))
    throw badRequest("a request that asks for an upgrade can have no body");
  const { url = "/" } = request;
  // Rare, unless a client sends many refused ones.
  if (url.length > shortUrlLength && url.length <= maxUrlLength) await door.bodies.share(request);
  const { path, query } = parseUrl(url);
  told.query = query;
  const open = openReply(door, request.method ?? "", path, query);
  // Health and version need no credentials.
  const anonymous: Exchange = {
    request,
    response,
    path,
    query,
    identity: { user: "system:anonymous", groups: [] },
    bodies: door.bodies,
    yaml: door.yaml,
    readers: door.readers,
    signal: lazySignal(response, door.closing),
  };
  if (open !== undefined) {
    told.isOpen = true;
    return send(anonymous, open);
  }
  if (isSessionPath(path)) return answerSession(door, anonymous, told);
  const mirrored = door.pages?.hasApi === true ? undefined : mirroredPath(path);
  if (mirrored === undefined && isPagePath(path) && path !== statusPath) return answerPage(door, anonymous, told);
  const { identity, proof } =
    mirrored === undefined ? identify(door, request, told) : identifySession(door, request, path, told);
  const noteBody =
    door.audit === undefined ? {} : { noteBody: (body: JsonValue | undefined) => void (told.body = body) };
  const exchange: Exchange = {
    ...anonymous,
    path: mirrored ?? path,
    identity,
    ...noteBody,
    ...(upgrade === undefined ? {} : { upgrade }),
  };
  const resource = parseRoute(exchange.path);
  if (resource === undefined) return sendDocument(door, exchange);
  const call = identifyCall(door.resources.context, resource, request.method ?? "", query);
  const { verb } = call;
  const isStream = verb === "watch" || isStreamed(resource.subresource) || isPodStream(resource.subresource);
  // Watches and streams have timeouts of their own.
  if (!isStream) checkTimeout(query);
  told.route = resource;
  told.labels = { verb, resource: call.resource.type.plural, subresource: resource.subresource };
  const entrant = { user: identity.user, resource: call.resource.type.plural };
  const slot = slotOf(verb, resource.subresource);
  const enter = () => {
    const leave = door.inFlight.enter(slot, entrant);
    // A watch goes on after its handler has returned.
    if (response.destroyed) leave();
    else response.once("close", leave);
  };
  // Refuse early instead of waiting for a body.
  if (slot === "mutating") door.inFlight.check(slot);
  else enter();
  await answerCall(door.resources, call, {
    ...exchange,
    ...(isStream ? { signal: guardedSignal(door, response, slot, proof()) } : {}),
    ...(slot === "mutating" ? { enter } : {}),
  });
}

/** A watch ends normally, and its client is refused later; a log is cut, since a normal end would look complete. */
function guardedSignal(door: FrontDoor, response: ServerResponse, slot: Slot, proof: Witness): Exchange["signal"] {
  const end = new AbortController();
  const release = door.streams.guard(proof, () =>
    slot === "watch" || slot === "stream" ? end.abort() : response.destroy(),
  );
  response.once("close", release);
  return lazySignal(response, door.closing, end.signal);
}

/** The caller, also recorded for the audit log, or 401. */
function identify(door: FrontDoor, request: IncomingMessage, told: Told) {
  const { clock, authorizer } = door.resources.context;
  const { authorization } = request.headers;
  const certified = certificateIdentity(request.socket, request.headers, clock.now());
  const caller = explained(request, clock.now(), () =>
    door.authenticator.authenticate(authorization, request.socket.remoteAddress ?? "", certified),
  );
  const identity = impersonated(authorizer, caller, request);
  told.identity = identity;
  told.caller = caller;
  const witness = () => (identity === caller ? door.authenticator.witness(authorization, certified) : undefined);
  const proof = () => door.authenticator.proof(authorization, certified);
  return { identity, witness, proof };
}

/** Explains why a valid certificate was ignored when the answer is 401. */
function explained<T>({ socket, headers }: IncomingMessage, now: Instant, authenticate: () => T): T {
  try {
    return authenticate();
  } catch (thrown) {
    const why =
      thrown instanceof ApiError && thrown.code === 401 ? ignoredCertificate(socket, headers, now) : undefined;
    throw why === undefined ? thrown : new ApiError("Unauthorized", why);
  }
}

/** Browser login and logout: the only place where a cookie counts. */
async function answerSession(door: FrontDoor, exchange: Exchange, told: Told): Promise<void> {
  const { sessions, authenticator } = door;
  const server = { sessions, authenticator, limits: door.resources.context.limits };
  const { identity, reply } = await sessionReply(server, exchange, () => {
    const { identity, witness } = identify(door, exchange.request, told);
    return { identity, witness: witness() };
  });
  if (identity !== undefined) told.identity = identity;
  await send(exchange, reply);
}

/** The user of a page's session, also recorded for the audit log; refuses requests without one. */
function identifySession(door: FrontDoor, request: IncomingMessage, path: string, told: Told) {
  const { identity: caller, proof } = sessionOf(door, request, path);
  const identity = impersonated(door.resources.context.authorizer, caller, request);
  told.identity = identity;
  told.caller = caller;
  return { identity, proof: () => proof };
}

/** Pages get their files without credentials, and anything else with a session. */
async function answerPage(door: FrontDoor, exchange: Exchange, told: Told): Promise<void> {
  const { request, response, path, query } = exchange;
  if (door.pages === undefined) throw unknownResource();
  const end = new AbortController();
  const signal = lazySignal(response, door.closing, end.signal);
  const call = { request, response, path: pagePath(path), query, signal };
  if (!isFromPage(request)) {
    if (request.method !== "GET" && request.method !== "HEAD")
      throw new MethodNotAllowed(request.method ?? "", ["GET"]);
    told.isOpen = true;
    return await door.pages.answer(call);
  }
  const { identity, proof } = identifySession(door, request, path, told);
  const { authorizer } = door.resources.context;
  const entrant = { user: identity.user, resource: "pages" };
  const leave = door.inFlight.enter("reading", entrant);
  response.once("close", leave);
  await door.pages.answer({
    ...call,
    caller: {
      identity,
      client: door.clientOf(identity),
      mayList: (type, namespace = "") => authorizer.allows(identity, accessTo(type, "list", { namespace, name: "" })),
      mayGet: (target) => authorizer.allows(identity, { verb: "get", group: "", resource: "", path: target }),
      openStream: () => {
        response.once("close", door.inFlight.enter("watch", entrant));
        leave();
        response.once(
          "close",
          door.streams.guard(proof(), () => end.abort()),
        );
      },
    },
  });
}

/** Answered by a static file or refused: see `answerPage`. */
const isPageVisit = (request: IncomingMessage): boolean =>
  request.method === "GET" && isPagePath(pathOf(request)) && !isFromPage(request);

/** A followed log counts as reading. */
function slotOf(verb: string, subresource: string): Slot {
  if (verb === "watch") return "watch";
  if (isPodStream(subresource)) return "stream";
  return verb === "get" || verb === "list" ? "reading" : "mutating";
}

/** After an upgrade no bytes are a body. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** RFC 9112, 3.2: proxies may choose different ones. Names and values alternate. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** `URL` would resolve `..` and `//`, which must be refused. */
function parseUrl(url: string): { readonly path: string; readonly query: URLSearchParams } {
  if (url.length > maxUrlLength) {
    throw new ApiError("BadRequest", `the URL is longer than ${maxUrlLength} characters`, { code: 414 });
  }
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)) };
}

function openReply(door: FrontDoor, method: string, path: string, query: URLSearchParams): Reply | undefined {
  const reply =
    path === "/version" || path === "/version/"
      ? jsonReply(versionInfo(door.version))
      : healthReply(path, query, door.health);
  if (reply !== undefined && method !== "GET" && method !== "HEAD") throw new MethodNotAllowed(method, ["GET"]);
  return reply;
}

async function sendDocument(door: FrontDoor, exchange: Exchange): Promise<void> {
  const { path, query, request } = exchange;
  const { context } = door.resources;
  const verb = (request.method ?? "").toLowerCase();
  authorize(context.authorizer, exchange.identity, {
    verb: verb === "head" ? "get" : verb,
    group: "",
    resource: "",
    path,
  });
  if (path === "/metrics") return send(exchange, await metricsReply(door));
  if (path === statusPath) return send(exchange, jsonReply(door.about?.() ?? {}));
  if (path === "/") return send(exchange, jsonReply({ paths: rootPaths(door) }));
  const etag = request.headers["if-none-match"];
  const accept = request.headers.accept ?? "";
  const found = await door.documents(context.registry(), { path, query, accept, ifNoneMatch: etag });
  if (found === undefined) throw unknownResource();
  if (request.method !== "GET" && request.method !== "HEAD") throw new MethodNotAllowed(request.method ?? "", ["GET"]);
  const { "Content-Type": contentType = "application/json", ...headers } = found.headers;
  await send(exchange, { code: found.code, contentType, headers, body: Buffer.from(found.body) });
}

/** The library is loaded on first use. */
async function metricsReply(door: FrontDoor): Promise<Reply> {
  const { renderMetrics } = await import("./metric-text.ts");
  const body = Buffer.from(await renderMetrics(door.metrics.collect()));
  return { code: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body };
}

/** Where the server listens and keeps its data. */
const statusPath = "/slipway/status";

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
    "/slipway/codes",
    "/slipway/session",
    statusPath,
    "/version",
  ];
  return [...new Set([...fixed, ...groups, ...groupVersions])].sort();
}
