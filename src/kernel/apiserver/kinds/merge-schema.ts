import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { rawDefinitions, refOf } from "#kernel/specs/index.ts";
import type { MergeSchema } from "./served-resource.ts";

type Strategy = MergeSchema["strategies"][number];

/** Patch keywords of a built-in kind's definition, read on demand. Unknown fields are replaced. */
export const mergeSchemaOf = (definitionName: string): MergeSchema =>
  new LazyMergeSchema({ $ref: `#/components/schemas/${definitionName}` });

const isStrategy = (text: string): text is Strategy => text === "merge" || text === "replace" || text === "retainKeys";

/** Keywords are beside the reference, members behind it. */
class LazyMergeSchema implements MergeSchema {
  readonly mergeKey: string | undefined;
  readonly strategies: readonly Strategy[];
  readonly #raw: JsonObject;
  readonly #fields = new Map<string, MergeSchema | undefined>();
  #items: MergeSchema | undefined;

  constructor(raw: JsonObject) {
    this.#raw = raw;
    const key = raw["x-kubernetes-patch-merge-key"];
    const strategy = raw["x-kubernetes-patch-strategy"];
    this.mergeKey = typeof key === "string" ? key : undefined;
    this.strategies = typeof strategy === "string" ? strategy.split(",").filter(isStrategy) : [];
  }

  field(name: string): MergeSchema | undefined {
    if (!this.#fields.has(name)) this.#fields.set(name, this.#readField(name));
    return this.#fields.get(name);
  }

  get items(): MergeSchema | undefined {
    const { items } = this.#target();
    if (this.#items === undefined && isJsonObject(items)) this.#items = new LazyMergeSchema(items);
    return this.#items;
  }

  #readField(name: string): MergeSchema | undefined {
    const { properties, additionalProperties } = this.#target();
    const known = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const raw: JsonValue | undefined = known ?? additionalProperties;
    return isJsonObject(raw) ? new LazyMergeSchema(raw) : undefined;
  }

  #target(): JsonObject {
    const ref = refOf(this.#raw);
    if (ref === undefined) return this.#raw;
    const target = rawDefinitions()[ref];
    return isJsonObject(target) ? target : {};
  }
}
