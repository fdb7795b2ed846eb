import { getOrAdd, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { definitionNames, rawDefinitions, refOf, refTo } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

// One view of built-in definitions and custom schemas. Scalars are leaves whatever the schema says.

/** How a value divides among owners. Nodes are made on first use and kept. */
export interface TypeNode {
  /** atomic: an object here has one owner. granular: each member has its own. */
  readonly objects: "granular" | "atomic";
  /** atomic: a list here has one owner. map: each item, known by its `keys`. set: each value. */
  readonly lists: "map" | "set" | "atomic";
  /** Sorted; empty unless `lists` is map. */
  readonly keys: readonly string[];
  /** Built-in structs for which absent and `{}` mean the same. */
  readonly isAlwaysThere: boolean;
  /** True for a field of the schema, false for a key of a map: maps' keys are owned themselves. */
  isNamed(member: string): boolean;
  /** `untyped` for members unknown to the schema. */
  member(name: string): TypeNode;
  readonly items: TypeNode;
  /** The default of an absent key field. */
  keyDefault(key: string): JsonValue | undefined;
}

/** A value without a schema: its objects are granular, its lists leaves. */
export const untyped: TypeNode = {
  objects: "granular",
  lists: "atomic",
  keys: [],
  isAlwaysThere: false,
  isNamed: () => false,
  member: () => untyped,
  get items() {
    return untyped;
  },
  keyDefault: () => undefined,
};

const nodes = new WeakMap<ServedResource, TypeNode>();

export function typeNodeOf(resource: ServedResource): TypeNode {
  return getOrAdd(nodes, resource, () => rootOf(resource));
}

function rootOf({ custom, schema }: ServedResource): TypeNode {
  return custom ? customTypeNode(jsonOf(schema.root)) : builtInTypeNode(schema.name);
}

const jsonOf = (schema: object): JsonObject => schema as JsonObject;

export const builtInTypeNode = (definitionName: string): TypeNode =>
  new SchemaNode({ $ref: refTo(definitionName) }, builtIn);

export function customTypeNode(root: JsonObject): TypeNode {
  const { properties } = root;
  const metadata = { $ref: refTo(definitionNames.objectMeta) };
  const scalar = { type: "string" };
  const envelope = { ...(isJsonObject(properties) ? properties : {}), apiVersion: scalar, kind: scalar, metadata };
  return new SchemaNode({ ...root, properties: envelope }, custom);
}

interface Source {
  readonly objects: "granular" | "atomic";
  readonly hasZeroStructs: boolean;
}

// An object without members is opaque in the definitions (RawExtension, JSON), but simply unknown in a custom kind.
const builtIn: Source = { objects: "atomic", hasZeroStructs: true };
const custom: Source = { objects: "granular", hasZeroStructs: false };

class SchemaNode implements TypeNode {
  readonly objects: "granular" | "atomic";
  readonly lists: "map" | "set" | "atomic";
  readonly keys: readonly string[];
  readonly isAlwaysThere: boolean;
  readonly #schema: JsonObject;
  readonly #source: Source;
  readonly #members = new Map<string, TypeNode>();
  #others: TypeNode | undefined;
  #items: TypeNode | undefined;

  /** Keywords may be beside a reference or behind it. */
  constructor(raw: JsonObject, source: Source) {
    this.#schema = targetOf(raw);
    this.#source = refOf(raw) === undefined ? source : builtIn;
    const keyword = (name: string): JsonValue | undefined => raw[name] ?? this.#schema[name];
    const isDescribed = isJsonObject(this.#schema["properties"]) || isJsonObject(this.#schema["additionalProperties"]);
    this.objects =
      keyword("x-kubernetes-map-type") === "atomic" ? "atomic" : isDescribed ? "granular" : this.#source.objects;
    const keys = keyword("x-kubernetes-list-map-keys");
    const lists = keyword("x-kubernetes-list-type");
    this.lists = lists === "map" || lists === "set" ? lists : "atomic";
    this.keys = lists === "map" && Array.isArray(keys) ? keys.map(String).sort() : [];
    const zero = raw["default"];
    this.isAlwaysThere = source.hasZeroStructs && isJsonObject(zero) && Object.keys(zero).length === 0;
  }

  isNamed(member: string): boolean {
    const { properties } = this.#schema;
    return isJsonObject(properties) && Object.hasOwn(properties, member);
  }

  member(name: string): TypeNode {
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const { properties, additionalProperties } = this.#schema;
    if (isJsonObject(properties) && Object.hasOwn(properties, name)) {
      const made = nodeOf(properties[name], this.#source);
      this.#members.set(name, made);
      return made;
    }
    this.#others ??= nodeOf(additionalProperties, this.#source);
    return this.#others;
  }

  get items(): TypeNode {
    this.#items ??= nodeOf(this.#schema["items"], this.#source);
    return this.#items;
  }

  keyDefault(key: string): JsonValue | undefined {
    const { items } = this.#schema;
    const properties = isJsonObject(items) ? targetOf(items)["properties"] : undefined;
    const field = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
    return isJsonObject(field) ? field["default"] : undefined;
  }
}

const nodeOf = (raw: JsonValue | undefined, source: Source): TypeNode =>
  isJsonObject(raw) ? new SchemaNode(raw, source) : untyped;

function targetOf(raw: JsonObject): JsonObject {
  const ref = refOf(raw);
  const target = ref === undefined ? raw : rawDefinitions()[ref];
  return isJsonObject(target) ? target : {};
}
