import { jsonEquals } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";

/** `old` is present for updates; a resync is an update with the same object twice. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly type: "add" | "update" | "delete";
  readonly object: Stored<T>;
  readonly old?: Stored<T>;
}

/** Whether a change is worth a reconcile. Pure. */
export type Predicate<T extends KubeObject = KubeObject> = (change: Change<T>) => boolean;

/** Passes updates for which `differs` holds, resyncs, and everything else. */
const onUpdate =
  (differs: (old: Stored, object: Stored) => boolean): Predicate =>
  ({ old, object }) =>
    old === undefined || old === object || differs(old, object);

/** The spec changed or deletion began. */
export const generationChanged: Predicate = onUpdate(
  (old, { metadata }) =>
    old.metadata.generation !== metadata.generation || old.metadata.deletionTimestamp !== metadata.deletionTimestamp,
);

export const labelsChanged: Predicate = onUpdate(
  (old, object) => !jsonEquals(old.metadata.labels, object.metadata.labels),
);

export const annotationsChanged: Predicate = onUpdate(
  (old, object) => !jsonEquals(old.metadata.annotations, object.metadata.annotations),
);

export const statusChanged: Predicate = onUpdate((old, object) => !jsonEquals(old.status, object.status));

/** A controller's list of predicates means all of them. */
export const anyOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (change) =>
    predicates.some((predicate) => predicate(change));
