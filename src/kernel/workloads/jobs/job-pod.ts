import { type Instant, parseInstant } from "#lib/base/index.ts";
import { controllerReference, type ObjectMeta, type Stored } from "#kernel/model/index.ts";
import { failureCountAnnotation, indexAnnotation, type JobObject, trackingFinalizer } from "../job-types.ts";
import type { Container, PodObject, PodSpec } from "../pod-types.ts";

export type JobPod = Stored<PodObject>;

/** Its end has not been stored yet. */
export const isTracked = ({ metadata }: JobPod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true;
/** The completion index of a pod; undefined if this controller has not created it. */
export function indexOf({ metadata }: JobPod): number | undefined {
  const text = metadata.annotations?.[indexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

export const earlierFailures = ({ metadata }: JobPod): number =>
  Number(metadata.annotations?.[failureCountAnnotation] ?? 0);

/** When a pod ended: its last container's end, else when unready, deleted, or created; as in Kubernetes. */
export function endOf({ metadata, spec, status }: JobPod): Instant {
  const sidecars = new Set(spec.initContainers?.flatMap((one) => (one.restartPolicy === "Always" ? [one.name] : [])));
  const counted = (status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name));
  const ends = [...(status?.containerStatuses ?? []), ...counted].map(({ state }) =>
    parseInstant(state.terminated?.finishedAt ?? ""),
  );
  const known = ends.filter((at) => at !== undefined);
  if (known.length > 0 && known.length === ends.length) return Math.max(...known);
  const unready = status?.conditions?.find((one) => one.type === "Ready" && one.status === "False");
  const deletedBy = parseInstant(metadata.deletionTimestamp ?? "");
  return (
    parseInstant(unready?.lastTransitionTime ?? "") ??
    (deletedBy === undefined ? undefined : deletedBy - (metadata.deletionGracePeriodSeconds ?? 0) * 1000) ??
    parseInstant(metadata.creationTimestamp) ??
    0
  );
}

export interface NewPod {
  readonly index?: number;
  readonly failures?: number;
}

/** The pod to create: the Job's template with its owner and index. The server completes the name. */
export function podFor(job: Stored<JobObject>, { index, failures }: NewPod): PodObject {
  const { name, uid, namespace = "" } = job.metadata;
  const { template } = job.spec;
  const numbered = index === undefined ? {} : { [indexAnnotation]: `${index}` };
  const counted = failures === undefined ? {} : { [failureCountAnnotation]: `${failures}` };
  const metadata: ObjectMeta = {
    generateName: index === undefined ? `${name}-` : indexedPrefix(name, index),
    namespace,
    labels: {
      ...template.metadata?.labels,
      "batch.kubernetes.io/controller-uid": uid,
      "batch.kubernetes.io/job-name": name,
      "controller-uid": uid,
      "job-name": name,
      ...numbered,
    },
    annotations: { ...template.metadata?.annotations, ...numbered, ...counted },
    finalizers: [...(template.metadata?.finalizers ?? []), trackingFinalizer],
    ownerReferences: [controllerReference(job)],
  };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: index === undefined ? template.spec : indexed(job, index) };
}

/** The length before the five random characters of a generated name. */
const longestPrefix = 58;

function indexedPrefix(name: string, index: number): string {
  const end = `-${index}-`;
  return `${name.slice(0, longestPrefix - end.length)}${end}`;
}

/** The index as a variable and in the host name. A variable of the template is kept. */
function indexed(job: Stored<JobObject>, index: number): PodSpec {
  const { spec } = job.spec.template;
  const fieldRef = { fieldPath: `metadata.annotations['${indexAnnotation}']` };
  const variable = { name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef } };
  const withIndex = (container: Container): Container =>
    container.env?.some(({ name }) => name === variable.name) === true
      ? container
      : { ...container, env: [...(container.env ?? []), variable] };
  return {
    ...spec,
    hostname: `${job.metadata.name}-${index}`,
    containers: spec.containers.map(withIndex),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withIndex) }),
  };
}
