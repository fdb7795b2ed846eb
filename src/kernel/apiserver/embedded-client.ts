import type {
  ApiClient,
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
  apiVersionOf,
  type KubeObject,
  type ObjectList,
  type ResourceType,
  type Status,
  type Stored,
} from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { type Access, authorize, type Identity } from "./authz/identity.ts";
import { containerOf } from "./http/log-reply.ts";
import { listMetadata } from "./http/list-reply.ts";
import type { ServedResource } from "./kinds/served-resource.ts";
import { answerObject } from "./verbs/answer.ts";
import type { Endpoint } from "./verbs/change.ts";
import type { ApiContext } from "./verbs/context.ts";
import { createObject } from "./verbs/create.ts";
import { deleteObject, removalStatus } from "./verbs/delete.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { frozenCopy } from "./verbs/frozen-copy.ts";
import { getObject } from "./verbs/get.ts";
import { listObjects } from "./verbs/list.ts";
import type { DeleteRequest, WriteRequest } from "./verbs/options.ts";
import { patchObject } from "./verbs/patch.ts";
import { badRequest, unknownResource } from "./verbs/refusals.ts";
import { viewOf } from "./verbs/storage-view.ts";
import { updateObject } from "./verbs/update.ts";
import { startWatch } from "./watch/watch.ts";
import { WatchQueue } from "./watch/watch-queue.ts";

/** Answers a GET that names no resource: the body as text. */
export type RawGet = (path: string, signal: AbortSignal | undefined) => Promise<string>;

/**
 * The ApiClient of this process. It runs the same verbs as HTTP requests do, without encoding: what it returns are the shared,
 * frozen objects of the store, and what it is given is copied once, frozen parts excepted.
 */
export class EmbeddedClient implements ApiClient {
  readonly #context: ApiContext;
  readonly #identity: Identity;
  readonly #rawGet: RawGet;

  constructor(context: ApiContext, identity: Identity, rawGet: RawGet) {
    this.#context = context;
    this.#identity = identity;
    this.#rawGet = rawGet;
  }

  async get<T extends KubeObject>(ref: Ref, options: { readonly signal?: AbortSignal } = {}): Promise<Stored<T>> {
    const resource = this.#served(ref.type, "get", ref.namespace, options.signal);
    return typed(answerObject(await getObject(this.#context, resource, targetOf(ref))));
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ObjectList<Stored<T>>> {
    const resource = this.#served(type, "list", options.namespace);
    const { signal, ...request } = options;
    const listing = await listObjects(this.#context, resource, request, signal);
    return {
      apiVersion: apiVersionOf(type),
      kind: resource.listKind,
      metadata: listMetadata(listing),
      items: listing.entries.map((entry) => typed<Stored<T>>(viewOf(resource, entry))),
    };
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void> {
    const resource = this.#served(type, "watch", options.namespace);
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

  async create<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    const { namespace = "" } = object.metadata;
    const resource = this.#served(type, "create", namespace, options.signal);
    if (type.namespaced && namespace === "")
      throw badRequest(`metadata.namespace is missing, ${type.plural} are namespaced`);
    const answer = await createObject(this.#context, resource, namespace, frozenCopy(object), writeRequest(options));
    return typed(answerObject(answer));
  }

  update<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, "main", options);
  }

  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, "status", options);
  }

  async patch<T extends KubeObject>(
    ref: Ref,
    patch: Patch,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<Stored<T>> {
    const resource = this.#served(ref.type, "patch", ref.namespace, options.signal);
    const target = { ...targetOf(ref), endpoint: endpointOf(resource, options.subresource) };
    const body = frozenCopy(patch.type === "json" ? patch.operations : patch.body);
    return typed(
      answerObject(
        await patchObject(this.#context, resource, target, { type: patch.type, body }, writeRequest(options)),
      ),
    );
  }

  async delete(ref: Ref, options: DeleteOptions = {}): Promise<KubeObject | Status> {
    const resource = this.#served(ref.type, "delete", ref.namespace, options.signal);
    const { answer, removed } = await deleteObject(this.#context, resource, targetOf(ref), deleteRequest(options));
    return removed ? removalStatus(resource, answerObject(answer)) : typed(answerObject(answer));
  }

  async deleteCollection(type: ResourceType, options: ListOptions & DeleteOptions = {}): Promise<void> {
    const resource = this.#served(type, "deletecollection", options.namespace, options.signal);
    await deleteCollection(this.#context, resource, options, deleteRequest(options));
  }

  async *logs(ref: Ref, options: LogOptions = {}): AsyncGenerator<Uint8Array, void> {
    const resource = this.#served(ref.type, "get", ref.namespace);
    const pod = answerObject(await getObject(this.#context, resource, targetOf(ref)));
    const container = containerOf(pod, options.container);
    yield* await this.#context.podLogs.open(typed(pod), { ...options, container });
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

  raw(path: string, options: { readonly signal?: AbortSignal } = {}): Promise<string> {
    return this.#rawGet(path, options.signal);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #replace<T extends KubeObject>(
    type: ResourceType,
    object: T,
    endpoint: "main" | "status",
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const { namespace = "", name = "" } = object.metadata;
    const resource = this.#served(type, "update", namespace, options.signal);
    const target = { namespace, name, endpoint: endpointOf(resource, endpoint === "main" ? undefined : endpoint) };
    return typed(
      answerObject(await updateObject(this.#context, resource, target, frozenCopy(object), writeRequest(options))),
    );
  }

  #served(type: ResourceType, verb: string, namespace = "", signal?: AbortSignal): ServedResource {
    signal?.throwIfAborted();
    const resource = this.#context.registry().find(type.group, type.version, type.plural);
    if (resource === undefined) throw unknownResource();
    const access: Access = { verb, group: type.group, resource: type.plural, namespace };
    authorize(this.#identity, access);
    return resource;
  }
}

// What a kind serves satisfies the type its caller knows it by: the schema has been checked when it was stored.
const typed = <T>(object: JsonObject): T => object as T;

const targetOf = ({ namespace = "", name }: Ref) => ({ namespace, name });

function endpointOf(resource: ServedResource, subresource: string | undefined): Endpoint {
  if (subresource === undefined || subresource === "") return "main";
  const served = resource.subresources.some((name) => name === subresource);
  if (served && (subresource === "status" || subresource === "finalize")) return subresource;
  throw unknownResource();
}

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
