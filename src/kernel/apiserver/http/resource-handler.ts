import { ApiError, unknownResource, unsupportedMediaType } from "#kernel/model/index.ts";
import type { JsonValue } from "#lib/base/index.ts";
import type { AccountTokens } from "../authz/account-tokens.ts";
import { accessTo, authorize } from "../authz/authorizer.ts";
import { writePermit } from "../authz/write-permit.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { acceptedPatchTypes, applyMediaType, type PatchType, patchMediaTypes } from "../patch/apply-patch.ts";
import { type Answer, answerBytes, answerObject } from "../verbs/answer.ts";
import { hasArtifacts, openArtifact } from "../verbs/artifact.ts";
import { type Endpoint, updateObject } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject, removalStatus, reviewDeletion } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { evictionOptions, evictPod } from "../verbs/evict.ts";
import { selectedName } from "../verbs/field-selector.ts";
import { getObject } from "../verbs/get.ts";
import { listObjects } from "../verbs/list.ts";
import type { WriteRequest } from "../verbs/options.ts";
import { patchObject } from "../verbs/patch.ts";
import { reviewObject } from "../verbs/review.ts";
import { getScale, patchScale, type ScaleAnswer, updateScale } from "../verbs/scale.ts";
import { hasLogs } from "../verbs/run-log.ts";
import { requestToken } from "../verbs/token-request.ts";
import { keyFor } from "../verbs/storage-view.ts";
import { startWatch } from "../watch/watch.ts";
import { type Negotiated, negotiate } from "./accept.ts";
import {
  type BodyReaders,
  decodeApplied,
  type DecodedBody,
  decodeJsonBody,
  decodeObject,
  mediaTypeOf,
} from "./body.ts";
import type { BodyPieces } from "./body-pieces.ts";
import type { Exchange } from "./exchange.ts";
import { largeBodyBytes } from "./large-bodies.ts";
import { deletionsReply, listReply } from "./list-reply.ts";
import { sendLog } from "./log-reply.ts";
import { isPodStream, type ResourceCall, type ResourceRoute } from "./route.ts";
import { openPodStream } from "./pod-stream.ts";
import { readBody } from "./read-body.ts";
import { deleteRequest, forceOf, isWatch, listRequest, watchRequest, writeRequest } from "./query.ts";
import { encodeObject, parseIncludeObject, type View } from "./representation.ts";
import { jsonReply, type Reply, send, setWarnings } from "./respond.ts";
import { sendStream } from "./stream-reply.ts";
import type { TurnCache } from "./chunk.ts";
import { type WatchMeter, WatchReply } from "./watch-reply.ts";

export interface ResourceServer {
  readonly context: ApiContext;
  readonly shared: TurnCache;
  readonly watchMeter: WatchMeter;
  readonly accounts: AccountTokens;
}

/** Subresources of Kubernetes that are answered with 501 instead of 404. */
const notServed: ReadonlySet<string> = new Set(["binding", "ephemeralcontainers", "proxy", "resize"]);

/** 404 for what is not served, 405 with `Allow`, 501 for subresources. Before authorization: kinds are public. */
export function identifyCall(
  context: ApiContext,
  route: ResourceRoute,
  method: string,
  query: URLSearchParams,
): ResourceCall {
  const resource = context.registry().find(route.group, route.version, route.plural);
  if (resource === undefined) throw unknownResource();
  if (route.namespace !== "" && !resource.type.namespaced) throw unknownResource();
  if (route.subresource !== "") checkSubresource(context, resource, route);
  // Objects of namespaced kinds need a namespace in their path.
  if (route.name !== "" && resource.type.namespaced && route.namespace === "") throw unknownResource();
  const verbs = verbsOf(resource, route, query);
  const isServed = (verb: string) => route.subresource !== "" || resource.verbs.includes(verb);
  const verb = verbs.get(method === "HEAD" ? "GET" : method);
  if (verb !== undefined && isServed(verb)) return { verb, resource, route };
  const served = [...verbs].filter(([, known]) => isServed(known));
  throw new MethodNotAllowed(
    method,
    served.map(([known]) => known),
  );
}

/** Custom kinds have only the subresources of their definition; others are 404. */
function checkSubresource(context: ApiContext, resource: ServedResource, { subresource }: ResourceRoute): void {
  if (resource.subresources.some((served) => served === subresource)) return;
  if (subresource === "artifacts" && hasArtifacts(context, resource)) return;
  if (subresource === "log" && hasLogs(context, resource)) return;
  const known = notServed.has(subresource) && !resource.custom;
  if (!known) throw unknownResource();
  throw new ApiError(
    "NotImplemented",
    `the ${subresource} subresource of ${resource.type.plural} is not available on this server`,
  );
}

export class MethodNotAllowed extends ApiError {
  readonly allow: string;
  constructor(method: string, allowed: readonly string[]) {
    super("MethodNotAllowed", `the server does not allow the method ${method} on the requested resource`);
    this.allow = allowed.join(", ");
  }
}

type Verbs = ReadonlyMap<string, string>;
const verbsBy = (verbs: Readonly<Record<string, string>>): Verbs => new Map(Object.entries(verbs));
const collectionVerbs = verbsBy({ GET: "list", POST: "create", DELETE: "deletecollection" });
const watchedVerbs = verbsBy({ GET: "watch", POST: "create", DELETE: "deletecollection" });
const acrossVerbs = verbsBy({ GET: "list" });
const acrossWatchedVerbs = verbsBy({ GET: "watch" });
const objectVerbs = verbsBy({ GET: "get", PUT: "update", PATCH: "patch", DELETE: "delete" });
const partVerbs = verbsBy({ GET: "get", PUT: "update", PATCH: "patch" });
const subresourceVerbs: ReadonlyMap<string, Verbs> = new Map([
  ["log", verbsBy({ GET: "get" })],
  ["artifacts", verbsBy({ GET: "get" })],
  ["finalize", verbsBy({ PUT: "update" })],
  ["token", verbsBy({ POST: "create" })],
  ["eviction", verbsBy({ POST: "create" })],
  ["exec", verbsBy({ GET: "get", POST: "create" })],
  ["attach", verbsBy({ GET: "get", POST: "create" })],
  ["portforward", verbsBy({ GET: "get", POST: "create" })],
]);

/** Verbs by method for a path; across namespaces only reading is possible. */
function verbsOf(
  { type }: ServedResource,
  { namespace, name, subresource }: ResourceRoute,
  query: URLSearchParams,
): Verbs {
  if (name === "") {
    if (type.namespaced && namespace === "") return isWatch(query) ? acrossWatchedVerbs : acrossVerbs;
    return isWatch(query) ? watchedVerbs : collectionVerbs;
  }
  return subresource === "" ? objectVerbs : (subresourceVerbs.get(subresource) ?? partVerbs);
}

/** Resolves when the connection has the answer or a watch has begun. Throws only before anything was sent. */
export async function answerCall(server: ResourceServer, call: ResourceCall, exchange: Exchange): Promise<void> {
  const { route, verb } = call;
  authorizeCall(server.context, call, exchange);
  if (verb === "watch") return watch(server, call, exchange);
  if (route.subresource === "log") return sendLog(server.context, call, exchange);
  if (isPodStream(route.subresource)) return openPodStream(server.context, call, exchange);
  if (route.subresource === "artifacts") return sendArtifact(server.context, call, exchange);
  if (route.subresource === "token") return send(exchange, await tokenReply(server, call, exchange));
  if (route.subresource === "eviction") return send(exchange, await evictionReply(server.context, call, exchange));
  if (route.subresource === "scale") return send(exchange, await scaleReply(server.context, call, exchange));
  await send(exchange, await replyTo(server.context, call, exchange));
}

/** GET `workflows/x/artifacts?digest=…`: the stored bytes. */
async function sendArtifact(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<void> {
  const chunks = await openArtifact(context, resource, route, exchange.query.get("digest") ?? "");
  await sendStream(exchange, "application/octet-stream", chunks);
}

function authorizeCall({ authorizer }: ApiContext, { resource, route, verb }: ResourceCall, exchange: Exchange): void {
  const name = route.name || selectedName(verb, exchange.query.get("fieldSelector") ?? "");
  authorize(authorizer, exchange.identity, accessTo(resource.type, verb, { ...route, name }));
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

/** `resourceVersion` means "not older than": only a future revision makes a difference. */
async function get(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  const { form } = negotiate(exchange.request.headers.accept);
  // Every other form is encoded anew.
  if (form !== "json" && storedBytes(context, call) > largeBodyBytes) await exchange.bodies.turn();
  const answer = await getObject(context, resource, route, exchange.query.get("resourceVersion") ?? "");
  return objectReply(context, exchange, answer, 200);
}

/** Negotiates first: 406 costs no listing. */
async function list(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  const negotiated = negotiate(exchange.request.headers.accept);
  const listing = await listObjects(context, resource, listRequest(exchange.query, route.namespace), exchange.signal());
  const view = viewFor(context, resource, exchange, negotiated);
  return listReply(view, listing, negotiated, exchange.bodies);
}

// Writes negotiate first: with 406 nothing is stored.

/** 201 with what was stored, or with the answer to a review. */
async function create(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { value, duplicates } = await objectBody(context, call, exchange);
  const request = writeRequestOf(context, resource, exchange, duplicates);
  if (resource.isReview === true) {
    const { object, warnings } = reviewObject(context, exchange.identity, resource, route.namespace, value, request);
    return { ...jsonReply(object, 201), warnings };
  }
  const paused = isLarge(exchange) ? { ...request, pause: () => exchange.bodies.piece() } : request;
  return objectReply(context, exchange, await createObject(context, resource, route.namespace, value, paused), 201);
}

/** 200 with what is stored now, even if unchanged. */
async function update(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { value, duplicates } = await objectBody(context, call, exchange);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const request = {
    ...writeRequestOf(context, resource, exchange, duplicates),
    isLong: target.endpoint === "main" && isLarge(exchange),
  };
  const answer = await updateObject(context, resource, target, value, request);
  return objectReply(context, exchange, answer, 200);
}

const isLarge = ({ request }: Exchange): boolean => Number(request.headers["content-length"] ?? 0) > largeBodyBytes;

/** Options from the query and the write permissions that depend on the object. */
function writeRequestOf(
  { authorizer }: ApiContext,
  resource: ServedResource,
  { query, request, identity }: Exchange,
  duplicates: readonly string[],
  isApply = false,
): WriteRequest {
  const options = { ...writeRequest(query, duplicates, request.headers["user-agent"]), writers: [identity] };
  const permit = writePermit(authorizer, identity, resource, isApply);
  return permit === undefined ? options : { ...options, permit };
}

const endpointOf = ({ subresource }: ResourceRoute): Endpoint =>
  subresource === "status" || subresource === "finalize" ? subresource : "main";

/** JSON, YAML, or protobuf for built-in kinds; undefined without a body. */
const objectBody = (context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<DecodedBody> =>
  decodedBody(context, call, exchange, (body, readers) => decodeObject(body, exchange.request, readers));

/** Resolves in a turn of its own (`LargeBodies.turn`) for large bodies: what follows runs without a pause. */
async function decodedBody(
  context: ApiContext,
  call: ResourceCall,
  exchange: Exchange,
  decode: (body: BodyPieces, readers: BodyReaders) => DecodedBody | Promise<DecodedBody>,
): Promise<DecodedBody> {
  const { limits } = context;
  const { bodies, request } = exchange;
  if (mediaTypeOf(request) === "application/yaml") exchange.yaml.check(Number(request.headers["content-length"] ?? 0));
  const body = await readBody(exchange, limits);
  exchange.enter?.();
  let largest = body.size;
  const nextShare = () => bodies.share(request);
  const readYaml = async (text: BodyPieces) => {
    // Small texts may take a millisecond each.
    await nextShare();
    const document = await exchange.yaml.read(text, () => exchange.signal());
    if (!("json" in document)) return document;
    // Aliases are expanded in it.
    largest = Math.max(largest, document.json.length);
    if (document.json.length > largeBodyBytes) await bodies.turn();
    const value = JSON.parse(document.json.toString()) as JsonValue;
    return { value, duplicates: document.duplicates };
  };
  const decoded = await decode(body, { maxDepth: limits.maxDepth, readYaml, nextShare });
  exchange.noteBody?.(decoded.value);
  // Storing a large object, or a small change of one, takes as long as decoding it.
  if (Math.max(largest, storedBytes(context, call)) > largeBodyBytes) await bodies.turn();
  return decoded;
}

/** The size of the object a path names, or 0. */
function storedBytes({ store }: ApiContext, { resource, route }: ResourceCall): number {
  if (route.name === "") return 0;
  return store.get(keyFor(resource, route.namespace, route.name))?.bytes.length ?? 0;
}

/** The new token appears in this answer only. */
async function tokenReply(
  { context, accounts }: ResourceServer,
  call: ResourceCall,
  exchange: Exchange,
): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  const { value } = await objectBody(context, call, exchange);
  return jsonReply(requestToken(context, accounts, call.route, value), 201);
}

async function evictionReply(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const options = evictionOptions(resource, route, (await objectBody(context, call, exchange)).value);
  await evictPod(context, resource, route, deleteRequest(exchange.query, options));
  return jsonReply({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }, 201);
}

/** Always plain JSON: the scale has no table. */
async function scaleReply(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { verb, resource, route } = call;
  negotiate(exchange.request.headers.accept);
  if (verb === "get") return jsonReply(await getScale(context, resource, route));
  const isPatch = verb === "patch";
  const { scale, warnings } = isPatch
    ? await patchedScale(context, call, exchange)
    : await replacedScale(context, call, exchange);
  return { ...jsonReply(scale), warnings };
}

async function replacedScale(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<ScaleAnswer> {
  const { resource, route } = call;
  const { value, duplicates } = await objectBody(context, call, exchange);
  return updateScale(context, resource, route, value, writeRequestOf(context, resource, exchange, duplicates));
}

async function patchedScale(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<ScaleAnswer> {
  const { resource, route } = call;
  const { patch, request } = await patchOf(context, call, exchange);
  return patchScale(context, resource, route, patch, request);
}

/** 200, or 201 for an apply that created the object. An empty body is null, which no patch type accepts. */
async function patch(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { patch, request } = await patchOf(context, call, exchange);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const answer = await patchObject(context, resource, target, patch, request);
  return objectReply(context, exchange, answer, answer.created === true ? 201 : 200);
}

async function patchOf(context: ApiContext, call: ResourceCall, exchange: Exchange) {
  const { resource } = call;
  const type = patchTypeOf(resource, mediaTypeOf(exchange.request) ?? "");
  const isApply = type === "apply";
  const { value: body = null, duplicates } = await decodedBody(context, call, exchange, (body, readers) =>
    isApply ? decodeApplied(body, readers) : decodeJsonBody(body, readers),
  );
  const options = writeRequestOf(context, resource, exchange, duplicates, isApply);
  return { patch: { type, body }, request: { ...options, force: forceOf(exchange.query, isApply) } };
}

/** 415 lists the types the kind accepts: custom kinds have no strategic merge. */
function patchTypeOf(resource: ServedResource, mediaType: string): PatchType | "apply" {
  const accepted = acceptedPatchTypes(resource);
  if (mediaType === applyMediaType) return "apply";
  const types: readonly PatchType[] = ["json", "merge", "strategic"];
  const found = types.find((type) => patchMediaTypes[type] === mediaType);
  if (found === undefined || !accepted.includes(mediaType)) throw unsupportedMediaType(mediaType, accepted);
  return found;
}

/** 200 with a Status, or the object while finalizers or grace keep it; then 202 for `orphanDependents: false`. */
async function remove(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, call, exchange)).value);
  await reviewDeletion(context, resource, route);
  const { answer, removed } = await deleteObject(context, resource, route, request);
  if (removed && !returnsObject(resource)) return jsonReply(removalStatus(resource, answerObject(answer)));
  return objectReply(context, exchange, answer, request.orphanDependents === false && !removed ? 202 : 200);
}

/** Core kinds for which Kubernetes returns the deleted object instead of a Status; typed clients rely on it. */
const returned = new Set([
  "namespaces",
  "persistentvolumeclaims",
  "pods",
  "resourcequotas",
  "serviceaccounts",
  "services",
]);
const returnsObject = ({ type }: ServedResource): boolean => type.group === "" && returned.has(type.plural);

async function removeAll(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, call, exchange)).value);
  const selected = listRequest(exchange.query, route.namespace);
  const { deletions, continue: token } = await deleteCollection(context, resource, selected, request, (target) =>
    reviewDeletion(context, resource, target),
  );
  const answers = deletions.map(({ answer }) => answer);
  const metadata = {
    resourceVersion: String(context.store.revision),
    ...(token === undefined ? {} : { continue: token }),
  };
  return deletionsReply(resource, answers, metadata, exchange.bodies);
}

/** Refusals come before the stream; headers are sent at once, because clients wait for them. */
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
      // Watches are JSON lines even when YAML was asked for.
      response.setHeader("Content-Type", view.form === "yaml" ? "application/json" : negotiated.contentType);
      setWarnings(response, resource.warnings);
      response.flushHeaders();
      return new WatchReply({
        response,
        view: () => ({ ...view, now: context.clock.now() }),
        selector,
        maxBuffer: context.limits.maxWatchBufferBytes,
        maxBuffers: context.limits.maxWatchBuffersBytes,
        shared: server.shared,
        meter: server.watchMeter,
        readers: exchange.readers,
      });
    },
    exchange.signal(),
  );
}
