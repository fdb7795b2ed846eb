import { jsonEquals } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";

/** A change as a controller sees it. `old` is present for updates; a resync is an update with twice the same object. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly type: "add" | "update" | "delete";
  readonly object: Stored<T>;
  readonly old?: Stored<T>;
}

/** Is this change worth a reconcile? Pure. */
export type Predicate<T extends KubeObject = KubeObject> = (change: Change<T>) => boolean;

/** Passes updates for which `differs` holds, resyncs, and everything that is no update. */
const onUpdate =
  (differs: (old: Stored, object: Stored) => boolean): Predicate =>
  ({ old, object }) =>
    old === undefined || old === object || differs(old, object);

/** The desired state changed or deletion began; status and metadata did not count. */
export const generationChanged: Predicate = onUpdate(
  (old, { metadata }) =>
    old.metadata.generation !== metadata.generation || old.metadata.deletionTimestamp !== metadata.deletionTimestamp,
);

/** For reconcilers that select by labels. */
export const labelsChanged: Predicate = onUpdate(
  (old, object) => !jsonEquals(old.metadata.labels, object.metadata.labels),
);

/** For reconcilers that are steered by annotations. */
export const annotationsChanged: Predicate = onUpdate(
  (old, object) => !jsonEquals(old.metadata.annotations, object.metadata.annotations),
);

/** For those who wait for what others report. */
export const statusChanged: Predicate = onUpdate((old, object) => !jsonEquals(old.status, object.status));

/** Any of them. A list of predicates given to a controller means all of them. */
export const anyOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (change) =>
    predicates.some((predicate) => predicate(change));
