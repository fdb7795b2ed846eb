import { defined, type Clock, err, inParallel, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { asJson, isNotFound, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { App, Component } from "../app.ts";
import type { Definitions } from "../definitions/definition.ts";
import { label, nameOf, ownerOf } from "../labels.ts";
import type { RuleSubject } from "../policies/rules.ts";
import { retentionOf } from "../policies/retention.ts";
import { type ClusterVersion, readClusterVersion, unknownVersion } from "../render/context.ts";
import { componentHealth, type Observed } from "../render/health.ts";
import { nameOther, namespaceFor, objectFault } from "../render/naming.ts";
import type { ChartRenderer } from "../render/charts.ts";
import type { Answers } from "../render/processing.ts";
import { readReferredObjects } from "../render/referred-objects.ts";
import { renderComponent, type RenderParts } from "../render/render-component.ts";
import type { ComponentHealth, RenderedComponent, RenderedObject } from "../render/rendered.ts";
import { type ApplyParts, type Prepared, prepareObject, writeObject } from "./apply-object.ts";
import type { Clusters, Delivery, Placement, RenderOptions } from "./delivery.ts";
import { DeliveryFault, faultText } from "./faults.ts";
import { identityOf, type TrackedObject, type TrackerType, withoutTracked } from "./tracker.ts";
import { TrackerStore } from "./tracker-store.ts";

export interface DeliveryParts {
  readonly app: App;
  /** With the application's rights. */
  readonly client: ApiClient;
  /** The controller's own, for trackers. */
  readonly own: ApiClient;
  readonly clusters: Clusters;
  readonly definitions: Definitions;
  readonly cue: Cue;
  readonly clock: Clock;
  readonly systemNamespace: string;
  /** Empty for a WorkflowRun. */
  readonly revisionHash: string;
  readonly allowCrossNamespace: boolean;
  /** Names the present run of the workflow, once it has begun. */
  readonly run?: () => string | undefined;
  /** Absent where charts cannot be read. */
  readonly charts?: ChartRenderer;
  /** Absent where traits send no requests. */
  readonly answers?: Answers;
  readonly signal: AbortSignal;
}

/** Requests to one cluster at the same time. */
const width = 8;

/** Delivers the objects of one application during one pass. */
export class VelaDelivery implements Delivery {
  readonly app: App;
  readonly trackers: TrackerStore;
  readonly parts: DeliveryParts;
  readonly #applyParts: ApplyParts;
  readonly #patches = new Map<string, JsonObject[]>();
  readonly #versions = new Map<string, Promise<ClusterVersion>>();

  constructor(parts: DeliveryParts) {
    const { app, own, clock, allowCrossNamespace, signal } = parts;
    this.app = app;
    this.parts = parts;
    this.trackers = new TrackerStore(own, app.identity, signal);
    this.#applyParts = { app, clock, allowCrossNamespace, signal };
  }

  /** What components and policies are rendered with. */
  get renderParts(): RenderParts {
    const { app, client, cue, definitions, systemNamespace, revisionHash, signal } = this.parts;
    const { charts, answers, clock } = this.parts;
    return {
      app,
      cue,
      definitions,
      systemNamespace,
      revisionHash,
      signal,
      chartObjects: async (properties, place) =>
        (await charts?.({ app, client, clock, signal }, properties, place)) ?? err("charts are not rendered here"),
      answer: async (http) => (await answers?.(app.identity, http, signal)) ?? err("requests are not sent here"),
      isNamespaced: async (apiVersion, kind) => (await client.resourceType(apiVersion, kind))?.namespaced ?? true,
      referredObjects: (component) => readReferredObjects(client, component, app.identity.namespace, signal),
    };
  }

  /** The scope that a placement gives to templates. */
  async contextOf({ cluster = "local", namespace }: { readonly cluster?: string; readonly namespace?: string } = {}) {
    return {
      cluster,
      namespace: namespace ?? this.app.identity.namespace,
      clusterVersion: await this.#clusterVersion(cluster),
    };
  }

  async render(component: Component, options: RenderOptions = {}): Promise<Result<RenderedComponent, string>> {
    const patches = (this.#patches.get(component.name) ?? []).map((workload) => ({ workload }));
    if (options.patch !== undefined) patches.push(options.patch as (typeof patches)[number]);
    return await renderComponent(this.renderParts, component, await this.contextOf(options), patches);
  }

  patchComponent(component: string, patch: JsonObject): void {
    this.#patches.set(component, [...(this.#patches.get(component) ?? []), patch]);
  }

  async apply(
    objects: readonly RenderedObject[],
    placement: Placement,
    creator: "policy" | "workflow",
  ): Promise<Result<readonly Stored[], string>> {
    try {
      return ok(await this.#applyAll(objects, placement, creator));
    } catch (thrown) {
      return err(faultText(thrown, this.parts.signal));
    }
  }

  async applyObject(object: KubeObject, placement: Placement): Promise<Result<Stored, string>> {
    const fault = objectFault(object);
    if (fault !== undefined) return err(`value: ${fault}`);
    const { identity } = this.app;
    const json = asJson(object);
    const { isNamespaced } = this.renderParts;
    const namespace = await namespaceFor(json, placement.namespace ?? identity.namespace, isNamespaced);
    const named = nameOther(json, identity.name, { identity, revisionHash: this.parts.revisionHash, namespace });
    const { labels: _labels, ...metadata } = named.metadata;
    // A run has no revision, and labels of an application would be a lie.
    const complete =
      identity.revision === ""
        ? { ...named, metadata: { ...metadata, ...defined({ labels: object.metadata.labels }) } }
        : named;
    const component = complete.metadata.labels?.[label.component];
    const wanted: RenderedObject = {
      key: "",
      role: "WORKLOAD",
      ...defined({ component }),
      object: complete,
    };
    const applied = await this.apply([wanted], placement, "workflow");
    if (!applied.ok) return applied;
    const [stored] = applied.value;
    return stored === undefined ? err(`${nameOf(complete)} was not applied`) : ok(stored);
  }

  async remove(object: KubeObject, placement: Placement): Promise<Result<undefined, string>> {
    const { signal, app } = this.parts;
    const client = await this.#client(placement.cluster);
    if (!client.ok) return client;
    try {
      const type = await client.value.resourceType(object.apiVersion, object.kind);
      if (type === undefined) return err(`no kind ${object.kind} in version ${object.apiVersion}`);
      const namespace = object.metadata.namespace ?? placement.namespace ?? app.identity.namespace;
      const place = type.namespaced ? { ...object.metadata, namespace } : object.metadata;
      const ref = refTo(type, { ...object, metadata: place });
      const live = await getOrUndefined(client.value, ref, signal);
      const owner = live === undefined ? undefined : ownerOf(live);
      if (owner !== undefined && (owner.name !== app.identity.name || owner.namespace !== app.identity.namespace))
        return err(`${nameOf(object)} is managed by other application ${owner.namespace}/${owner.name}`);
      await this.#untrack({ ...object, metadata: place }, placement.cluster);
      if (live !== undefined) await client.value.delete(ref, { preconditions: { uid: live.metadata.uid }, signal });
      return ok(undefined);
    } catch (thrown) {
      return isNotFound(thrown) ? ok(undefined) : err(faultText(thrown, signal));
    }
  }

  async health(
    { component, workload, auxiliaries }: RenderedComponent,
    placement: Placement,
  ): Promise<ComponentHealth> {
    const { identity } = this.app;
    const { cue, definitions, signal } = this.parts;
    const observed = await this.observe([workload, ...auxiliaries], placement);
    return await componentHealth({ identity, cue, definitions, signal }, component, observed);
  }

  /** The live objects; what cannot be read has the reason instead. */
  async observe(objects: readonly Observed["wanted"][], placement: Placement): Promise<readonly Observed[]> {
    const found = new Map<Observed["wanted"], Observed>();
    const { signal } = this.parts;
    await inParallel(
      objects,
      async (wanted) => {
        const { controlPlaneOnly }: { controlPlaneOnly?: boolean } = wanted as RenderedObject;
        const client = await this.#client(controlPlaneOnly === true ? "local" : placement.cluster);
        if (!client.ok) return void found.set(wanted, { wanted, trouble: client.error });
        try {
          const type = await client.value.resourceType(wanted.object.apiVersion, wanted.object.kind);
          const live = type && (await getOrUndefined(client.value, refTo(type, wanted.object), signal));
          found.set(wanted, { wanted, ...defined({ live }) });
        } catch (thrown) {
          found.set(wanted, { wanted, trouble: faultText(thrown, signal) });
        }
      },
      width,
    );
    return objects.map((wanted) => found.get(wanted) ?? { wanted });
  }

  /** The rules of policies see an object like this. */
  subjectOf(
    object: Pick<RenderedObject, "role" | "component" | "trait"> & { readonly object: KubeObject },
  ): RuleSubject {
    const { role, component, trait, object: wanted } = object;
    const found = this.app.components.find(({ name }) => name === component);
    return {
      role,
      kind: wanted.kind,
      name: wanted.metadata.name ?? "",
      ...defined({ component }),
      ...(found === undefined ? {} : { componentType: found.type }),
      ...defined({ trait }),
    };
  }

  /** Rejects with what hinders. Custom kinds may be defined by objects before them. */
  async #applyAll(
    objects: readonly RenderedObject[],
    placement: Placement,
    creator: "policy" | "workflow",
  ): Promise<readonly Stored[]> {
    const definition = objects.findIndex(({ object }) => object.kind === "CustomResourceDefinition");
    const prepared: { readonly wanted: RenderedObject; readonly cluster: string; readonly ready: Prepared }[] = [];
    for (const [index, wanted] of objects.entries()) {
      const cluster = wanted.controlPlaneOnly === true ? "local" : placement.cluster;
      const client = await this.#client(cluster);
      if (!client.ok) throw new DeliveryFault(client.error);
      try {
        const ready = await prepareObject(this.#applyParts, client.value, wanted.object, this.subjectOf(wanted));
        prepared.push({ wanted, cluster, ready });
      } catch (thrown) {
        const isDefinedBefore = thrown instanceof DeliveryFault && thrown.isUnknownKind && definition >= 0;
        if (!isDefinedBefore || definition >= index) throw thrown;
        // The definitions are applied now; the next attempt finds the kind.
        await this.#commit(prepared, creator);
        throw thrown;
      }
    }
    return await this.#commit(prepared, creator);
  }

  async #commit(
    prepared: readonly { readonly wanted: RenderedObject; readonly cluster: string; readonly ready: Prepared }[],
    creator: "policy" | "workflow",
  ): Promise<readonly Stored[]> {
    if (this.app.identity.revision !== "") {
      for (const type of ["root", "versioned"] as const) {
        const tracked = prepared.flatMap(({ wanted, cluster, ready }) => {
          const { type: own, entry } = this.#entryOf(wanted, cluster, ready, creator);
          return own === type ? [entry] : [];
        });
        if (tracked.length > 0) await this.trackers.track(type, tracked);
      }
    }
    const stored: Stored[] = [];
    for (const { ready } of prepared) stored.push(await writeObject(this.#applyParts, ready));
    return stored;
  }

  #entryOf(
    { key, role, component, trait, resource, stage, object: rendered }: RenderedObject,
    cluster: string,
    { object, claim, subject }: Prepared,
    creator: "policy" | "workflow",
  ): { readonly type: TrackerType; readonly entry: TrackedObject } {
    const { strategy } = retentionOf(this.app, subject);
    const { namespace, name = "" } = object.metadata;
    const replicaKey = rendered.metadata.labels?.[label.replicaKey];
    const run = creator === "workflow" && key !== "" ? this.parts.run?.() : undefined;
    const isStored = claim.kind === "write" && !(object.apiVersion === "v1" && object.kind === "Secret");
    const entry: TrackedObject = {
      cluster,
      apiVersion: object.apiVersion,
      kind: object.kind,
      ...defined({ namespace }),
      name,
      creator,
      role,
      ...defined({ component, trait, resource, replicaKey }),
      ...(key === "" ? {} : { key }),
      ...defined({ stage, run }),
      ...(strategy === "never" || claim.kind === "read" ? { skipGC: true } : {}),
      ...(isStored ? { raw: asJson(object) } : {}),
    };
    return { type: strategy === "onAppDelete" ? "root" : "versioned", entry };
  }

  async #untrack({ apiVersion, kind, metadata }: KubeObject, cluster: string): Promise<void> {
    const { namespace, name = "" } = metadata;
    const gone = identityOf({ cluster, apiVersion, kind, name, ...defined({ namespace }) });
    for (const tracker of await this.trackers.all()) {
      const rest = withoutTracked(tracker, new Set([gone]));
      if (rest.objects.length < tracker.objects.length) await this.trackers.replace(rest);
    }
  }

  async #client(cluster: string): Promise<Result<ApiClient, string>> {
    return await this.parts.clusters.client(cluster, this.parts.signal);
  }

  #clusterVersion(cluster: string): Promise<ClusterVersion> {
    const known = this.#versions.get(cluster);
    if (known !== undefined) return known;
    const version = this.#readVersion(cluster);
    this.#versions.set(cluster, version);
    return version;
  }

  /** Rendering does not depend on a cluster that is away. */
  async #readVersion(cluster: string): Promise<ClusterVersion> {
    const { signal } = this.parts;
    try {
      const client = await this.#client(cluster);
      return client.ok ? readClusterVersion(await client.value.raw("/version", { signal })) : unknownVersion;
    } catch {
      signal.throwIfAborted();
      return unknownVersion;
    }
  }
}
