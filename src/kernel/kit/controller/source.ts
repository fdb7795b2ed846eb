import {
  apiVersionOf,
  controllerOf,
  type KubeObject,
  type ResourceType,
  type Stored,
  splitApiVersion,
} from "#kernel/model/index.ts";
import type { InformerHandler } from "../cache/informer.ts";
import type { Change, Predicate } from "./predicates.ts";
import type { ReconcileRequest } from "./reconciler.ts";
import type { Priority } from "./work-queue.ts";

/** The objects to reconcile because this one changed. Pure. */
export type RequestMap<T extends KubeObject = KubeObject> = (object: Stored<T>) => readonly ReconcileRequest[];

/** Requests from anywhere else: a stream of an agent, a finished process, another controller. */
export interface RequestChannel {
  /** Asks for a reconcile. Never blocks; requests for one object that come together are one. */
  send(request: ReconcileRequest): void;
  subscribe(listener: (request: ReconcileRequest) => void): () => void;
}

/** A channel without memory: what is sent while nobody listens is lost, which is why controllers subscribe before they start. */
export function requestChannel(): RequestChannel {
  const listeners = new Set<(request: ReconcileRequest) => void>();
  return {
    send(request) {
      for (const listener of listeners) listener(request);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The key a request has in caches and queues: `namespace/name`, or `name` alone for cluster-scoped kinds. */
export const requestKey = ({ namespace, name }: ReconcileRequest): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

/** The request to reconcile the object itself. */
export const requestFor = ({ metadata }: Stored): ReconcileRequest =>
  metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name };

/** Maps an owned object to its controller if that is of `type`; versions of the owner's group do not matter. */
export const toController =
  (type: ResourceType): RequestMap =>
  (object) => {
    const owner = controllerOf(object);
    if (owner === undefined || owner.kind !== type.kind) return [];
    if (splitApiVersion(owner.apiVersion).group !== splitApiVersion(apiVersionOf(type)).group) return [];
    const { namespace } = object.metadata;
    return [type.namespaced && namespace !== undefined ? { namespace, name: owner.name } : { name: owner.name }];
  };

/** Which of an informer's news matter, and how much. */
export interface NewsChoices<T extends KubeObject = KubeObject> {
  /** All must hold. */
  readonly predicates?: readonly Predicate<T>[];
  /** What has not come to its end: after a restart such objects go before those that need nothing more. Pure; none unless told. */
  readonly isOwed?: (object: Stored<T>) => boolean;
}

/**
 * Turns what an informer tells into requests. What was there at the start and what a resync repeats waits behind everything that has
 * just happened, so that a restart with 10,000 objects does not delay a new one.
 */
export function enqueueHandler<T extends KubeObject>(
  map: RequestMap<T>,
  { predicates = [], isOwed = () => false }: NewsChoices<T>,
  enqueue: (request: ReconcileRequest, priority: Priority) => void,
): InformerHandler<T> {
  const tell = (change: Change<T>, priority: Priority): void => {
    if (!predicates.every((predicate) => predicate(change))) return;
    for (const request of map(change.object)) enqueue(request, priority);
    // What the object belonged to before has changed, too. The queue drops what is named twice.
    if (change.old !== undefined && change.old !== change.object)
      for (const request of map(change.old)) enqueue(request, priority);
  };
  return {
    add: (object, { isInitial }) =>
      tell({ type: "add", object }, isInitial ? (isOwed(object) ? "owed" : "background") : "live"),
    update: (old, object, { isResync }) => tell({ type: "update", old, object }, isResync ? "background" : "live"),
    delete: (object) => tell({ type: "delete", object }, "live"),
  };
}
