import { type FieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { Workflow } from "./kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";

/** Group of the controller that grew out of the proposal; its steps and statuses are lists. */
export const shippedGroup = "workflow.k8s.io";

const ours = apiVersionOf(Workflow);

export interface Converted {
  readonly object: JsonObject;
  /** `["spec", "steps", "two", "when"]` → `["spec", "steps", 1, "when"]`; the same outside lists. */
  readonly sourcePath: (path: FieldPath) => FieldPath;
}

export const isShipped = (document: JsonObject): boolean =>
  typeof document["apiVersion"] === "string" && document["apiVersion"].startsWith(`${shippedGroup}/`);

interface Counterpart {
  readonly kind: string;
  readonly lists: readonly (readonly string[])[];
}

const counterparts: ReadonlyMap<unknown, Counterpart> = new Map([
  [
    "Workflow",
    {
      kind: Workflow.kind,
      lists: [
        ["spec", "steps"],
        ["status", "statuses"],
      ],
    },
  ],
  ["CronWorkflow", { kind: ScheduledWorkflow.kind, lists: [["spec", "workflowTemplate", "spec", "steps"]] }],
]);

/** Converts a `workflow.k8s.io/v1` document. Unknown fields stay. Undefined if impossible; reasons are reported. */
export function convert(document: JsonObject, report: Report): Converted | undefined {
  const { apiVersion, kind, spec } = document;
  if (apiVersion !== `${shippedGroup}/v1`) {
    report(["apiVersion"], "unknown-version", `expected ${shippedGroup}/v1, found ${JSON.stringify(apiVersion)}`);
    return undefined;
  }
  const counterpart = counterparts.get(kind);
  if (counterpart === undefined) {
    report(["kind"], "unknown-kind", `expected Workflow or CronWorkflow, found ${JSON.stringify(kind)}`);
    return undefined;
  }
  if (isJsonObject(spec) && spec["antischedule"] !== undefined) {
    const words = "antischedule has no counterpart; write the wanted times as schedules";
    report(["spec", "antischedule"], "not-carried", words);
    return undefined;
  }
  const renamed = { ...document, apiVersion: ours, kind: counterpart.kind };
  return withMaps(isJsonObject(spec) ? { ...renamed, spec: withoutNames(spec) } : renamed, counterpart.lists, report);
}

/** Metadata that Go clients write into templates, without effect. */
const ownOfRuns = ["name", "generateName", "namespace", "creationTimestamp"];

function withoutNames(spec: JsonObject): JsonObject {
  const { workflowTemplate: template } = spec;
  if (!isJsonObject(template) || !isJsonObject(template["metadata"])) return spec;
  const metadata = Object.entries(template["metadata"]).filter(([name]) => !ownOfRuns.includes(name));
  return { ...spec, workflowTemplate: { ...template, metadata: Object.fromEntries(metadata) } };
}

function withMaps(document: JsonObject, lists: Counterpart["lists"], report: Report): Converted {
  const found = lists.map((list) => ({ list, indexes: new Map<string, number>() }));
  const object = found.reduce((all, { list, indexes }) => withMap(all, list, [], indexes, report), document);
  return {
    object,
    sourcePath(path) {
      const inside = found.find(({ list }) => list.every((name, depth) => path[depth] === name));
      const depth = inside?.list.length ?? 0;
      const key = path[depth];
      const index = typeof key === "string" ? inside?.indexes.get(key) : undefined;
      return index === undefined ? path : [...path.slice(0, depth), index, ...path.slice(depth + 1)];
    },
  };
}

function withMap(
  object: JsonObject,
  [name = "", ...rest]: readonly string[],
  at: FieldPath,
  indexes: Map<string, number>,
  report: Report,
): JsonObject {
  const member = object[name];
  const here = [...at, name];
  if (rest.length === 0)
    return Array.isArray(member) ? { ...object, [name]: toMap(member, here, indexes, report) } : object;
  return isJsonObject(member) ? { ...object, [name]: withMap(member, rest, here, indexes, report) } : object;
}

/** Records the index of each item. Items without a name or with a repeated one are reported and dropped. */
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
