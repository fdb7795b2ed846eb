import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";

// Names that documents may leave out. Filled in when an object is stored, and again when one is read, because clusters
// without Slipway's API server store them as they are written.

const isUnnamed = ({ name }: JsonObject): boolean => name === undefined || name === null || name === "";

const mapObjects = (
  list: JsonValue | undefined,
  change: (item: JsonObject, index: number) => JsonObject,
): JsonArray | undefined =>
  Array.isArray(list) ? list.map((item, index) => (isJsonObject(item) ? change(item, index) : item)) : undefined;

const withMember = (object: JsonObject, name: string, value: JsonValue | undefined): JsonObject =>
  value === undefined ? object : { ...object, [name]: value };

const named = (object: JsonObject, name: string): JsonObject => (isUnnamed(object) ? { ...object, name } : object);

/** `step-<i>`, and `step-<i>-<j>` for sub-steps. */
export const nameSteps = (steps: JsonValue | undefined): JsonArray | undefined =>
  mapObjects(steps, (step, i) =>
    withMember(
      named(step, `step-${i}`),
      "subSteps",
      mapObjects(step["subSteps"], (sub, j) => named(sub, `step-${i}-${j}`)),
    ),
  );

/** `<type>-auto-gen-<index>`. */
export const namePolicies = (policies: JsonValue | undefined): JsonArray | undefined =>
  mapObjects(policies, (policy, index) => named(policy, `${textAt(policy, "type") ?? ""}-auto-gen-${index}`));

/** The member `at` with its steps named, if it is an object. */
const withNamedSteps = (object: JsonObject, at: string): JsonObject => {
  const holder = object[at];
  return isJsonObject(holder) ? { ...object, [at]: withMember(holder, "steps", nameSteps(holder["steps"])) } : object;
};

export function nameApplication(object: JsonObject): JsonObject {
  const { spec } = object;
  if (!isJsonObject(spec)) return object;
  const policies = withMember(spec, "policies", namePolicies(spec["policies"]));
  return { ...object, spec: withNamedSteps(policies, "workflow") };
}

export const nameWorkflowRun = (object: JsonObject): JsonObject =>
  isJsonObject(object["spec"]) ? { ...object, spec: withNamedSteps(object["spec"], "workflowSpec") } : object;

export const nameWorkflow = (object: JsonObject): JsonObject => withMember(object, "steps", nameSteps(object["steps"]));
