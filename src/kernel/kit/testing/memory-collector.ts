import type { OwnerReference, Stored } from "#kernel/model/index.ts";

// Garbage collection as a Kubernetes API does it, as a pure function from what is stored to what has to be done next. Who carries the
// steps out calls it again until there are none.

/** Kept on an object that goes after its dependants, until they are gone. */
export const foregroundFinalizer = "foregroundDeletion";
/** Kept on an object that goes without its dependants, until they are let go. */
export const orphanFinalizer = "orphan";

/** What the collector does to one object. */
export type CollectorStep =
  | { readonly kind: "delete"; readonly object: Stored; readonly policy: "Foreground" | "Background" }
  /** Takes references to these owners away. */
  | { readonly kind: "disown"; readonly object: Stored; readonly owners: ReadonlySet<string> }
  /** Takes a finalizer of the collector away. */
  | { readonly kind: "release"; readonly object: Stored; readonly finalizer: string };

/**
 * What is due, given everything that is stored and the uids of what was removed. References to objects that never were mean nothing, so
 * that a test may make up owners; a server would collect what they own. O(objects + references) but for rings.
 */
export function collectorSteps(all: readonly Stored[], removed: ReadonlySet<string>): readonly CollectorStep[] {
  const graph = graphOf(all);
  return all.flatMap((object) => [...endSteps(graph, object), ...loneSteps(graph, object, removed)]);
}

interface Graph {
  readonly byUid: ReadonlyMap<string, Stored>;
  readonly dependants: ReadonlyMap<string, readonly Stored[]>;
}

function graphOf(all: readonly Stored[]): Graph {
  const byUid = new Map(all.map((object) => [object.metadata.uid, object]));
  const dependants = new Map<string, Stored[]>();
  for (const object of all) {
    for (const { uid } of ownersOf(object)) {
      const owner = byUid.get(uid);
      // An owner in another namespace owns nothing.
      if (owner === undefined || !isReach(owner, object)) continue;
      const known = dependants.get(uid) ?? [];
      if (!known.includes(object)) known.push(object);
      dependants.set(uid, known);
    }
  }
  return { byUid, dependants };
}

const ownersOf = ({ metadata }: Stored): readonly OwnerReference[] => metadata.ownerReferences ?? [];
const isReach = (owner: Stored, object: Stored): boolean =>
  owner.metadata.namespace === undefined || owner.metadata.namespace === object.metadata.namespace;
const isTerminating = ({ metadata }: Stored): boolean => metadata.deletionTimestamp !== undefined;
const waits = (object: Stored | undefined, finalizer: string): boolean =>
  object !== undefined && isTerminating(object) && object.metadata.finalizers?.includes(finalizer) === true;

/** What an object that is being deleted asks of its dependants, and what it is let go by. */
function endSteps(graph: Graph, owner: Stored): readonly CollectorStep[] {
  const { uid } = owner.metadata;
  const dependants = graph.dependants.get(uid) ?? [];
  if (waits(owner, orphanFinalizer)) {
    if (dependants.length === 0) return [{ kind: "release", object: owner, finalizer: orphanFinalizer }];
    return dependants.map((object) => ({ kind: "disown", object, owners: new Set([uid]) }));
  }
  if (!waits(owner, foregroundFinalizer)) return [];
  const ends = dependants.filter((object) => !isTerminating(object)).map((object) => endOf(graph, object, uid));
  if (ends.length > 0) return ends;
  const isHeld = dependants.some((object) => blocks(object, uid) && !isWaitingFor(graph, object, uid, new Set()));
  return isHeld ? [] : [{ kind: "release", object: owner, finalizer: foregroundFinalizer }];
}

/** A dependant of an owner that goes: it goes too, unless somebody else keeps it. */
function endOf(graph: Graph, object: Stored, owner: string): CollectorStep {
  const keeps = ({ uid }: OwnerReference) =>
    uid !== owner && graph.byUid.has(uid) && !waits(graph.byUid.get(uid), foregroundFinalizer);
  if (ownersOf(object).some(keeps)) return { kind: "disown", object, owners: new Set([owner]) };
  const own = graph.dependants.get(object.metadata.uid) ?? [];
  const isBlocked = own.some((dependant) => blocks(dependant, object.metadata.uid));
  return { kind: "delete", object, policy: isBlocked ? "Foreground" : "Background" };
}

const blocks = (object: Stored, owner: string): boolean =>
  ownersOf(object).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);

/** True for a ring: the dependant itself waits, over however many others, for its owner to go. */
function isWaitingFor(graph: Graph, object: Stored, owner: string, seen: Set<string>): boolean {
  const { uid } = object.metadata;
  if (uid === owner) return true;
  if (seen.has(uid) || !waits(object, foregroundFinalizer)) return false;
  seen.add(uid);
  const next = (graph.dependants.get(uid) ?? []).filter((dependant) => blocks(dependant, uid));
  return next.some((dependant) => isWaitingFor(graph, dependant, owner, seen));
}

/** What lost an owner goes in the background, unless it has another one that lives. */
function loneSteps(graph: Graph, object: Stored, removed: ReadonlySet<string>): readonly CollectorStep[] {
  const lost = new Set(ownersOf(object).flatMap(({ uid }) => (removed.has(uid) ? [uid] : [])));
  if (lost.size === 0 || isTerminating(object)) return [];
  const isKept = ownersOf(object).some(({ uid }) => graph.byUid.has(uid));
  return [isKept ? { kind: "disown", object, owners: lost } : { kind: "delete", object, policy: "Background" }];
}
