import type {
  ApiClient,
  ArtifactOptions,
  DeleteOptions,
  ListOptions,
  LogOptions,
  Patch,
  Ref,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "#kernel/kit/index.ts";
import {
  type ApiError,
  apiVersionOf,
  badRequest,
  type KubeObject,
  type ObjectList,
  type ResourceType,
  type Status,
  type Stored,
  unknownResource,
} from "#kernel/model/index.ts";
import { type JsonObject, valueAt } from "#lib/base/index.ts";
import { accessTo, authorize } from "./authz/authorizer.ts";
import { type Identity, internal, isMaster } from "./authz/identity.ts";
import { type WritePermit, writePermit } from "./authz/write-permit.ts";
import { containerOf } from "./http/log-reply.ts";
import { listMetadata } from "./http/list-reply.ts";
import type { ServedResource } from "./kinds/served-resource.ts";
import { answerObject } from "./verbs/answer.ts";
import { hasArtifacts, openArtifact } from "./verbs/artifact.ts";
import { type Endpoint, updateObject } from "./verbs/change.ts";
import type { ApiContext } from "./verbs/context.ts";
import { createObject, createObjects } from "./verbs/create.ts";
import { deleteObject, removalStatus } from "./verbs/delete.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { selectedName } from "./verbs/field-selector.ts";
import { frozenCopy } from "./verbs/frozen-copy.ts";
import { getObject } from "./verbs/get.ts";
import { listObjects, viewsOf } from "./verbs/list.ts";
import type { DeleteRequest, WriteRequest } from "./verbs/options.ts";
import { patchObject } from "./verbs/patch.ts";
import { reviewObject } from "./verbs/review.ts";
import { hasLogs, numbersLines, openRunLog } from "./verbs/run-log.ts";
import { startWatch } from "./watch/watch.ts";
import { WatchQueue } from "./watch/watch-queue.ts";

export type RawGet = (path: string, signal: AbortSignal | undefined, accept: string | undefined) => Promise<string>;

/** Runs the verbs without encoding: returns frozen objects, copies what it is given. All identities must be allowed. */
export class EmbeddedClient implements ApiClient {
  readonly #context: ApiContext;
  readonly #identities: readonly [Identity, ...Identity[]];
  readonly #rawGet: RawGet;

  constructor(context: ApiContext, identities: readonly [Identity, ...Identity[]], rawGet: RawGet) {
    this.#context = context;
    this.#identities = identities;
    this.#rawGet = rawGet;
  }

  async get<T extends KubeObject>(ref: Ref, options: { readonly signal?: AbortSignal } = {}): Promise<Stored<T>> {
    const resource = this.#served(ref.type, "get", ref, options.signal);
    return typed(answerObject(await getObject(this.#context, resource, targetOf(ref))));
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ObjectList<Stored<T>>> {
    const resource = this.#served(type, "list", options);
    const { signal, ...request } = options;
    const listing = await listObjects(this.#context, resource, request, signal);
    const views = await viewsOf(this.#context, resource, listing.entries, signal);
    return {
      apiVersion: apiVersionOf(type),
      kind: resource.listKind,
      metadata: listMetadata(listing),
      items: views.map((view) => typed<Stored<T>>(view)),
    };
  }

  /** Beyond `maxWatchBufferBytes` of unread events the watch ends, and the reader resumes from its last revision. */
  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void> {
    const resource = this.#served(type, "watch", options);
    const { signal, timeout, ...request } = options;
    if (signal.aborted) return;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const { maxWatchBufferBytes } = this.#context.limits;
    const queue = new WatchQueue(resource, maxWatchBufferBytes, () => stop.abort());
    const seconds = timeout === undefined ? {} : { timeoutSeconds: Math.max(1, Math.ceil(timeout / 1000)) };
    try {
      await startWatch(this.#context, resource, { ...request, ...seconds }, () => queue, either);
      for await (const event of queue.events()) {
        if (signal.aborted) return;
        yield event as WatchEvent<T>;
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      stop.abort();
    }
  }

  /** Reviews are answered with their `status` filled in. */
  async create<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    const { namespace = "" } = object.metadata;
    const resource = this.#served(type, "create", { namespace }, options.signal);
    if (type.namespaced && namespace === "") throw namespaceMissing(type);
    const body = frozenCopy(object);
    const request = this.#request(resource, options);
    if (resource.isReview === true) return typed(this.#review(resource, namespace, body, request));
    const answer = await createObject(this.#context, resource, namespace, body, request);
    return typed(answerObject(answer));
  }

  /** One commit. Bodies are copied first, so the caller may change its own. */
  async createMany(type: ResourceType, objects: readonly KubeObject[], options: WriteOptions = {}): Promise<void> {
    const bodies = objects.map((body) => ({ namespace: body.metadata.namespace ?? "", body: frozenCopy(body) }));
    // Rules are the same for all; permissions depend on the namespace.
    let resource: ServedResource | undefined;
    for (const namespace of new Set(bodies.map((body) => body.namespace))) {
      if (type.namespaced && namespace === "") throw namespaceMissing(type);
      resource = this.#served(type, "create", { namespace }, options.signal);
    }
    if (resource !== undefined) await createObjects(this.#context, resource, bodies, this.#request(resource, options));
  }

  update<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, "main", options);
  }

  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, "status", options);
  }

  updateWhole<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, "whole", options);
  }

  async patch<T extends KubeObject>(
    ref: Ref,
    patch: Patch,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<Stored<T>> {
    const resource = this.#served(ref.type, "patch", ref, options.signal);
    const target = { ...targetOf(ref), endpoint: endpointOf(resource, options.subresource) };
    const body = frozenCopy(patch.type === "json" ? patch.operations : patch.body);
    const isApply = patch.type === "apply";
    const request = { ...this.#request(resource, options, isApply), force: isApply && patch.force === true };
    return typed(answerObject(await patchObject(this.#context, resource, target, { type: patch.type, body }, request)));
  }

  /** A Status when the object is gone; the object while a grace period or finalizers keep it. */
  async delete(ref: Ref, options: DeleteOptions = {}): Promise<KubeObject | Status> {
    const resource = this.#served(ref.type, "delete", ref, options.signal);
    const { answer, removed } = await deleteObject(this.#context, resource, targetOf(ref), deleteRequest(options));
    return removed ? removalStatus(resource, answerObject(answer)) : typed(answerObject(answer));
  }

  async deleteCollection(type: ResourceType, options: ListOptions & DeleteOptions = {}): Promise<void> {
    const resource = this.#served(type, "deletecollection", options, options.signal);
    await deleteCollection(this.#context, resource, options, deleteRequest(options));
  }

  /** Checks object and container before streaming. Needs the permission for the log only. */
  async *logs(ref: Ref, options: LogOptions = {}): AsyncGenerator<Uint8Array, void> {
    const resource = this.#served(ref.type, "get", { ...ref, subresource: "log" });
    const object = answerObject(await getObject(this.#context, resource, targetOf(ref)));
    if (hasLogs(this.#context, resource)) {
      const parameter = (name: string): string => (name === "container" ? (options.container ?? "") : "");
      yield* await openRunLog(this.#context, resource, typed(object), parameter, options);
      return;
    }
    const container = containerOf(object, options.container);
    yield* await this.#context.podLogs.open(typed(object), { ...options, container });
  }

  numbersLines(type: ResourceType): boolean {
    return numbersLines(this.#context, this.#served(type, "get", { subresource: "log" }));
  }

  /** Only artifacts that the object mentions. */
  async *artifact(ref: Ref, digest: string, options: ArtifactOptions = {}): AsyncGenerator<Uint8Array, void> {
    const resource = this.#served(ref.type, "get", { ...ref, subresource: "artifacts" }, options.signal);
    if (!hasArtifacts(this.#context, resource)) throw unknownResource();
    for await (const chunk of await openArtifact(this.#context, resource, targetOf(ref), digest)) {
      options.signal?.throwIfAborted();
      yield chunk;
    }
  }

  resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    const found = this.#context
      .registry()
      .all()
      .find(({ type }) => type.kind === kind && apiVersionOf(type) === apiVersion);
    return Promise.resolve(found?.type);
  }

  resourceTypes(): Promise<readonly ResourceType[]> {
    return Promise.resolve(
      this.#context
        .registry()
        .all()
        .map(({ type }) => type),
    );
  }

  raw(path: string, options: { readonly signal?: AbortSignal; readonly accept?: string } = {}): Promise<string> {
    return this.#rawGet(path, options.signal, options.accept);
  }

  /** The store and the watches belong to the server. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The first identity's refusal is the answer for all. */
  #review(resource: ServedResource, namespace: string, body: unknown, request: WriteRequest): JsonObject {
    const answers = this.#identities.map(
      (identity) => reviewObject(this.#context, identity, resource, namespace, body, request).object,
    );
    const [first = {}] = answers;
    return answers.find((answer) => valueAt(answer, "status", "allowed") === false) ?? first;
  }

  async #replace<T extends KubeObject>(
    type: ResourceType,
    object: T,
    part: "main" | "status" | "whole",
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const { namespace = "", name = "" } = object.metadata;
    const resource = this.#served(type, "update", { namespace, name }, options.signal);
    const endpoint = endpointOf(resource, part === "main" ? undefined : "status");
    const target = { namespace, name, endpoint: part === "whole" ? part : endpoint };
    const request = this.#request(resource, options);
    return typed(answerObject(await updateObject(this.#context, resource, target, object, request)));
  }

  /** The served kind, or 403. Runs before anything is read or copied. */
  #served(
    type: ResourceType,
    verb: string,
    target: {
      readonly namespace?: string;
      readonly name?: string;
      readonly fieldSelector?: string;
      readonly subresource?: string;
    },
    signal?: AbortSignal,
  ): ServedResource {
    signal?.throwIfAborted();
    const resource = this.#context.registry().find(type.group, type.version, type.plural);
    if (resource === undefined) throw unknownResource();
    // Controllers are masters and write very often.
    if (this.#identities.every(isMaster)) return resource;
    const { namespace = "", fieldSelector = "", name = selectedName(verb, fieldSelector), subresource = "" } = target;
    const access = accessTo(type, verb, { namespace, name, subresource });
    for (const identity of this.#identities) authorize(this.#context.authorizer, identity, access);
    return resource;
  }

  #request(resource: ServedResource, options: WriteOptions, isApply = false): WriteRequest {
    if (this.#identities[0] === internal) return writeRequest(options);
    const { authorizer } = this.#context;
    const permits = this.#identities.flatMap((identity) => writePermit(authorizer, identity, resource, isApply) ?? []);
    const permit: WritePermit = (object, old) => {
      for (const one of permits) one(object, old);
    };
    return { ...writeRequest(options), writers: this.#identities, ...(permits.length === 0 ? {} : { permit }) };
  }
}

// The schema was checked when the object was stored.
const typed = <T>(object: JsonObject): T => object as T;

const namespaceMissing = ({ plural }: ResourceType): ApiError =>
  badRequest(`metadata.namespace is missing, ${plural} are namespaced`);

const targetOf = ({ namespace = "", name }: Ref) => ({ namespace, name });

/** 404 for unknown subresources and those not written through this client. */
function endpointOf(resource: ServedResource, subresource: string | undefined): Endpoint {
  if (subresource === undefined || subresource === "") return "main";
  const served = resource.subresources.some((name) => name === subresource);
  if (served && (subresource === "status" || subresource === "finalize")) return subresource;
  throw unknownResource();
}

/** Absent members stay absent. */
function writeRequest({ dryRun, fieldValidation, fieldManager }: WriteOptions): WriteRequest {
  return {
    ...(dryRun === undefined ? {} : { dryRun }),
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
    ...(fieldManager === undefined ? {} : { fieldManager }),
  };
}

function deleteRequest({ propagationPolicy, gracePeriodSeconds, preconditions, dryRun }: DeleteOptions): DeleteRequest {
  return {
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(dryRun === undefined ? {} : { dryRun }),
  };
}
