import { type PodObject } from "./pod-types.ts";
import { type Clock, type Millis, type Instant, messageOf } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  type Informer,
  type Manager,
  matchesLabels,
  readLabelSelector,
  type Reconciler,
  regardingOf,
  requestFor,
  requestKey,
  toController,
  ensureDeleted,
  type Waking,
} from "#kernel/kit/index.ts";
import { controllerOf, type KubeObject, keyOf, type ResourceType, type Stored, Pod } from "#kernel/model/index.ts";
import type { Selector } from "./deployment-types.ts";

// What the controllers of Deployments, ReplicaSets, StatefulSets, Jobs and CronJobs have in common: objects of one kind
// create objects of another, find them by their owner, and record events.

export interface WorkloadKind<O extends KubeObject> {
  readonly name: string;
  /** The reporter of events; named like Kubernetes' own controller. */
  readonly reporter: string;
  readonly type: ResourceType;
  readonly childType: ResourceType;
  /** By which children without a controller are adopted; without it none are. */
  readonly selectorOf?: (object: O) => Selector;
  /** The object needs nothing more; unfinished ones go first after a restart. */
  readonly isOver?: (object: O) => boolean;
  /** The longest pause after a failure. */
  readonly longestRetry?: Millis;
}

/** What a pass works with. Its mirrors show own writes at once, so that a pass may plan again after it has written. */
export interface Workload<O extends KubeObject, C extends KubeObject> {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly objects: Informer<O>;
  /** Children of the object of that name, also of a former one: compare the uid. */
  readonly childrenOf: (key: string) => readonly Stored<C>[];
  /** Children of the object by name, and those without a controller that it may adopt. */
  readonly candidatesFor: (object: O) => readonly Stored<C>[];
  /** Records an event; never waits, never fails. */
  readonly tell: (object: Stored<O>, note: WorkloadNote) => void;
}

export interface WorkloadNote {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly text: string;
  readonly action?: string;
}

const unowned = "unowned";

/** Adds a controller of objects, their children, and children to adopt. `instance` names this process in events. */
export function addWorkloadController<O extends KubeObject, C extends KubeObject>(
  manager: Manager,
  { name, reporter, type, childType, selectorOf, isOver, longestRetry }: WorkloadKind<O>,
  { instance }: { readonly instance: string },
  reconcilerFor: (workload: Workload<O, C>) => Reconciler,
): void {
  const { client, clock } = manager;
  const objects = manager.mirror<O>(type);
  const children = manager.mirror<C>(childType);
  const events = manager.recorder({ controller: reporter, instance });
  const ownerOf = toController(type);
  children.addIndex(name, (child) => ownerOf(child).map(requestKey));
  if (selectorOf !== undefined) children.addIndex(unowned, namespaceOfUnowned);
  const workload: Workload<O, C> = {
    client,
    clock,
    objects,
    childrenOf: (key) => children.byIndex(name, key),
    candidatesFor: ({ metadata }) => [
      ...children.byIndex(name, keyOf(metadata)),
      ...(selectorOf === undefined ? [] : children.byIndex(unowned, metadata.namespace ?? "")),
    ],
    tell: (object, { text, action, ...note }) =>
      events.record({ regarding: regardingOf(object), action: action ?? note.reason, note: text, ...note }),
  };
  const builder = controllerFor(manager, name)
    .for<O>(type, isOver === undefined ? {} : { isOwed: (object) => !isOver(object) })
    .owns<C>(childType);
  const adopting =
    selectorOf === undefined
      ? builder
      : builder.watches<C>(childType, (child) => adopters(objects, selectorOf, child).map(requestFor));
  const patient = longestRetry === undefined ? adopting : adopting.with({ retries: { longestRetry } });
  patient.complete(reconcilerFor(workload));
}

/** The children of the object itself, without those of a former one of its name. */
export const ownChildren = <C extends KubeObject>(
  { childrenOf }: Pick<Workload<never, C>, "childrenOf">,
  { metadata }: Stored,
): readonly Stored<C>[] => childrenOf(keyOf(metadata)).filter((child) => controllerOf(child)?.uid === metadata.uid);

const namespaceOfUnowned = (object: KubeObject): readonly string[] =>
  controllerOf(object) === undefined ? [object.metadata.namespace ?? ""] : [];

/** Looks at every object of the kind: such children are rare. */
function adopters<O extends KubeObject>(
  objects: Informer<O>,
  selectorOf: (object: O) => Selector,
  child: KubeObject,
): readonly Stored<O>[] {
  if (controllerOf(child) !== undefined) return [];
  return objects.list().filter((object) => {
    if (object.metadata.namespace !== child.metadata.namespace) return false;
    return matcherOf(selectorOf(object))(child);
  });
}

/** The children without a controller that an object would adopt. */
export function adoptable<C extends KubeObject>(
  { metadata, spec }: KubeObject & { readonly spec: { readonly selector: Selector } },
  children: readonly Stored<C>[],
): readonly Stored<C>[] {
  const matches = matcherOf(spec.selector);
  if (metadata.deletionTimestamp !== undefined) return [];
  return children.filter(
    (child) => controllerOf(child) === undefined && child.metadata.deletionTimestamp === undefined && matches(child),
  );
}

/** A selector that cannot be read, which no server stores, matches nothing. */
export function matcherOf(selector: Selector): (object: KubeObject) => boolean {
  const read = readLabelSelector(selector);
  return ({ metadata }) => read.ok && matchesLabels(read.value, metadata.labels ?? {});
}

/** Creates a Pod and records the event. That of a refusal shows its reason, which people would see nowhere else. */
export async function createPod<O extends KubeObject>(
  { client, tell }: Pick<Workload<O, PodObject>, "client" | "tell">,
  owner: Stored<O>,
  pod: PodObject,
): Promise<void> {
  const action = "Create";
  try {
    const { metadata } = await client.create<PodObject>(Pod, pod);
    tell(owner, { type: "Normal", reason: "SuccessfulCreate", action, text: `Created pod: ${metadata.name}` });
  } catch (thrown) {
    tell(owner, { type: "Warning", reason: "FailedCreate", action, text: `Error creating: ${messageOf(thrown)}` });
    throw thrown;
  }
}

/** Deletes a Pod and records the event, also if it is already gone. */
export async function removePod<O extends KubeObject>(
  { client, tell }: Pick<Workload<O, PodObject>, "client" | "tell">,
  owner: Stored<O>,
  pod: Stored<PodObject>,
): Promise<void> {
  await ensureDeleted(client, Pod, pod);
  const text = `Deleted pod: ${pod.metadata.name}`;
  tell(owner, { type: "Normal", reason: "SuccessfulDelete", action: "Delete", text });
}

/** The earliest of these instants as the `wakeAt` of a plan. */
export function wakeAtFirst(...instants: readonly (Instant | undefined)[]): Waking {
  const known = instants.filter((at) => at !== undefined);
  return known.length === 0 ? {} : { wakeAt: Math.min(...known) };
}
