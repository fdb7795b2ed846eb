// A `.wharf-ci.yml` as nodes: aliases followed, maps merged, words typed, everything with its place.

/** A place in the file; both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What a scalar is, by the core rules of YAML. A merge key has no meaning but as a key. */
export type Tag = "string" | "boolean" | "null" | "integer" | "float" | "timestamp" | "merge";

/** A scalar without a place. `text` is how it is written. */
export interface Scalar {
  readonly tag: Tag;
  readonly text: string;
  /** Timestamps and merge keys are their texts. */
  readonly value: string | number | boolean | null;
}

/** Somewhere else that a problem has to do with. The place of something in another file names the file. */
export interface Related {
  readonly message: string;
  readonly place: Place;
  readonly file?: string;
}

export interface ScalarNode extends Scalar {
  readonly kind: "scalar";
  readonly at: Place;
  /** Where the variables were defined that its text was made of. Present, however empty, exactly when something was substituted. */
  readonly madeOf?: readonly Related[];
}

export interface ListNode {
  readonly kind: "list";
  readonly at: Place;
  readonly items: readonly Node[];
}

/** No two members have one name. */
export interface MapNode {
  readonly kind: "map";
  readonly at: Place;
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  /** The place of the key. */
  readonly at: Place;
  readonly value: Node;
}

export type Node = ScalarNode | ListNode | MapNode;

/** What was found, for people: `expected text, found integer`. */
export function kindOf(node: Node): string {
  if (node.kind !== "scalar") return node.kind;
  if (node.tag === "string") return "text";
  return node.tag === "merge" ? "merge key" : node.tag;
}

export const isNull = (node: Node): boolean => node.kind === "scalar" && node.tag === "null";

/** The value of a member, if there is one of the name. */
export const memberOf = (map: MapNode, name: string): Member | undefined =>
  map.members.find((member) => member.name === name);
