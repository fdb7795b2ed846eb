import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { Job, type KubeObject, outputVariable } from "#kernel/model/index.ts";
import { childLabels, childName } from "../child-names.ts";
import { childOf, labelsOf } from "./child.ts";
import type { Attempt } from "./executor.ts";

/** Kubernetes' default path of termination messages. */
const defaultMessagePath = "/dev/termination-log";

/** Artifacts of an attempt's Pods; see `#kernel/artifacts`. */
export type PodAnnotations = Readonly<Record<string, string>>;

/**
 * The Job of an attempt from the rendered `jobTemplate`: name and labels of the attempt, also on Pods, where the
 * author's labels override the selector's; `SLIPWAY_*` variables in every container. The owner reference is added on
 * creation.
 */
export function jobManifest(attempt: Attempt, template: JsonObject, artifacts: PodAnnotations = {}): KubeObject {
  const { namespace } = attempt.workflow.metadata;
  const child = childOf(attempt);
  const spec = objectAt(template, "spec");
  // The controller deletes finished Jobs itself, after their outcome is stored: see `reconcile/finished.ts`.
  const { ttlSecondsAfterFinished: _own, ...jobSpec } = spec;
  const pod = objectAt(spec, "template");
  return {
    apiVersion: "batch/v1",
    kind: Job.kind,
    metadata: {
      name: childName(child),
      ...(namespace === undefined ? {} : { namespace }),
      ...labelled(template["metadata"], {}, labelsOf(attempt)),
    },
    spec: {
      ...jobSpec,
      template: {
        ...pod,
        metadata: {
          ...objectAt(pod, "metadata"),
          ...labelled(pod["metadata"], attempt.compiled.selector, childLabels(child), artifacts),
        },
        spec: podSpec(objectAt(pod, "spec"), attempt),
      },
    },
  };
}

type Labels = Readonly<Record<string, string>>;

/**
 * Labels and annotations as texts, because an expression may return numbers. The author's override `defaults`; `own`
 * ones always win, because children are found by them.
 */
function labelled(metadata: JsonValue | undefined, defaults: Labels, own: Labels, ownAnnotations: PodAnnotations = {}) {
  const given = isJsonObject(metadata) ? metadata : {};
  const annotations = { ...objectAt(given, "annotations"), ...ownAnnotations };
  return {
    labels: { ...defaults, ...texts(objectAt(given, "labels")), ...own },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations: texts(annotations) }),
  };
}

const texts = (object: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, textOf(value ?? null)]));

/** Containers and init containers with variables. Malformed ones are left for the server to refuse. */
function podSpec(pod: JsonObject, attempt: Attempt): JsonObject {
  const withEnvironment = (list: JsonValue | undefined): readonly JsonValue[] =>
    isList(list)
      ? list.map((container) => (isJsonObject(container) ? withVariables(container, attempt) : container))
      : [];
  return {
    ...pod,
    containers: withEnvironment(pod["containers"]),
    ...(pod["initContainers"] === undefined ? {} : { initContainers: withEnvironment(pod["initContainers"]) }),
  };
}

/**
 * Variables about the step; the document's win. `SLIPWAY_OUTPUT` is the termination message path, so that outputs work
 * in every runtime without a sidecar.
 */
function withVariables(container: JsonObject, { workflow, step, number, item, iteration }: Attempt): JsonObject {
  const path = container["terminationMessagePath"];
  const given = isList(container["env"]) ? container["env"].map(withTextValue) : [];
  const names = new Set(given.filter(isJsonObject).map((variable) => variable["name"]));
  const own = {
    SLIPWAY_WORKFLOW: workflow.metadata.name,
    SLIPWAY_STEP: step.key,
    SLIPWAY_ATTEMPT: String(number),
    ...(item === undefined ? {} : { SLIPWAY_ITEM: textOf(item.value), SLIPWAY_INDEX: String(item.index) }),
    ...(iteration === undefined ? {} : { SLIPWAY_ITERATION: String(iteration) }),
    [outputVariable]: typeof path === "string" ? path : defaultMessagePath,
  };
  const added = Object.entries(own).filter(([name]) => !names.has(name));
  // First, so that the document's variables can refer to them as $(SLIPWAY_STEP).
  return { ...container, ...textLists(container), env: [...added.map(([name, value]) => ({ name, value })), ...given] };
}

/** Programs get the number 41 as "41", and lists and objects as JSON. */
const textOf = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Anything but a list is left for the server to refuse. */
function textLists(container: JsonObject): JsonObject {
  const lists = ["command", "args"].flatMap((name): [string, JsonValue][] => {
    const list = container[name];
    return isList(list) ? [[name, list.map(textOf)]] : [];
  });
  return Object.fromEntries(lists);
}

/** `valueFrom` and absent values stay. */
const withTextValue = (variable: JsonValue): JsonValue =>
  isJsonObject(variable) && variable["value"] !== undefined
    ? { ...variable, value: textOf(variable["value"]) }
    : variable;

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}
