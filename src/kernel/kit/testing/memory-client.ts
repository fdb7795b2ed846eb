import { type Clock, deepFreeze, isJsonObject, type JsonValue, SlipwayError, systemClock } from "#lib/base/index.ts";
import { applyJsonPatch, applyMergePatch } from "#lib/json/index.ts";
import { alreadyExists, badRequest, conflict, invalid, notFound } from "#kernel/model/index.ts";
import * as model from "#kernel/model/index.ts";
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
} from "../client/api-client.ts";
import { isKubeObject, typed } from "../client/decode.ts";
import { type CollectorStep, collectorSteps, foregroundFinalizer, orphanFinalizer } from "./memory-collector.ts";
import { declaredTypes, established } from "./memory-crd.ts";
import { listPage, placeKey } from "./memory-paging.ts";
import {
  checkEnvelope,
  isBuiltIn,
  isReadyToGo,
  preparedForCreate,
  preparedForUpdate,
  terminating,
  type UpdateRules,
} from "./memory-rules.ts";
import { MemoryStore } from "./memory-store.ts";
import { viewOf } from "./memory-view.ts";
import { watchChanges } from "./memory-watch.ts";

type KubeObject = model.KubeObject;
type ResourceType = model.ResourceType;
type Stored<T extends KubeObject = KubeObject> = model.Stored<T>;

export interface MemoryClientOptions {
  /** Kinds served besides the built-in ones of `kernel/model`. */
  readonly types?: readonly ResourceType[];
  readonly clock?: Clock;
  /** Namespaces that exist from the start besides `default`, `kube-system` and `slipway-system`. */
  readonly namespaces?: readonly string[];
  /** At least this many changes stay readable for watches; 10,000 unless told. */
  readonly historyLimit?: number;
  /** What an admission makes of each new object, whose status has been dropped. */
  readonly admit?: (object: Stored) => Stored;
  /** Answers `logs`; refused as not implemented without it. */
  readonly logs?: (ref: Ref, options: LogOptions) => AsyncIterable<Uint8Array>;
}

const builtInTypes: readonly ResourceType[] = [
  model.Namespace,
  model.ConfigMap,
  model.Secret,
  model.ServiceAccount,
  model.Pod,
  model.Event,
  model.Job,
  model.CronJob,
  model.ReplicaSet,
  model.Deployment,
  model.Lease,
  model.CustomResourceDefinition,
];

export const memoryClient = (options: MemoryClientOptions = {}): MemoryClient => new MemoryClient(options);

/**
 * An ApiClient over nothing but memory, for tests: verbs, selectors, paging, watches, conflicts, status subresource, finalizers,
 * pod grace periods and garbage collection in all three ways as in Kubernetes, without schemas, defaults, authorization or disk. What
 * it does not do it refuses as `NotImplemented`. It passes the contract suite of `client.contract.ts`.
 */
export class MemoryClient implements ApiClient {
  readonly #store: MemoryStore;
  readonly #admit: (object: Stored) => Stored;
  readonly #clock: Clock;
  readonly #logs: MemoryClientOptions["logs"];
  readonly #types: ResourceType[];
  /** Uids of removed objects whose dependants have not been looked at yet. */
  readonly #removed = new Set<string>();
  #isCollecting = false;
  #uids = 0;
  #names = 0;
  #cuts = 0;
  #isClosed = false;

  constructor(options: MemoryClientOptions) {
    this.#store = new MemoryStore(options.historyLimit ?? 10_000);
    this.#clock = options.clock ?? systemClock;
    this.#logs = options.logs;
    this.#admit = options.admit ?? ((object) => object);
    this.#types = [...builtInTypes, ...(options.types ?? [])];
    for (const name of ["default", "kube-system", "slipway-system", ...(options.namespaces ?? [])]) {
      this.#create(model.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, {});
    }
  }

  /** Forgets the history up to now, so that older watches and page tokens get 410. */
  compact(): void {
    this.#store.compact();
  }

  /** Ends every open watch, as a server does that restarts. */
  dropWatches(): void {
    this.#cuts++;
    this.#store.wake();
  }

  async get<T extends KubeObject = KubeObject>(ref: Ref, options: { readonly signal?: AbortSignal } = {}) {
    this.#enter(ref.type, options.signal);
    return typed<T>(this.#current(ref));
  }

  async list<T extends KubeObject = KubeObject>(type: ResourceType, options: ListOptions = {}) {
    this.#enter(type, options.signal);
    const list = listPage(this.#store, type, model.qualifiedResource(type), viewOf(type, options), options);
    return deepFreeze({ ...list, items: list.items.map(typed<T>) });
  }

  async *watch<T extends KubeObject = KubeObject>(
    type: ResourceType,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    if (options.signal.aborted) return;
    this.#enter(type);
    const cuts = this.#cuts;
    const source = {
      store: this.#store,
      clock: this.#clock,
      type,
      resource: model.qualifiedResource(type),
      view: viewOf(type, options),
      isCut: () => this.#isClosed || this.#cuts !== cuts,
    };
    for await (const event of watchChanges(source, options)) {
      yield event.type === "BOOKMARK" ? deepFreeze(event) : deepFreeze({ ...event, object: typed<T>(event.object) });
    }
  }

  async create<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}) {
    this.#enter(type, options.signal);
    return typed<T>(this.#create(type, object, options));
  }

  async update<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}) {
    this.#enter(type, options.signal);
    checkEnvelope(type, object);
    return typed<T>(this.#update(refOf(type, object), () => object, { requireVersion: true }, options));
  }

  async updateStatus<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}) {
    this.#enter(type, options.signal);
    checkEnvelope(type, object);
    const rules: UpdateRules = { subresource: "status", requireVersion: true };
    return typed<T>(this.#update(refOf(type, object), () => object, rules, options));
  }

  async patch<T extends KubeObject = KubeObject>(
    ref: Ref,
    patch: Patch,
    options: WriteOptions & { readonly subresource?: string } = {},
  ) {
    this.#enter(ref.type, options.signal);
    if (patch.type === "apply") throw notImplemented("server-side apply");
    const { subresource } = options;
    if (subresource !== undefined && subresource !== "status") throw notFound(ref.type, `${ref.name}/${subresource}`);
    const rules: UpdateRules = { requireVersion: false, ...(subresource === undefined ? {} : { subresource }) };
    return typed<T>(this.#update(ref, (current) => patched(ref, current, patch), rules, options));
  }

  async delete(ref: Ref, options: DeleteOptions = {}): Promise<KubeObject | model.Status> {
    this.#enter(ref.type, options.signal);
    return this.#delete(ref, options);
  }

  async deleteCollection(type: ResourceType, options: ListOptions & DeleteOptions = {}): Promise<void> {
    const { limit: _ignored, ...scope } = options;
    const { items } = await this.list(type, scope);
    for (const item of items) this.#delete(refOf(type, item), options);
  }

  async *logs(ref: Ref, options: LogOptions = {}): AsyncGenerator<Uint8Array> {
    this.#enter(ref.type, options.signal);
    this.#current(ref);
    if (this.#logs === undefined) throw notImplemented("logs without a source of logs");
    yield* this.#logs(ref, options);
  }

  artifact(ref: Ref): AsyncIterable<Uint8Array> {
    this.#enter(ref.type);
    throw notImplemented("artifacts");
  }

  async resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    return this.#types.find((type) => model.apiVersionOf(type) === apiVersion && type.kind === kind);
  }

  async resourceTypes(): Promise<readonly ResourceType[]> {
    return [...this.#types];
  }

  async raw(path: string): Promise<string> {
    if (path === "/readyz" || path === "/livez") return "ok";
    if (path === "/version") return JSON.stringify({ major: "1", minor: "33", gitVersion: "v1.33.0+memory" });
    throw new model.ApiError("NotFound", "the server could not find the requested resource");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#store.wake();
  }

  #enter(type: ResourceType, signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new SlipwayError("client-closed", "the client is closed");
    const isServed = this.#types.some(
      ({ group, version, plural }) => group === type.group && version === type.version && plural === type.plural,
    );
    if (!isServed) throw new model.ApiError("NotFound", "the server could not find the requested resource");
  }

  #current(ref: Ref): Stored {
    const object = this.#store.get(model.qualifiedResource(ref.type), placeKey(ref.namespace, ref.name));
    if (object === undefined) throw notFound(ref.type, ref.name);
    return object;
  }

  #create(type: ResourceType, given: KubeObject, options: WriteOptions): Stored {
    const object = copyOf(given);
    checkEnvelope(type, object);
    const { namespace, name, resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== "")
      throw badRequest("metadata.resourceVersion must be empty for a new object");
    this.#checkNamespace(namespace);
    const chosen = name ?? this.#generateName(type, object.metadata.generateName);
    const resource = model.qualifiedResource(type);
    const key = placeKey(namespace, chosen);
    if (this.#store.get(resource, key) !== undefined) throw alreadyExists(type, chosen);
    const uid = `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, "0")}`;
    const prepared = this.#admit(preparedForCreate(type, object, { name: chosen, uid, now: this.#clock.now() }));
    if (options.dryRun) {
      const { resourceVersion: _none, ...metadata } = prepared.metadata;
      return deepFreeze({ ...prepared, metadata: { ...metadata, resourceVersion: "" } });
    }
    return this.#store.put(
      resource,
      key,
      type.plural === "customresourcedefinitions" ? this.#serve(prepared) : prepared,
    );
  }

  #generateName(type: ResourceType, prefix: string | undefined): string {
    if (prefix !== undefined && prefix !== "") return `${prefix}${(++this.#names).toString(36).padStart(5, "0")}`;
    const message = "name or generateName is required";
    throw invalid(type, "", [{ reason: "FieldValueRequired", field: "metadata.name", message }]);
  }

  #checkNamespace(namespace: string | undefined): void {
    if (namespace === undefined || namespace === "") return;
    const exists = this.#store.get(model.qualifiedResource(model.Namespace), placeKey(undefined, namespace));
    if (exists === undefined) throw notFound(model.Namespace, namespace);
  }

  #update(ref: Ref, change: (current: Stored) => KubeObject, rules: UpdateRules, options: WriteOptions): Stored {
    const current = this.#current(ref);
    const next = preparedForUpdate(ref.type, current, copyOf(change(current)), rules);
    if (next === current || options.dryRun) return deepFreeze(next);
    return isReadyToGo(next) ? this.#remove(ref, next) : this.#put(ref, next);
  }

  #put(ref: Ref, next: Stored): Stored {
    if (next.metadata.deletionTimestamp !== undefined || next.metadata.ownerReferences !== undefined)
      this.#collectSoon();
    return this.#store.put(model.qualifiedResource(ref.type), placeKey(ref.namespace, ref.name), next);
  }

  #remove(ref: Ref, last: Stored): Stored {
    const removed = this.#store.remove(model.qualifiedResource(ref.type), placeKey(ref.namespace, ref.name), last);
    this.#removed.add(removed.metadata.uid);
    this.#collectSoon();
    return removed;
  }

  #delete(ref: Ref, options: DeleteOptions): KubeObject | model.Status {
    const { propagationPolicy, preconditions, dryRun } = options;
    if (ref.type.plural === "namespaces") throw notImplemented("deletion of namespaces");
    const current = this.#current(ref);
    const { uid, resourceVersion } = current.metadata;
    for (const [wanted, found, field] of [
      [preconditions?.uid, uid, "uid"],
      [preconditions?.resourceVersion, resourceVersion, "resourceVersion"],
    ] as const) {
      if (wanted !== undefined && wanted !== found) throw conflict(ref.type, ref.name, `its ${field} is ${found}`);
    }
    const kept = withFinalizerFor(propagationPolicy, current);
    const next = terminating(kept, this.#clock.now(), graceOf(ref.type, current, options));
    if (next.metadata.deletionGracePeriodSeconds === 0 && (next.metadata.finalizers ?? []).length === 0) {
      if (!dryRun) this.#remove(ref, current);
      return removedStatus(ref, uid);
    }
    return next === current || dryRun ? next : this.#put(ref, next);
  }

  /** Later in this turn, once for however many changes: a client must not see the end of what it has only asked for. */
  #collectSoon(): void {
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    queueMicrotask(() => {
      this.#isCollecting = false;
      const removed = new Set(this.#removed);
      this.#removed.clear();
      const stored = [...this.#store.all()];
      const resources = new Map(stored.map(({ resource, object }) => [object, resource]));
      for (const step of collectorSteps([...resources.keys()], removed))
        this.#collect(step, resources.get(step.object));
    });
  }

  /** Every step is a change, after which the collector looks again. One whose object has changed meanwhile is left to that look. */
  #collect(step: CollectorStep, resource: string | undefined): void {
    const type = this.#types.find((candidate) => model.qualifiedResource(candidate) === resource);
    if (type === undefined) return;
    const ref = refOf(type, step.object);
    if (this.#store.get(model.qualifiedResource(type), placeKey(ref.namespace, ref.name)) !== step.object) {
      return this.#collectSoon();
    }
    if (step.kind === "delete") return void this.#delete(ref, { propagationPolicy: step.policy });
    const { metadata } = step.object;
    const change =
      step.kind === "disown"
        ? { ownerReferences: metadata.ownerReferences?.filter(({ uid }) => !step.owners.has(uid)) ?? [] }
        : { finalizers: metadata.finalizers?.filter((finalizer) => finalizer !== step.finalizer) ?? [] };
    this.#update(
      ref,
      (current) => ({ ...current, metadata: { ...metadata, ...change } }),
      { requireVersion: false },
      {},
    );
  }

  /** Serves the kind a CustomResourceDefinition declares from now on. */
  #serve(crd: Stored): Stored {
    this.#types.push(...declaredTypes(crd));
    return established(crd);
  }
}

/** What the wire would carry: a copy without undefined members. */
const copyOf = (object: KubeObject): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject;

function refOf(type: ResourceType, { metadata }: KubeObject): Ref {
  const { namespace, name = "" } = metadata;
  return namespace === undefined ? { type, name } : { type, namespace, name };
}

function patched(ref: Ref, current: Stored, patch: Exclude<Patch, { readonly type: "apply" }>): KubeObject {
  if (patch.type === "strategic") {
    if (isBuiltIn(ref.type)) throw notImplemented("strategic merge patches");
    throw new model.ApiError("UnsupportedMediaType", "custom kinds take JSON patches and merge patches only");
  }
  // Versions share one store: a patch is of what the asked one shows.
  const seen: Stored = { ...current, apiVersion: model.apiVersionOf(ref.type) };
  const result =
    patch.type === "merge" ? applyMergePatch(model.asJson(seen), patch.body) : jsonPatched(ref, seen, patch);
  if (!isKubeObject(result)) throw badRequest("the patched document is no Kubernetes object");
  checkEnvelope(ref.type, result);
  checkSameName(ref, result);
  return result;
}

function jsonPatched(ref: Ref, current: Stored, patch: Patch & { readonly type: "json" }): JsonValue {
  const result = applyJsonPatch(model.asJson(current), patch.operations);
  if (result.ok) return result.value;
  throw new model.ApiError("Invalid", `the patch of ${ref.type.plural} "${ref.name}" failed: ${result.error.message}`);
}

function checkSameName(ref: Ref, { metadata }: KubeObject): void {
  if (metadata.name === ref.name && metadata.namespace === ref.namespace) return;
  const message = "name and namespace of an object never change";
  throw invalid(ref.type, ref.name, [{ reason: "FieldValueInvalid", field: "metadata.name", message }]);
}

/** Seconds a pod gets to end; none when it never ran or is done, and for every other kind. */
function graceOf(type: ResourceType, { spec, status }: Stored, options: DeleteOptions): number {
  if (type.kind !== "Pod" || type.group !== "") return 0;
  const phase = isJsonObject(status) ? status["phase"] : undefined;
  if (!isJsonObject(spec) || spec["nodeName"] === undefined || phase === "Succeeded" || phase === "Failed") return 0;
  const own = spec["terminationGracePeriodSeconds"];
  return options.gracePeriodSeconds ?? (typeof own === "number" ? own : 30);
}

/** The last word counts: a deletion in another way takes the finalizer of the former one away. Saying nothing changes nothing. */
function withFinalizerFor(policy: DeleteOptions["propagationPolicy"], object: Stored): Stored {
  if (policy === undefined) return object;
  const before = object.metadata.finalizers ?? [];
  const others = before.filter((finalizer) => finalizer !== foregroundFinalizer && finalizer !== orphanFinalizer);
  const own = { Foreground: [foregroundFinalizer], Orphan: [orphanFinalizer], Background: [] }[policy];
  const finalizers = [...others, ...own];
  if (finalizers.length === 0 && before.length === 0) return object;
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

const removedStatus = ({ type, name }: Ref, uid: string): model.Status =>
  deepFreeze({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, group: type.group, kind: type.plural, uid },
    code: 200,
  });

const notImplemented = (what: string): model.ApiError =>
  new model.ApiError("NotImplemented", `the in-memory client does not do ${what}`);
