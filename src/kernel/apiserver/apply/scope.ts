import { difference, type FieldSet, leaf, onlyBelow, withoutSubtrees } from "./field-set.ts";

// Two filters, applied at different moments: `inScope` to what a write may touch at all, `recorded` to what ends up in an entry. Between
// them the names of the object still count as declared, so that pruning never takes metadata away.

/** The part of an object that a request writes to, as far as owners are concerned. */
export interface Scope {
  /** Recorded in entries: `status`, `scale`; empty for the object itself. */
  readonly subresource: string;
  /** The kind keeps its status apart: writes to the object itself do not reach it. */
  readonly hasStatus: boolean;
}

const status: FieldSet = { "f:status": leaf };

/** Members nobody owns: they name the object or belong to the server. */
const unowned: FieldSet = {
  "f:apiVersion": leaf,
  "f:kind": leaf,
  "f:metadata": {
    ".": leaf,
    "f:creationTimestamp": leaf,
    "f:generation": leaf,
    "f:managedFields": leaf,
    "f:name": leaf,
    "f:namespace": leaf,
    "f:resourceVersion": leaf,
    "f:selfLink": leaf,
    "f:uid": leaf,
  },
};

/** The fields of a set that a write in this scope can reach. */
export function inScope(set: FieldSet, { subresource, hasStatus }: Scope): FieldSet {
  if (subresource === "status") return onlyBelow(set, "f:status");
  return hasStatus ? withoutSubtrees(set, status) : set;
}

/** The set without what is never recorded. */
export const recorded = (set: FieldSet): FieldSet => difference(set, unowned);
