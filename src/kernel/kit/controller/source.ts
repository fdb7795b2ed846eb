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

export interface RequestChannel {
  /** Never blocks. */
  send(request: ReconcileRequest): void;
  subscribe(listener: (request: ReconcileRequest) => void): () => void;
}

/** Requests without a listener are lost: controllers subscribe before they start. */
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

/** `namespace/name`, or `name` for cluster-scoped kinds. */
export const requestKey = ({ namespace, name }: ReconcileRequest): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

export const requestFor = ({ metadata }: Stored): ReconcileRequest =>
  metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name };

/** Maps an object to its controller of `type`, whatever the version of the owner's group. */
export const toController =
  (type: ResourceType): RequestMap =>
  (object) => {
    const owner = controllerOf(object);
    if (owner === undefined || owner.kind !== type.kind) return [];
    if (splitApiVersion(owner.apiVersion).group !== splitApiVersion(apiVersionOf(type)).group) return [];
    const { namespace } = object.metadata;
    return [type.namespaced && namespace !== undefined ? { namespace, name: owner.name } : { name: owner.name }];
  };

export interface NewsChoices<T extends KubeObject = KubeObject> {
  /** All must hold. */
  readonly predicates?: readonly Predicate<T>[];
  /** Unfinished objects go first after a restart; default: none. */
  readonly isOwed?: (object: Stored<T>) => boolean;
}

/** Initial objects and resyncs queue behind live changes: a restart with many objects does not delay a new one. */
export function enqueueHandler<T extends KubeObject>(
  map: RequestMap<T>,
  { predicates = [], isOwed = () => false }: NewsChoices<T>,
  enqueue: (request: ReconcileRequest, priority: Priority) => void,
): InformerHandler<T> {
  const tell = (change: Change<T>, priority: Priority): void => {
    if (!predicates.every((predicate) => predicate(change))) return;
    for (const request of map(change.object)) enqueue(request, priority);
    // The object's former owners are affected, too.
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
