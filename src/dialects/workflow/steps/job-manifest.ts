import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { Job, type KubeObject } from "#kernel/model/index.ts";
import { childName } from "../child-names.ts";
import { labelsOf } from "./child.ts";
import type { Attempt } from "./executor.ts";

const defaultMessagePath = "/dev/termination-log";

/** The Job of an attempt from the rendered `jobTemplate` of its step. */
export function jobManifest(attempt: Attempt, template: JsonObject): KubeObject {
  const { namespace, name, uid } = attempt.workflow.metadata;
  const labels = labelsOf(attempt);
  const spec = objectAt(template, "spec");
  // The controller deletes finished Jobs itself, after their outcome is recorded: see finished-children.ts.
  const { ttlSecondsAfterFinished: _own, ...jobSpec } = spec;
  const pod = objectAt(spec, "template");
  return {
    apiVersion: "batch/v1",
    kind: Job.kind,
    metadata: {
      name: childName({ workflow: name, uid, step: attempt.step.key, attempt: attempt.number }),
      ...(namespace === undefined ? {} : { namespace }),
      ...labelled(template["metadata"], labels),
    },
    spec: {
      ...jobSpec,
      template: {
        ...pod,
        metadata: { ...objectAt(pod, "metadata"), ...labelled(pod["metadata"], labels) },
        spec: podSpec(objectAt(pod, "spec"), attempt),
      },
    },
  };
}

/** The short form of a step as a `jobTemplate`. */
export function jobOfContainer(container: JsonObject): JsonObject {
  const { volumes, ...main } = container;
  const pod = {
    restartPolicy: "Never",
    containers: [{ name: "main", ...main }],
    ...(volumes === undefined ? {} : { volumes }),
  };
  return { spec: { backoffLimit: 0, template: { spec: pod } } };
}

/** Ours win: they are how children are found. */
function labelled(metadata: JsonValue | undefined, labels: Readonly<Record<string, string>>) {
  const given = isJsonObject(metadata) ? metadata : {};
  const annotations = objectAt(given, "annotations");
  return {
    labels: { ...texts(objectAt(given, "labels")), ...labels },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations: texts(annotations) }),
  };
}

const texts = (object: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );

/** Containers of a kind we do not know of are left as they are. */
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

/** What a step may know of itself. A variable the document sets stays as it is. */
function withVariables(container: JsonObject, { workflow, step, number }: Attempt): JsonObject {
  const path = container["terminationMessagePath"];
  const given = isList(container["env"]) ? container["env"] : [];
  const names = new Set(given.filter(isJsonObject).map((variable) => variable["name"]));
  const own = {
    SLIPWAY_WORKFLOW: workflow.metadata.name,
    SLIPWAY_STEP: step.key,
    SLIPWAY_ATTEMPT: String(number),
    SLIPWAY_OUTPUT: typeof path === "string" ? path : defaultMessagePath,
  };
  const added = Object.entries(own).filter(([name]) => !names.has(name));
  // First, so that variables of the document can refer to them as $(SLIPWAY_STEP).
  return { ...container, env: [...added.map(([name, value]) => ({ name, value })), ...given] };
}

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}
