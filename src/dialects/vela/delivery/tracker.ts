import {
  defined,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  textAt,
} from "#lib/base/index.ts";
import { asJson, type KubeObject, type Stored, writersOf } from "#kernel/model/index.ts";
import type { AppIdentity } from "../app.ts";
import { label, trackerFinalizer } from "../labels.ts";
import { packed, unpacked } from "../revision/packed.ts";

/** Whether an application's objects are of one revision, or live as long as it does. */
export type TrackerType = "versioned" | "root";

/** An object that an application has applied or is about to. */
export interface TrackedObject {
  readonly cluster: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly creator: "policy" | "workflow";
  readonly role?: "WORKLOAD" | "TRAIT" | "POLICY";
  readonly component?: string;
  readonly trait?: string;
  readonly resource?: string;
  readonly replicaKey?: string;
  /** Key among the rendered resources of the revision, where Secrets are kept. */
  readonly key?: string;
  readonly stage?: "PreDispatch" | "PostDispatch";
  /** The run of the workflow that applied it last, for objects of components. */
  readonly run?: string;
  /** Never deleted. */
  readonly skipGC?: boolean;
  /** As applied; absent for Secrets, and for objects that are only read. */
  readonly raw?: JsonObject;
}

export interface Tracker {
  readonly name: string;
  readonly type: TrackerType;
  /** In the order in which they were first applied. */
  readonly objects: readonly TrackedObject[];
  /** Absent if not stored yet. */
  readonly stored?: Stored;
}

/** One object of one cluster, whatever its API version. */
export function identityOf(
  object: Pick<TrackedObject, "cluster" | "apiVersion" | "kind" | "namespace" | "name">,
): string {
  const slash = object.apiVersion.indexOf("/");
  const group = slash < 0 ? "" : object.apiVersion.slice(0, slash);
  return [object.cluster, group, object.kind, object.namespace ?? "", object.name].join("/");
}

/** Cluster-scoped, so the name contains the namespace. */
export const trackerName = ({ name, namespace, revisionNumber }: AppIdentity, type: TrackerType): string =>
  type === "root" ? `${name}-${namespace}` : `${name}-v${revisionNumber}-${namespace}`;

/** Later entries replace earlier ones of the same object, at their place. Undefined if nothing changes. */
export function withTracked(tracker: Tracker, objects: readonly TrackedObject[]): Tracker | undefined {
  const byIdentity = new Map(tracker.objects.map((object) => [identityOf(object), object]));
  let isChanged = false;
  for (const object of objects) {
    const key = identityOf(object);
    const known = byIdentity.get(key);
    if (known !== undefined && jsonEquals(known, object)) continue;
    byIdentity.set(key, object);
    isChanged = true;
  }
  return isChanged ? { ...tracker, objects: [...byIdentity.values()] } : undefined;
}

export const withoutTracked = (tracker: Tracker, gone: ReadonlySet<string>): Tracker => ({
  ...tracker,
  objects: tracker.objects.filter((object) => !gone.has(identityOf(object))),
});

export function encodeTracker(tracker: Tracker, { name, namespace, generation }: AppIdentity): KubeObject {
  const list = JSON.parse(JSON.stringify(tracker.objects)) as JsonValue;
  const objects: JsonObject = packed(list) ?? { managedResources: list };
  const { resourceVersion, uid } = tracker.stored?.metadata ?? {};
  return {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "ResourceTracker",
    metadata: {
      name: tracker.name,
      labels: { [label.app]: name, [label.appNamespace]: namespace },
      finalizers: [trackerFinalizer],
      ...defined({ resourceVersion, uid }),
    },
    spec: { type: tracker.type, applicationGeneration: generation, ...objects },
  };
}

/**
 * Entries that name no object are left out. If another client than the controller wrote the tracker, what it says
 * about the content of objects does not count.
 */
export function decodeTracker(stored: Stored): Tracker {
  const spec = objectAt(asJson(stored), "spec");
  const list = unpacked(spec) ?? listAt(spec, "managedResources");
  const objects = Array.isArray(list) ? list.filter(isTracked) : [];
  return {
    name: stored.metadata.name,
    type: textAt(spec, "type") === "root" ? "root" : "versioned",
    objects: writersOf(stored).length === 0 ? objects : objects.map(({ raw: _raw, ...entry }) => entry),
    stored,
  };
}

const isTracked = (value: unknown): value is TrackedObject =>
  isJsonObject(value) && ["apiVersion", "kind", "name", "cluster"].every((member) => typeof value[member] === "string");
