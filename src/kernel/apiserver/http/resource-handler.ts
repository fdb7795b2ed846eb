import { ApiError, unknownResource, unsupportedMediaType } from "#kernel/model/index.ts";
import type { JsonValue } from "#lib/base/index.ts";
import type { AccountTokens } from "../authz/account-tokens.ts";
import { accessTo, authorize } from "../authz/authorizer.ts";
import { writePermit } from "../authz/write-permit.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { acceptedPatchTypes, applyMediaType, type PatchType, patchMediaTypes } from "../patch/apply-patch.ts";
import { type Answer, answerBytes, answerObject } from "../verbs/answer.ts";
import { hasArtifacts, openArtifact } from "../verbs/artifact.ts";
import type { Endpoint } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject, removalStatus } from "../verbs/delete.ts";
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
import { updateObject } from "../verbs/update.ts";
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
import { isPodStream } from "./pod-streams.ts";
import { openPodStream } from "./pod-stream.ts";
import { readBody } from "./read-body.ts";
import { deleteRequest, forceOf, isWatch, listRequest, watchRequest, writeRequest } from "./query.ts";
import { encodeObject, parseIncludeObject, type View } from "./representation.ts";
import { jsonReply, type Reply, send, setWarnings } from "./respond.ts";
import type { ResourceRoute } from "./route.ts";
import { sendStream } from "./stream-reply.ts";
import type { TurnCache } from "./turn-cache.ts";
import { type WatchMeter, WatchReply } from "./watch-reply.ts";

/**
 * What a request on the resource API is: named for metrics, limits and authorization before it runs. `verb` is one of Kubernetes'
 * request verbs (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`).
 */
export interface ResourceCall {
  readonly verb: string;
  readonly resource: ServedResource;
  readonly route: ResourceRoute;
}

/** What answering needs beside the call: the API itself, and what watchers share. */
export interface ResourceServer {
  readonly context: ApiContext;
  readonly shared: TurnCache;
  readonly watchMeter: WatchMeter;
  /** Makes tokens of accounts. */
  readonly accounts: AccountTokens;
}

/** Subresources of Kubernetes that this server answers with 501, so that a client hears what is missing instead of a 404. */
const notServed: ReadonlySet<string> = new Set(["binding", "ephemeralcontainers", "proxy", "resize"]);

/**
 * Finds the kind and the verb of a request: 404 for what is not served, 405 with `Allow` for verbs a path does not have, 501 for
 * subresources of Kubernetes that are missing here. Pure, and before authorization: what kinds there are is no secret to whoever is
 * authenticated.
 */
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
  // An object of a namespaced kind has no path without its namespace.
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

/** Custom kinds have the subresources of their definition and no others, so the rest is not found there, not missing. */
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

/** 405 with the methods that the path has. */
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

/** Verbs by method, for the shape of a path; whether the kind has them is another question. Across namespaces one can only look. */
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

/**
 * Answers a call: authorizes it, runs the verb and sends what it gave. Resolves when the connection has taken the answer; for a watch
 * when its stream has begun. What it throws has not been answered.
 */
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

/** GET `workflows/x/artifacts?digest=…`: the bytes as they are stored. */
async function sendArtifact(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<void> {
  const chunks = await openArtifact(context, resource, route, exchange.query.get("digest") ?? "");
  await sendStream(exchange, "application/octet-stream", chunks);
}

/** 403 unless the caller may do it. */
function authorizeCall({ authorizer }: ApiContext, { resource, route, verb }: ResourceCall, exchange: Exchange): void {
  const name = route.name || selectedName(verb, exchange.query.get("fieldSelector") ?? "");
  authorize(authorizer, exchange.identity, accessTo(resource.type, verb, { ...route, name }));
}

/** One function per verb below; each reads its options, calls the verb and chooses form and code. */
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

/** The form of an answer, with the time at which ages in tables are counted. */
function viewFor(context: ApiContext, resource: ServedResource, exchange: Exchange, { form }: Negotiated): View {
  const include = parseIncludeObject(exchange.query.get("includeObject"));
  return { resource, form, include, now: context.clock.now() };
}

/** One object in the form that was asked for, with the warnings of its kind and of the write. */
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

/** `resourceVersion` asks for a state not older than it: the newest one is, but for a revision that is still to come. */
async function get(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  const { form } = negotiate(exchange.request.headers.accept);
  // Its stored bytes are sent as they are; every other form is made anew.
  if (form !== "json" && storedBytes(context, call) > largeBodyBytes) await exchange.bodies.turn();
  const answer = await getObject(context, resource, route, exchange.query.get("resourceVersion") ?? "");
  return objectReply(context, exchange, answer, 200);
}

/** Forms are negotiated first: 406 costs no listing. */
async function list(context: ApiContext, { resource, route }: ResourceCall, exchange: Exchange): Promise<Reply> {
  const negotiated = negotiate(exchange.request.headers.accept);
  const listing = await listObjects(context, resource, listRequest(exchange.query, route.namespace), exchange.signal());
  const view = viewFor(context, resource, exchange, negotiated);
  return listReply(view, listing, negotiated, exchange.bodies);
}

// Writes negotiate before they write: a caller who takes none of the forms gets 406 and nothing was stored.

/** 201 with what was stored, or with the answer to a review. The namespace is that of the path. */
async function create(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { value, duplicates } = await objectBody(context, call, exchange);
  const request = writeRequestOf(context, resource, exchange, duplicates);
  if (resource.isReview === true) {
    const { object, warnings } = reviewObject(context, exchange.identity, resource, route.namespace, value, request);
    return { ...jsonReply(object, 201), warnings };
  }
  const isLarge = Number(exchange.request.headers["content-length"] ?? 0) > largeBodyBytes;
  const paused = isLarge ? { ...request, pause: () => exchange.bodies.piece() } : request;
  return objectReply(context, exchange, await createObject(context, resource, route.namespace, value, paused), 201);
}

/** 200 with what is stored now, also when nothing has changed. */
async function update(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { value, duplicates } = await objectBody(context, call, exchange);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const request = writeRequestOf(context, resource, exchange, duplicates);
  const answer = await updateObject(context, resource, target, value, request);
  return objectReply(context, exchange, answer, 200);
}

/**
 * Options of the query, the manager of fields by the user agent where none is named, and what has to be asked about the object
 * itself.
 */
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

/** What else has a path below an object does not come here. */
const endpointOf = ({ subresource }: ResourceRoute): Endpoint =>
  subresource === "status" || subresource === "finalize" ? subresource : "main";

/** Whole and decoded: JSON, YAML, or protobuf for built-in kinds; undefined without a body. */
const objectBody = (context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<DecodedBody> =>
  decodedBody(context, call, exchange, (body, readers) => decodeObject(body, exchange.request, readers));

/** Resolves in a turn of its own (`LargeBodies.turn`) when there is much to do: what follows runs without a pause. */
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
    // Small texts, which are read at once, may still take a millisecond each.
    await nextShare();
    const document = await exchange.yaml.read(text, () => exchange.signal());
    if (!("json" in document)) return document;
    // Its aliases are written out.
    largest = Math.max(largest, document.json.length);
    if (document.json.length > largeBodyBytes) await bodies.turn();
    const value = JSON.parse(document.json.toString()) as JsonValue;
    return { value, duplicates: document.duplicates };
  };
  const decoded = await decode(body, { maxDepth: limits.maxDepth, readYaml, nextShare });
  exchange.noteBody?.(decoded.value);
  // What is done with a large object takes as long again as decoding it; so does a small change of a large one.
  if (Math.max(largest, storedBytes(context, call)) > largeBodyBytes) await bodies.turn();
  return decoded;
}

/** The size of the object a path names, 0 when there is none. */
function storedBytes({ store }: ApiContext, { resource, route }: ResourceCall): number {
  if (route.name === "") return 0;
  return store.get(keyFor(resource, route.namespace, route.name))?.bytes.length ?? 0;
}

/** A new token of an account; it is in the answer and nowhere else. */
async function tokenReply(
  { context, accounts }: ResourceServer,
  call: ResourceCall,
  exchange: Exchange,
): Promise<Reply> {
  negotiate(exchange.request.headers.accept);
  const { value } = await objectBody(context, call, exchange);
  return jsonReply(requestToken(context, accounts, call.route, value), 201);
}

/** 201, as if something had been made. */
async function evictionReply(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const options = evictionOptions(resource, route, (await objectBody(context, call, exchange)).value);
  await evictPod(context, resource, route, deleteRequest(exchange.query, options));
  return jsonReply({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }, 201);
}

/** A view of the object; its own forms, such as tables, do not show it. */
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

/** By all types that the kind itself takes. */
async function patchedScale(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<ScaleAnswer> {
  const { resource, route } = call;
  const { patch, request } = await patchOf(context, call, exchange);
  return patchScale(context, resource, route, patch, request);
}

/**
 * 200, or 201 for an apply that has created the object. An empty body is null, which no kind of patch takes.
 */
async function patch(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const { patch, request } = await patchOf(context, call, exchange);
  const target = { namespace: route.namespace, name: route.name, endpoint: endpointOf(route) };
  const answer = await patchObject(context, resource, target, patch, request);
  return objectReply(context, exchange, answer, answer.created === true ? 201 : 200);
}

/** The body with its type, and the options of a PATCH. */
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

/** The kind of patch by its media type: 415 with those the kind takes, because custom kinds have no strategic merge. */
function patchTypeOf(resource: ServedResource, mediaType: string): PatchType | "apply" {
  const accepted = acceptedPatchTypes(resource);
  if (mediaType === applyMediaType) return "apply";
  const types: readonly PatchType[] = ["json", "merge", "strategic"];
  const found = types.find((type) => patchMediaTypes[type] === mediaType);
  if (found === undefined || !accepted.includes(mediaType)) throw unsupportedMediaType(mediaType, accepted);
  return found;
}

/**
 * 200 with the Status of the removal, or with the object while finalizers or a grace period keep it; 202 in that case for the callers
 * of the old `orphanDependents: false`, as in Kubernetes.
 */
async function remove(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, call, exchange)).value);
  const { answer, removed } = await deleteObject(context, resource, route, request);
  if (removed && !returnsObject(resource)) return jsonReply(removalStatus(resource, answerObject(answer)));
  return objectReply(context, exchange, answer, request.orphanDependents === false && !removed ? 202 : 200);
}

/** Core kinds whose removal Kubernetes answers with the object instead of a Status; typed clients read it as such. */
const returned = new Set([
  "namespaces",
  "persistentvolumeclaims",
  "pods",
  "resourcequotas",
  "serviceaccounts",
  "services",
]);
const returnsObject = ({ type }: ServedResource): boolean => type.group === "" && returned.has(type.plural);

/** The list of what was deleted. */
async function removeAll(context: ApiContext, call: ResourceCall, exchange: Exchange): Promise<Reply> {
  const { resource, route } = call;
  negotiate(exchange.request.headers.accept);
  const request = deleteRequest(exchange.query, (await objectBody(context, call, exchange)).value);
  const selected = listRequest(exchange.query, route.namespace);
  const { deletions, continue: token } = await deleteCollection(context, resource, selected, request);
  const answers = deletions.map(({ answer }) => answer);
  const metadata = {
    resourceVersion: String(context.store.revision),
    ...(token === undefined ? {} : { continue: token }),
  };
  return deletionsReply(resource, answers, metadata, exchange.bodies);
}

/**
 * Begins a stream of JSON lines and returns. What is wrong is refused with a status before the stream begins; headers go out at once,
 * because clients wait for them before the first event.
 */
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
        maxBuffers: context.limits.maxWatchBuffersBytes,
        shared: server.shared,
        meter: server.watchMeter,
        readers: exchange.readers,
      });
    },
    exchange.signal(),
  );
}
