import { badRequest } from "#kernel/model/index.ts";
import { fieldMatcher, type FieldRequirement, parseFieldSelector } from "#kernel/kit/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { viewOf } from "./storage-view.ts";

/** `name` is set when only the object of that name can match. */
export interface FieldSelector {
  readonly name: string | undefined;
  /** Name and namespace need no parsed object. */
  readonly readsObjects: boolean;
  matches(entry: Entry): boolean;
}

/** Undefined for everything. 400 for bad syntax and fields other than name, namespace and `fieldLabels`. */
export function compileFieldSelector(text: string, resource: ServedResource): FieldSelector | undefined {
  const parsed = parseFieldSelector(text);
  if (!parsed.ok) throw badRequest(`unable to parse the field selector: ${parsed.error}`);
  const selector = parsed.value;
  if (selector.length === 0) return undefined;
  for (const { path } of selector) checkLabel(path, resource);
  const matches = fieldMatcher(selector);
  return {
    name: nameIn(selector),
    readsObjects: selector.some(({ path }) => path !== "metadata.name" && path !== "metadata.namespace"),
    matches: (entry) => matches((path) => fieldOf(entry, path, resource)),
  };
}

/** For roles with `resourceNames`; "" without a name and for other verbs. */
export function selectedName(verb: string, fieldSelector: string): string {
  if (verb !== "list" && verb !== "watch") return "";
  const parsed = parseFieldSelector(fieldSelector);
  return (parsed.ok ? nameIn(parsed.value) : undefined) ?? "";
}

const nameIn = (requirements: readonly FieldRequirement[]): string | undefined =>
  requirements.find(({ path, operator }) => path === "metadata.name" && operator === "=")?.value;

function checkLabel(label: string, resource: ServedResource): void {
  if (label === "metadata.name" || label === "metadata.namespace" || resource.fieldLabels.includes(label)) return;
  throw badRequest(`field label not supported: ${label}`);
}

/** Name and namespace come from the key, without parsing the object. */
function fieldOf(entry: Entry, label: string, resource: ServedResource): string | undefined {
  if (label === "metadata.name") return entry.key.name;
  if (label === "metadata.namespace") return entry.key.namespace;
  return resource.fieldValue(viewOf(resource, entry), label);
}
