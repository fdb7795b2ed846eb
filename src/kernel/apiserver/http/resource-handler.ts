import { ApiError, apiVersionOf } from "#kernel/model/index.ts";
import type { JsonValue } from "#lib/base/index.ts";
import { authorize } from "../authz/identity.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { acceptedPatchTypes, type PatchType, patchMediaTypes } from "../patch/apply-patch.ts";
import { type Answer, answerBytes, answerObject } from "../verbs/answer.ts";
import type { Endpoint } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject, removalStatus } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { getObject } from "../verbs/get.ts";
import { listObjects } from "../verbs/list.ts";
import { patchObject } from "../verbs/patch.ts";
import { badRequest, unknownResource, unsupportedMediaType } from "../verbs/refusals.ts";
import { updateObject } from "../verbs/update.ts";
import { startWatch } from "../watch/watch.ts";
import { type Negotiated, negotiate } from "./accept.ts";
import { decodeJson, decodeObject, mediaTypeOf, readBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { listMetadata, listReply } from "./list-reply.ts";
import { sendLog } from "./log-reply.ts";
import { deleteRequest, isWatch, listRequest, watchRequest, writeRequest } from "./query.ts";
import { encodeObject, parseIncludeObject, type View } from "./representation.ts";
import { jsonReply, type Reply, send, setWarnings } from "./respond.ts";
import type { ResourceRoute } from "./route.ts";
import type { TurnCache } from "./turn-cache.ts";
import { type WatchMeter, WatchReply } from "./watch-reply.ts";

/** What a request on the resource API is: named for metrics, limits and authorization before it runs. */
export interface ResourceCall {
  readonly verb: string;
  readonly resource: ServedResource;
  readonly route: ResourceRoute;
}

export interface ResourceServer {
  readonly context: ApiContext;
  readonly shared: TurnCache;
  readonly watchMeter: WatchMeter;
}

const notServed: ReadonlySet<string> = new Set([
  "attach",
  "binding",
  "ephemeralcontainers",
  "eviction",
  "exec",
  "portforward",
  "proxy",
  "resize",
  "scale",
  "token",
]);

/** Finds the kind and the verb of a request: 404 for what is not served, 405 for verbs a path does not have. */
export function identifyCall(
  context: ApiContext,
  route: ResourceRoute,
  method: string,
  query: URLSearchParams,
): ResourceCall {
  const resource = context.registry().find(route.group, route.version, route.plural);
  if (resource === undefined) throw unknownResource();
  if (route.namespace !== "" && !resource.type.namespaced) throw unknownResource();
  if (route.subresource !== "") checkSubresource(resource, route);
  // An object of a namespaced kind has no path without its namespace.
  if (route.name !== "" && resource.type.namespaced && route.namespace === "") throw unknownResource();
  const verbs = verbsOf(route, query);
  const verb = verbs[method === "HEAD" ? "GET" : method];
  if (verb === undefined || (route.subresource === "" && !resource.verbs.includes(verb))) {
    throw new MethodNotAllowed(method, Object.keys(verbs));
  }
  return { verb, resource, route };
}

function checkSubresource(resource: ServedResource, { subresource }: ResourceRoute): void {
  if (resource.subresources.some((served) => served === subresource) && subresource !== "scale") return;
  const known = notServed.has(subresource) && (!resource.custom || subresource === "scale");
  if (!known) throw unknownResource();
  throw new ApiError(
    "NotImplemented",
    `the ${subresource} subresource of ${resource.type.plural} is not available on this server`,
  );
}

/** 405 with the methods that the path has. */
export class MethodNotAllowed extends ApiError {
  readonly allow: string;
  constructor(method: string, allowed: readonly string[]) {
    super("MethodNotAllowed", `the server does not allow the method ${method} on the requested resource`);
    this.allow = allowed.join(", ");
  }
}

function verbsOf(route: ResourceRoute, query: URLSearchParams): Readonly<Record<string, string>> {
  if (route.name === "") {
    return { GET: isWatch(query) ? "watch" : "list", POST: "create", DELETE: "deletecollection" };
  }
  switch (route.subresource) {
    case "":
      return { GET: "get", PUT: "update", PATCH: "patch", DELETE: "delete" };
    case "log":
      return { GET: "get" };
    case "finalize":
      return { PUT: "update" };
    default:
      return { GET: "get", PUT: "update", PATCH: "patch" };
  }
}

/** Answers a call: authorizes it, runs the verb and sends what it gave. */
export async function answerCall(server: ResourceServer, call: ResourceCall, exchange: Exchange): Promise<void> {
  const { resource, route, verb } = call;
  const { group, plural } = resource.type;
  const path = route.subresource === "" ? plural : `${plural}/${route.subresource}`;
  authorize(exchange.identity, { verb, group, resource: path, namespace: route.namespace });
  if (verb === "watch") return watch(server, call, exchange);
  if (route.subresource === "log") return sendLog(server.context, call, exchange);
  await send(exchange, await replyTo(server.context, call, exchange));
}

function replyTo(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  switch (call.verb) {
    case "get":
      return get(context, call, exchange);
    case "list":
      return list(context, call, exchange);
    case "create":
      return create(context, call, exchange);
    case "update":
      return update(context, call, exchange);
    case "patch":
      return patch(context, call, exchange);
    case "delete":
      return remove(context, call, exchange);
    case "deletecollection":
      return removeAll(context, call, exchange);
    default:
      throw new Error(`no such verb: ${call.verb}`);
  }
}

function viewFor(context: ApiContext, resource: ServedResource, exchange: Exchange, { form }: Negotiated): View {
  const include = parseIncludeObject(exchange.query.get("includeObject"));
  return { resource, form, include, now: context.clock.now() };
}

function objectReply(context: ApiContext, exchange: Exchange, answer: Answer, code: number): Reply {
  const negotiated = negotiate(exchange.request.headers.accept);
  const view = viewFor(context, answer.resource, exchange, negotiated);
  const body = encodeObject(
    view,
    () => answerObject(answer),
    () => answerBytes(answer),
  );
  return { code, contentType: negotiated.contentType, body, warnings: answer.warnings };
}

async function get(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  const answer = await getObject(context, resource, route, exchange.query.get("resourceVersion") ?? "");
  return objectReply(context, exchange, answer, 200);
}

async function list(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  const negotiated = negotiate(exchange.request.headers.accept);
  const listing = await listObjects(context, resource, listRequest(exchange.query, route.namespace), exchange.signal());
  return listReply(viewFor(context, resource, exchange, negotiated), listing, negotiated);
}

async function create(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  if (resource.type.namespaced && route.namespace === "") {
    throw badRequest(`${resource.type.plural} are created in a namespace, and the path has none`);
  }
  const { value, duplicates } = await objectBody(context, exchange);
  const answer = await createObject(
    context,
    resource,
    route.namespace,
    value,
    writeRequest(exchange.query, duplicates),
  );
  return objectReply(context, exchange, answer, 201);
}

async function update(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  const { value, duplicates } = await objectBody(context, exchange);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const answer = await updateObject(context, resource, target, value, writeRequest(exchange.query, duplicates));
  return objectReply(context, exchange, answer, 200);
}

const endpointOf = ({ subresource }: ResourceRoute): Endpoint =>
  subresource === "status" || subresource === "finalize" ? subresource : "main";

async function objectBody(context: ApiContext, exchange: Exchange) {
  const bytes = await readBody(exchange.request, context.limits.maxBodyBytes);
  return decodeObject(bytes, exchange.request, context.limits.maxDepth);
}

async function patch(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  const type = patchTypeOf(resource, mediaTypeOf(exchange.request) ?? "");
  const bytes = await readBody(exchange.request, context.limits.maxBodyBytes);
  const { value = null, duplicates } = decodeJson(bytes, context.limits.maxDepth);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const request = writeRequest(exchange.query, duplicates);
  const answer = await patchObject(context, resource, target, { type, body: value }, request);
  return objectReply(context, exchange, answer, 200);
}

function patchTypeOf(resource: ServedResource, mediaType: string): PatchType {
  const accepted = acceptedPatchTypes(resource);
  if (mediaType === "application/apply-patch+yaml") {
    throw unsupportedMediaType(`${mediaType}: server-side apply is not available on this server yet`, accepted);
  }
  const types: readonly PatchType[] = ["json", "merge", "strategic"];
  const found = types.find((type) => patchMediaTypes[type] === mediaType);
  if (found === undefined || !accepted.includes(mediaType)) throw unsupportedMediaType(mediaType, accepted);
  return found;
}

async function remove(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, exchange)).value);
  const { answer, removed } = await deleteObject(context, resource, route, request);
  if (removed && !returnsObject(resource)) return jsonReply(removalStatus(resource, answerObject(answer)));
  return objectReply(context, exchange, answer, request.orphanDependents === false && !removed ? 202 : 200);
}

/** Kinds whose removal is answered with the object instead of a Status. */
const returnsObject = ({ type }: ServedResource): boolean => type.group === "" && type.plural === "pods";

async function removeAll(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  if (resource.type.namespaced && route.namespace === "") throw new MethodNotAllowed("DELETE", ["GET"]);
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, exchange)).value);
  const selected = listRequest(exchange.query, route.namespace);
  const deletions = await deleteCollection(context, resource, selected, request);
  const items: readonly JsonValue[] = deletions.map(({ answer }) => answerObject(answer));
  const metadata = listMetadata({ entries: [], revision: context.store.revision });
  return jsonReply({ kind: resource.listKind, apiVersion: apiVersionOf(resource.type), metadata, items });
}

async function watch(server: ResourceServer, { resource, route }: ResourceCall, exchange: Exchange): Promise<void> {
  const { context } = server;
  const { response, query, request } = exchange;
  const negotiated = negotiate(request.headers.accept);
  const view = viewFor(context, resource, exchange, negotiated);
  await startWatch(
    context,
    resource,
    watchRequest(query, route.namespace),
    (selector) => {
      response.statusCode = 200;
      // Watches are JSON lines whatever the form of the objects in them.
      response.setHeader("Content-Type", view.form === "yaml" ? "application/json" : negotiated.contentType);
      setWarnings(response, resource.warnings);
      response.flushHeaders();
      return new WatchReply({
        response,
        view: () => ({ ...view, now: context.clock.now() }),
        selector,
        maxBuffer: context.limits.maxWatchBufferBytes,
        shared: server.shared,
        meter: server.watchMeter,
      });
    },
    exchange.signal(),
  );
}
