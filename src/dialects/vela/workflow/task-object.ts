import { defined, isJsonObject, type JsonObject, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { CueObjects } from "#kernel/template/index.ts";
import type { Artifact } from "../render/render-policy.ts";
import type { StepOutcome } from "./outcome.ts";
import { stepReasons } from "./status.ts";
import type { StepJob } from "./job.ts";
import { WorkflowRun } from "../kinds.ts";
import { isSecret, nameOf, ownerOf } from "../labels.ts";
import { renderedArtifacts } from "./step-context.ts";

// Steps whose template renders an object instead of actions: the object's own controller does the work, and reports it
// in the condition `workflow-progress`.

const contextAnnotation = "app.oam.dev/workflow-context";
const recreateAnnotation = "slipway.dev/task-object";
const progress = "workflow-progress";

/** Larger parts are left out of the annotation; the references stay. */
const annotationLimit = 128 * 1024;

export type Progress =
  | { readonly kind: "succeeded" | "wait" }
  | { readonly kind: "failed" | "stopped"; readonly message: string };

/** Conditions about an older generation are ignored. */
export function progressOf(object: JsonObject): Progress {
  const generation = numberAt(object, "metadata", "generation");
  const condition = objectsAt(object, "status", "conditions").find(({ type }) => type === progress);
  if (condition === undefined) return { kind: "wait" };
  const observed = numberAt(object, "status", "observedGeneration");
  if (observed === undefined || observed !== generation) return { kind: "wait" };
  const message = textAt(condition, "message") ?? "";
  switch (textAt(condition, "reason") ?? "") {
    case "Failed":
      return { kind: "failed", message };
    case "Stopped":
      return { kind: "stopped", message };
    case "Succeeded":
      return condition["status"] === "True" ? { kind: "succeeded" } : { kind: "wait" };
    default:
      return { kind: "wait" };
  }
}

/** Applies the objects once in a run, then waits for the first of them. */
export async function runTaskObjects(
  job: StepJob,
  { output, outputs }: CueObjects,
  annotations: Readonly<Record<string, string>>,
): Promise<StepOutcome> {
  if (output === undefined) return { kind: "error", message: `step ${job.place.step.name}: output is missing` };
  const notes = job.store.notesOf(job.place.step.name);
  const isFirst = notes.get("applied") !== true;
  const annotation = await contextText(job);
  const main = named(job, output, "", annotation);
  if (typeof main === "string") return { kind: "error", message: main };
  const refusal = isFirst ? await forgetProgress(job, main, annotations[recreateAnnotation] === "recreate") : undefined;
  if (refusal !== undefined) return { kind: "error", message: refusal };
  let live: Stored | undefined;
  for (const [name, given] of [["", output] as const, ...Object.entries(outputs)]) {
    const object = named(job, given, name, annotation);
    if (typeof object === "string") return { kind: "error", message: object };
    const applied = await job.parts.delivery.applyObject(object, { cluster: "local" });
    if (!applied.ok) return { kind: "error", message: applied.error };
    live ??= applied.value;
  }
  notes.set("applied", true);
  return live === undefined ? { kind: "wait" } : judged(live);
}

function judged(live: Stored): StepOutcome {
  const { apiVersion, kind, metadata } = live;
  const { name, namespace } = metadata;
  const resourceRef = { apiVersion, kind, name, ...defined({ namespace }) };
  const found = progressOf(asJson(live));
  switch (found.kind) {
    case "succeeded":
      return { kind: "succeeded", resourceRef };
    case "wait":
      return { kind: "wait", message: `waiting for ${kind} ${name}`, resourceRef };
    case "failed":
      return { kind: "failed", reason: stepReasons.action, message: found.message, resourceRef };
    case "stopped":
      return { kind: "failed", reason: stepReasons.terminate, message: found.message, resourceRef };
  }
}

/** The object with a name, its owner and the annotation; a text if it is no object of Kubernetes. */
function named(job: StepJob, given: JsonObject, output: string, annotation: string): KubeObject | string {
  const { subject, place } = job;
  const { apiVersion, kind } = given;
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    return `step ${place.step.name}: output${output === "" ? "" : `s.${output}`} has no apiVersion and kind`;
  const { name: app, namespace } = subject.app.identity;
  const meta = isJsonObject(given["metadata"]) ? given["metadata"] : {};
  const { apiVersion: ownerVersion, kind: ownerKind, metadata } = subject.owner;
  const owner = { apiVersion: ownerVersion, kind: ownerKind, name: metadata.name, uid: metadata.uid, controller: true };
  const annotations = isJsonObject(meta["annotations"]) ? meta["annotations"] : {};
  const object = {
    ...given,
    apiVersion,
    kind,
    metadata: {
      ...meta,
      name: textAt(meta, "name") ?? [app, place.step.name, ...(output === "" ? [] : [output])].join("-"),
      namespace: textAt(meta, "namespace") ?? namespace,
      ownerReferences: [owner],
      annotations: { ...annotations, [contextAnnotation]: annotation },
    },
  };
  return object;
}

async function contextText({ subject, place, stepId, store, parts }: StepJob): Promise<string> {
  const { identity } = subject.app;
  const rendered = await renderedArtifacts(subject.app, parts.delivery);
  const reference = store.reference;
  const references = {
    appName: identity.name,
    namespace: identity.namespace,
    appRevision: identity.revision,
    generation: identity.generation,
    stepName: place.step.name,
    stepId,
    workflowName: identity.workflowName,
    publishVersion: identity.publishVersion ?? "",
    store: {
      kind: "ConfigMap",
      name: reference?.name ?? `workflow-${identity.name}-context`,
      namespace: identity.namespace,
    },
    resources: { configMap: subject.resources ?? identity.revision },
  };
  const whole = JSON.stringify({
    ...references,
    ...(typeof rendered === "string" ? {} : { components: withoutSecrets(rendered) }),
    vars: store.plainVariables,
  });
  return Buffer.byteLength(whole) <= annotationLimit ? whole : JSON.stringify(references);
}

/** Everybody who sees the object sees the annotation. */
const withoutSecrets = (artifacts: Readonly<Record<string, Artifact>>): JsonObject =>
  Object.fromEntries(
    Object.entries(artifacts).map(([name, { workload, traits }]) => [
      name,
      {
        ...(isSecret(workload) ? {} : { workload }),
        traits: Object.fromEntries(
          Object.entries(traits).map(([trait, resources]) => [
            trait,
            Object.fromEntries(Object.entries(resources).filter(([, object]) => !isSecret(objectAt(object) ?? {}))),
          ]),
        ),
      },
    ]),
  );

/** Of this application or run, or of another WorkflowRun, which cannot be told from an earlier one of this name. */
function isOwn({ subject: { app, owner } }: StepJob, live: Stored): boolean {
  const { name, namespace } = app.identity;
  const labelled = ownerOf(live);
  const isRun = owner.kind === WorkflowRun.kind;
  return (
    (!isRun && labelled?.name === name && labelled.namespace === namespace) ||
    (live.metadata.ownerReferences ?? []).some(
      ({ uid, kind, apiVersion }) =>
        uid === owner.metadata.uid || (isRun && kind === owner.kind && apiVersion === owner.apiVersion),
    )
  );
}

/** A condition of an earlier run would end this one at once. */
async function forgetProgress(job: StepJob, object: KubeObject, isRecreated: boolean): Promise<string | undefined> {
  const { actingClient: client, signal } = job.parts;
  const type: ResourceType | undefined = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return `no kind ${object.kind} in version ${object.apiVersion}`;
  const { name = "", namespace } = object.metadata;
  const ref = { type, name, ...(type.namespaced && namespace !== undefined ? { namespace } : {}) };
  const live = await getOrUndefined(client, ref, signal);
  if (live === undefined) return undefined;
  if (!isOwn(job, live)) {
    const refusal = `${nameOf(live)} exists and is not of ${nameOf(job.subject.owner)}, so it is not deleted`;
    return isRecreated ? refusal : undefined;
  }
  if (isRecreated) {
    await client.delete(ref, { signal, preconditions: { uid: live.metadata.uid } });
    return undefined;
  }
  const conditions = objectsAt(asJson(live), "status", "conditions");
  const others = conditions.filter((condition) => condition["type"] !== progress);
  if (others.length === conditions.length) return undefined;
  const body = { status: { conditions: others } };
  await client.patch(ref, { type: "merge", body }, { subresource: "status", signal });
  return undefined;
}
