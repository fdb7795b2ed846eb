import type { Clock, Millis } from "#lib/base/index.ts";
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
} from "#kernel/kit/index.ts";
import { controllerOf, type KubeObject, keyOf, type ResourceType, type Stored } from "#kernel/model/index.ts";
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
  readonly unownedIn: (namespace: string | undefined) => readonly Stored<C>[];
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

/**
 * Adds a controller. An object is reconciled when it or a child of it changes, and when a child without a controller
 * appears that it would adopt. `instance` names this process in events.
 */
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
    unownedIn: (namespace = "") => (selectorOf === undefined ? [] : children.byIndex(unowned, namespace)),
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
    const selector = readLabelSelector(selectorOf(object));
    return selector.ok && matchesLabels(selector.value, child.metadata.labels ?? {});
  });
}
