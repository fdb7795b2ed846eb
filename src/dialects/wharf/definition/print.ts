import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { MapNode, Node } from "./node.ts";

/** A node as a value. What JSON has no number for stays the text that it is written as. */
export function valueOf(node: Node): JsonValue {
  switch (node.kind) {
    case "scalar":
      return typeof node.value === "number" && !isExact(node.value) ? node.text : node.value;
    case "list":
      return node.items.map(valueOf);
    case "map":
      return objectOf(node);
  }
}

/** Whether a number is the same in JSON. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) && !Object.is(value, -0);

/** The members in their order; `__proto__` is a name like any other. */
const objectOf = ({ members }: MapNode): JsonObject =>
  Object.fromEntries(members.map(({ name, value }) => [name, valueOf(value)]));

/** A map as YAML, without anchors, merge keys and comments. */
export const printNode = (node: MapNode): string => writeYaml(valueOf(node), { keys: "given" });
