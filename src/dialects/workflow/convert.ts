import { type FieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { Report } from "./problems.ts";

/** The group of the controller that grew out of the proposal; its steps and statuses are lists with names. */
export const shippedGroup = "workflow.k8s.io";

const ours = apiVersionOf({ group: "slipway.dev", version: "v1alpha1" });

/**
 * A document of the shipped controller in our form, and the way back to its places: problems are told where the user
 * wrote, although everything is checked in our form.
 */
export interface Converted {
  readonly object: JsonObject;
  /**
   * `["spec", "steps", "two", "when"]` → `["spec", "steps", 1, "when"]`; everything outside the lists stands where it
   * stood.
   */
  readonly sourcePath: (path: FieldPath) => FieldPath;
}

/** True for documents that `convert` takes. */
export const isShipped = (document: JsonObject): boolean =>
  typeof document["apiVersion"] === "string" && document["apiVersion"].startsWith(`${shippedGroup}/`);

/**
 * Turns a `workflow.k8s.io/v1` Workflow into a `slipway.dev` one. Nothing is dropped: fields this function does not know
 * stand where they stood. Undefined when the document cannot be carried; every reason has then been reported.
 */
export function convert(document: JsonObject, report: Report): Converted | undefined {
  if (document["apiVersion"] !== `${shippedGroup}/v1`) {
    report(
      ["apiVersion"],
      "unknown-version",
      `expected ${shippedGroup}/v1, found ${JSON.stringify(document["apiVersion"])}`,
    );
    return undefined;
  }
  if (document["kind"] === "Workflow") return convertWorkflow(document, report);
  const scheduled = document["kind"] === "CronWorkflow";
  report(
    ["kind"],
    scheduled ? "not-carried" : "unknown-kind",
    scheduled
      ? "this version does not carry schedules; CronWorkflow is refused"
      : `expected Workflow, found ${JSON.stringify(document["kind"])}`,
    scheduled ? "run its workflowTemplate as a Workflow" : undefined,
  );
  if (scheduled) refuseAntischedule(document, report);
  return undefined;
}

/**
 * Said in addition to the refusal of schedules, so that nobody converts the schedule and meets the next refusal then.
 */
function refuseAntischedule(document: JsonObject, report: Report): void {
  const spec = document["spec"];
  if (!isJsonObject(spec) || spec["antischedule"] === undefined) return;
  report(
    ["spec", "antischedule"],
    "not-carried",
    "antischedule has no counterpart; write the wanted times as schedules",
  );
}

/** Only the two lists differ; everything else is the same document under another name. */
function convertWorkflow(document: JsonObject, report: Report): Converted {
  const indexes = { steps: new Map<string, number>(), statuses: new Map<string, number>() };
  const inside = (parent: "spec" | "status", list: "steps" | "statuses"): JsonObject => {
    const value = document[parent];
    if (!isJsonObject(value) || !Array.isArray(value[list])) return {};
    return { [parent]: { ...value, [list]: toMap(value[list], [parent, list], indexes[list], report) } };
  };
  return {
    object: { ...document, apiVersion: ours, ...inside("spec", "steps"), ...inside("status", "statuses") },
    sourcePath(path) {
      const [, list, key] = path;
      const known = list === "steps" || list === "statuses" ? indexes[list] : undefined;
      const index = typeof key === "string" ? known?.get(key) : undefined;
      return index === undefined ? path : [...path.slice(0, 2), index, ...path.slice(3)];
    },
  };
}

/**
 * Remembers where each item stood, so that later problems can name that place. Items without a name, and the second
 * of a name, are reported and left out.
 */
function toMap(list: readonly JsonValue[], at: FieldPath, indexes: Map<string, number>, report: Report): JsonObject {
  const entries: [string, JsonValue][] = [];
  for (const [index, item] of list.entries()) {
    const name = isJsonObject(item) ? item["name"] : undefined;
    if (!isJsonObject(item) || typeof name !== "string") {
      report([...at, index], "missing-name", "expected an object with a name");
    } else if (indexes.has(name)) {
      report([...at, index, "name"], "duplicate-name", `the name "${name}" is used twice`);
    } else {
      const { name: _key, ...rest } = item;
      indexes.set(name, index);
      entries.push([name, rest]);
    }
  }
  return Object.fromEntries(entries);
}
