import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { Job, type KubeObject, outputVariable } from "#kernel/model/index.ts";
import { childLabels, childName } from "../child-names.ts";
import { childOf, labelsOf } from "./child.ts";
import type { Attempt } from "./executor.ts";

/** Where Kubernetes expects a container's termination message unless the container says otherwise. */
const defaultMessagePath = "/dev/termination-log";

/** What the Pods of an attempt are told of artifacts; see `#kernel/artifacts`. */
export type PodAnnotations = Readonly<Record<string, string>>;

/**
 * The Job of an attempt from the rendered `jobTemplate` of its step: name and labels of the attempt, on the Pods too,
 * where the author's labels win over those of the selector, which selects Jobs; the variables `SLIPWAY_*` in every container; everything else as the document has it. The owner reference is added
 * on creation. `ttlSecondsAfterFinished` is left out: the controller deletes finished Jobs itself, after their
 * outcome is recorded.
 */
export function jobManifest(attempt: Attempt, template: JsonObject, artifacts: PodAnnotations = {}): KubeObject {
  const { namespace } = attempt.workflow.metadata;
  const child = childOf(attempt);
  const spec = objectAt(template, "spec");
  // The controller deletes finished Jobs itself, after their outcome is recorded: see finished-children.ts.
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
 * Labels and annotations as texts, which an expression may have made numbers. The author's labels win over `defaults`;
 * `own` labels and annotations always win, because children are found by them.
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

/**
 * All containers and init containers with their variables. What is no container is left as it is, for the server to
 * refuse.
 */
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
 * What a step may know of itself. A variable the document sets stays as it is. `SLIPWAY_OUTPUT` is the termination
 * message path, which is how outputs come back from every runtime without a sidecar.
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
  // First, so that variables of the document can refer to them as $(SLIPWAY_STEP).
  return { ...container, ...textLists(container), env: [...added.map(([name, value]) => ({ name, value })), ...given] };
}

/**
 * An expression that stands alone keeps the type of its value, so that `completions: ${{ params.n }}` is a number. Programs
 * take texts only: there the number 41 is the text 41, and a list or an object its JSON.
 */
const textOf = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Both are lists of texts; whatever else stands there is for the server to refuse. */
function textLists(container: JsonObject): JsonObject {
  const lists = ["command", "args"].flatMap((name): [string, JsonValue][] => {
    const list = container[name];
    return isList(list) ? [[name, list.map(textOf)]] : [];
  });
  return Object.fromEntries(lists);
}

/** `valueFrom` and an absent value stay what they are. */
const withTextValue = (variable: JsonValue): JsonValue =>
  isJsonObject(variable) && variable["value"] !== undefined
    ? { ...variable, value: textOf(variable["value"]) }
    : variable;

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}
