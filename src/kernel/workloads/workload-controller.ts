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

// What the controllers of workloads have in common: each looks after objects of one kind that make objects of another (Deployments
// make ReplicaSets, these and Jobs make Pods, CronJobs make Jobs), finds them by their owner, and tells people what it did.

/** What tells one such controller from another. */
export interface WorkloadKind<O extends KubeObject> {
  /** Of logs and metrics: `cronjob`. */
  readonly name: string;
  /** From whom its events are: `kubernetes.io/cronjob-controller`, the name that the genuine controller has. */
  readonly reporter: string;
  readonly type: ResourceType;
  readonly childType: ResourceType;
  /** By which it takes children that nobody controls; children are never taken without it. */
  readonly selectorOf?: (object: O) => Selector;
  /** Nothing more is to be done for it; those it does not hold for go first after a restart. Absent where no object comes to an end. */
  readonly isOver?: (object: O) => boolean;
  /** Failures are tried again after this long at the latest; see the work queue when absent. */
  readonly longestRetry?: Millis;
}

/**
 * What a pass works with. It lives as long as the manager, and its mirrors show what was written through `client` at once, so that a
 * pass may plan again after it has written.
 */
export interface Workload<O extends KubeObject, C extends KubeObject> {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly objects: Informer<O>;
  /**
   * Children of the object of that key, whether it exists or not: by name, so that those of a former object of the name are found too.
   * Who wants only its own compares the uid.
   */
  readonly childrenOf: (key: string) => readonly Stored<C>[];
  /** Objects of the children's kind that nobody controls; none without `selectorOf`. */
  readonly unownedIn: (namespace: string | undefined) => readonly Stored<C>[];
  /** Records an event about an object. Best effort: never waits, never fails. */
  readonly tell: (object: Stored<O>, note: WorkloadNote) => void;
}

/** What people are told, in the genuine controller's words. */
export interface WorkloadNote {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly text: string;
  /** The reason when absent. */
  readonly action?: string;
}

/** Index of objects that nobody controls, by their namespace. */
const unowned = "unowned";

/**
 * Gives the manager a controller of workloads. An object gets a pass when it changes, when a child of it changes, and when an object
 * appears that nobody controls and that it would take. `instance` names this process in events.
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

/** The children of an object itself, and not those of a former one of its name, which are the collector's. */
export const ownChildren = <C extends KubeObject>(
  { childrenOf }: Pick<Workload<never, C>, "childrenOf">,
  { metadata }: Stored,
): readonly Stored<C>[] => childrenOf(keyOf(metadata)).filter((child) => controllerOf(child)?.uid === metadata.uid);

const namespaceOfUnowned = (object: KubeObject): readonly string[] =>
  controllerOf(object) === undefined ? [object.metadata.namespace ?? ""] : [];

/** The objects that would take a child nobody controls. Looks at every object of the kind: such children are rare. */
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
