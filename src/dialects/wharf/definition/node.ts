export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A scalar's type by the core rules of YAML. */
export type Tag = "string" | "boolean" | "null" | "integer" | "float" | "timestamp" | "merge";

export interface Scalar {
  readonly tag: Tag;
  readonly text: string;
  /** Timestamps and merge keys keep their text. */
  readonly value: string | number | boolean | null;
}

/** A related place; `file` is set if it is in another file. */
export interface Related {
  readonly message: string;
  readonly place: Place;
  readonly file?: string;
}

export interface ScalarNode extends Scalar {
  readonly kind: "scalar";
  readonly at: Place;
  /** Definitions of the substituted variables. Present, even if empty, exactly if something was substituted. */
  readonly madeOf?: readonly Related[];
}

export interface ListNode {
  readonly kind: "list";
  readonly at: Place;
  readonly items: readonly Node[];
}

export interface MapNode {
  readonly kind: "map";
  readonly at: Place;
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  readonly at: Place;
  readonly value: Node;
}

export type Node = ScalarNode | ListNode | MapNode;

export function kindOf(node: Node): string {
  if (node.kind !== "scalar") return node.kind;
  if (node.tag === "string") return "text";
  return node.tag === "merge" ? "merge key" : node.tag;
}

export const isNull = (node: Node): boolean => node.kind === "scalar" && node.tag === "null";

export const memberOf = (map: MapNode, name: string): Member | undefined =>
  map.members.find((member) => member.name === name);
