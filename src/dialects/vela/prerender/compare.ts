import { isJsonObject, type JsonObject, type JsonValue, objectAt, objectsAt } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { namePolicies, nameSteps } from "../names.ts";

// Pure: what a template wants of an application, and where the live one differs.

const isPreRender = (step: JsonObject): boolean => step["stage"] === "pre-render";

/**
 * The live specification with components, policies and post-render steps of the wanted one. What the template does not
 * have stays; pre-render steps are those of the live object. Names are filled in as admission does it.
 */
export function wantedSpec(live: JsonObject, wanted: JsonObject): JsonObject {
  const before = objectsAt(live, "workflow", "steps");
  const hasSteps = objectAt(wanted, "workflow")?.["steps"] !== undefined;
  const after = hasSteps ? objectsAt(wanted, "workflow", "steps") : before;
  const steps = [...before.filter(isPreRender), ...after.filter((step) => !isPreRender(step))];
  const workflow = { ...objectAt(live, "workflow"), ...without(objectAt(wanted, "workflow"), "steps") };
  return {
    ...live,
    ...(wanted["components"] === undefined ? {} : { components: wanted["components"] }),
    ...(wanted["policies"] === undefined ? {} : { policies: namePolicies(wanted["policies"]) }),
    ...(steps.length === 0 ? {} : { workflow: { ...workflow, steps: nameSteps(steps) } }),
  };
}

const without = (object: JsonObject | undefined, name: string): JsonObject =>
  Object.fromEntries(Object.entries(object ?? {}).filter(([each]) => each !== name));

export interface Difference {
  readonly path: string;
  readonly live: string;
  readonly wanted: string;
}

/** The first difference, for people; undefined if both are the same JSON. */
export function firstDifference(
  live: JsonValue | undefined,
  wanted: JsonValue | undefined,
  path = "spec",
): Difference | undefined {
  if (live !== undefined && wanted !== undefined && canonicalJson(live) === canonicalJson(wanted)) return undefined;
  if (live === undefined && wanted === undefined) return undefined;
  if (Array.isArray(live) && Array.isArray(wanted) && live.length === wanted.length)
    return firstOf(live.keys(), (index) => firstDifference(live[index], wanted[index], `${path}[${index}]`));
  if (isJsonObject(live) && isJsonObject(wanted)) {
    const names = [...new Set([...Object.keys(live), ...Object.keys(wanted)])].toSorted();
    return firstOf(names.values(), (name) => firstDifference(live[name], wanted[name], `${path}.${name}`));
  }
  return { path, live: excerpt(live), wanted: excerpt(wanted) };
}

function firstOf<T>(items: Iterable<T>, find: (item: T) => Difference | undefined): Difference | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

const excerpt = (value: JsonValue | undefined): string =>
  value === undefined ? "nothing" : JSON.stringify(value).slice(0, 120);
