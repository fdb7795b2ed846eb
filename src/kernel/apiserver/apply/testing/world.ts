import type { JsonObject } from "#lib/base/index.ts";
import { applyManagers } from "../apply-managers.ts";
import { type Conflict, formatPath } from "../conflicts.ts";
import { type FieldSet, pathsOf } from "../field-set.ts";
import type { Manager } from "../managers.ts";
import { readApplied } from "../applied-document.ts";
import { customTypeNode, type TypeNode } from "../type-node.ts";
import { updateManagers } from "../update-managers.ts";

// For the tests of this folder: a kind with every class of field there is, and an object that several managers write.

const text = { type: "string" };
const inner = { type: "object", properties: { x: text, y: text } };
const named = {
  type: "object",
  properties: {
    name: text,
    value: text,
    struct: inner,
    inner: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
      items: { type: "object", properties: { id: { type: "integer" }, value: text } },
    },
  },
};
const port = {
  type: "object",
  properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" }, name: text },
};

/** The schema of the `spec` of the test kind. */
export const specSchema: JsonObject = {
  type: "object",
  properties: {
    a: text,
    b: text,
    nullable: { type: "string", nullable: true },
    number: { type: "integer" },
    struct: inner,
    map: { type: "object", additionalProperties: text },
    structs: { type: "object", additionalProperties: inner },
    atomicMap: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: text },
    atomicStruct: { ...inner, "x-kubernetes-map-type": "atomic" },
    keyed: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items: named },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["protocol", "port"],
      items: port,
    },
    set: { type: "array", "x-kubernetes-list-type": "set", items: text },
    list: { type: "array", items: named },
    atomicList: { type: "array", "x-kubernetes-list-type": "atomic", items: text },
    any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { known: inner } },
    intOrString: { "x-kubernetes-int-or-string": true },
  },
};

export const typeWith = (spec: JsonObject): TypeNode =>
  customTypeNode({ type: "object", properties: { spec, status: { type: "object", additionalProperties: text } } });

export const testType: TypeNode = typeWith(specSchema);

export const objectWith = (spec: JsonObject): JsonObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "t", namespace: "default" },
  spec,
});

/** A set as its paths print: `.spec.keyed[name="a"]`. */
export const printed = (set: FieldSet): readonly string[] => pathsOf(set).map(formatPath);

/** One object, its managers, and a clock that moves by a minute with every write. */
export class World {
  type: TypeNode;
  live: JsonObject | undefined;
  managers: readonly Manager[] = [];
  conflicts: readonly Conflict[] = [];
  #minute = 0;

  constructor(type: TypeNode = testType) {
    this.type = type;
  }

  get #now(): string {
    return `2024-01-01T00:${String(this.#minute).padStart(2, "0")}:00Z`;
  }

  /** Applies and stores; on a conflict nothing is stored and the conflicts are kept. */
  apply(name: string, document: JsonObject, force = false): this {
    this.#minute++;
    const { object, causes } = readApplied(document, this.type);
    if (causes.length > 0) throw new Error(causes.map(({ field, message }) => `${field}: ${message}`).join(", "));
    const outcome = applyManagers({
      live: this.live,
      document: object,
      sent: document,
      type: this.type,
      managers: this.managers,
      writer: { name, apiVersion: "example.org/v1" },
      scope: { subresource: "", hasStatus: true },
      force,
      now: this.#now,
    });
    this.conflicts = outcome.ok ? [] : outcome.error;
    if (outcome.ok) this.#store(outcome.value.object, outcome.value.managers);
    return this;
  }

  update(name: string, next: JsonObject, subresource = ""): this {
    this.#minute++;
    const managers = updateManagers({
      live: this.live,
      next,
      type: this.type,
      managers: this.managers,
      writer: { name, apiVersion: "example.org/v1" },
      scope: { subresource, hasStatus: true },
      now: this.#now,
    });
    this.#store(next, managers);
    return this;
  }

  #store(object: JsonObject, managers: readonly Manager[]): void {
    this.live = object;
    this.managers = managers;
  }

  get spec(): unknown {
    return this.live?.["spec"];
  }

  /** Every manager's paths below `.spec`, by `name` for appliers and `name!` for updaters. */
  get owners(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(
      this.managers.map(({ name, operation, fields }) => [
        operation === "Apply" ? name : `${name}!`,
        printed(fields).map((path) => path.replace(/^\.spec/, "")),
      ]),
    );
  }

  get conflictTexts(): readonly string[] {
    return this.conflicts.map(({ manager, path }) => `${manager.name} ${formatPath(path).replace(/^\.spec/, "")}`);
  }
}
