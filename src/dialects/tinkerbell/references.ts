import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** Names of the template and hardware of a workflow, in its namespace; empty if absent. */
export function referencesOf({ spec = {} }: { readonly spec?: JsonObject }): {
  readonly template: string;
  readonly hardware: string;
} {
  return { template: nameIn(spec["templateRef"]), hardware: nameIn(spec["hardwareRef"]) };
}

/** A text in v1alpha1, an object with a name in v1alpha2. */
const nameIn = (reference: JsonValue | undefined): string => {
  const name = isJsonObject(reference) ? reference["name"] : reference;
  return typeof name === "string" ? name : "";
};
