import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { MapNode, Node } from "./node.ts";

/** A node as JSON. Numbers that JSON cannot represent stay texts. */
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

const isExact = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) && !Object.is(value, -0);

const objectOf = ({ members }: MapNode): JsonObject =>
  Object.fromEntries(members.map(({ name, value }) => [name, valueOf(value)]));

export const printNode = (node: MapNode): string => writeYaml(valueOf(node), { keys: "given" });
