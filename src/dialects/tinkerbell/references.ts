import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** Names of the objects that a workflow refers to, in its own namespace; empty where it names none. */
export function referencesOf({ spec = {} }: { readonly spec?: JsonObject }): {
  readonly template: string;
  readonly hardware: string;
} {
  return { template: nameIn(spec["templateRef"]), hardware: nameIn(spec["hardwareRef"]) };
}

/** Released documents name an object by a text, the others by an object with the name in it. */
const nameIn = (reference: JsonValue | undefined): string => {
  const name = isJsonObject(reference) ? reference["name"] : reference;
  return typeof name === "string" ? name : "";
};
