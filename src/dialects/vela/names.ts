import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";

// Names that documents may leave out are filled in, and members without a value dropped: when an object is stored, and
// again when one is read, because clusters without Slipway's API server store objects as they are written.

const isUnnamed = ({ name }: JsonObject): boolean => name === undefined || name === null || name === "";

/** `properties:` without a value counts as absent. */
const withoutNulls = (object: JsonObject): JsonObject =>
  Object.values(object).includes(null)
    ? Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
    : object;

const mapObjects = (
  list: JsonValue | undefined,
  change: (item: JsonObject, index: number) => JsonObject,
): JsonArray | undefined =>
  Array.isArray(list)
    ? list.map((item, index) => (isJsonObject(item) ? change(withoutNulls(item), index) : item))
    : undefined;

const withMember = (object: JsonObject, name: string, value: JsonValue | undefined): JsonObject =>
  value === undefined ? object : { ...object, [name]: value };

const withName = (object: JsonObject, name: string): JsonObject => (isUnnamed(object) ? { ...object, name } : object);

/** `step-<i>`, and `step-<i>-<j>` for sub-steps. */
export const nameSteps = (steps: JsonValue | undefined): JsonArray | undefined =>
  mapObjects(steps, (step, i) =>
    withMember(
      withName(step, `step-${i}`),
      "subSteps",
      mapObjects(step["subSteps"], (sub, j) => withName(sub, `step-${i}-${j}`)),
    ),
  );

/** `<type>-auto-gen-<index>`. */
export const namePolicies = (policies: JsonValue | undefined): JsonArray | undefined =>
  mapObjects(policies, (policy, index) => withName(policy, `${textAt(policy, "type") ?? ""}-auto-gen-${index}`));

/** The member `at` with its steps named, if it is an object. */
const withNamedSteps = (object: JsonObject, at: string): JsonObject => {
  const holder = object[at];
  return isJsonObject(holder) ? { ...object, [at]: withMember(holder, "steps", nameSteps(holder["steps"])) } : object;
};

export function nameApplication(object: JsonObject): JsonObject {
  const { spec } = object;
  if (!isJsonObject(spec)) return object;
  const components = mapObjects(spec["components"], (component) =>
    withMember(
      component,
      "traits",
      mapObjects(component["traits"], (trait) => trait),
    ),
  );
  const named = withMember(spec, "components", components);
  const policies = withMember(named, "policies", namePolicies(spec["policies"]));
  return { ...object, spec: withNamedSteps(policies, "workflow") };
}

export const nameWorkflowRun = (object: JsonObject): JsonObject =>
  isJsonObject(object["spec"]) ? { ...object, spec: withNamedSteps(object["spec"], "workflowSpec") } : object;

export const nameWorkflow = (object: JsonObject): JsonObject => withMember(object, "steps", nameSteps(object["steps"]));
