import { type Instant, parseInstant } from "#lib/base/index.ts";
import { isTrue } from "#kernel/kit/index.ts";
import { controllerReference, type ObjectMeta, type Stored } from "#kernel/model/index.ts";
import { failureCountAnnotation, indexAnnotation, type JobObject, trackingFinalizer } from "../job-types.ts";
import type { Container, PodObject, PodSpec } from "../pod-types.ts";

// Reading and making the pods of Jobs: names, labels and annotations are Kubernetes' own, so that its clients find them.

/** A pod as its Job sees it. */
export type JobPod = Stored<PodObject>;

/** Its end has not been written down yet: the finalizer keeps it until then, whoever deletes it. */
export const isTracked = ({ metadata }: JobPod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true;
/** Deleted; it may still run, and may have ended. */
export const isTerminating = ({ metadata }: JobPod): boolean => metadata.deletionTimestamp !== undefined;
export const isReady = ({ status }: JobPod): boolean => isTrue(status?.conditions, "Ready");

/** Neither ended nor ending. */
export const isActive = (pod: JobPod): boolean =>
  pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed" && !isTerminating(pod);

/** The completion index of a pod of an Indexed Job; undefined for a pod that nobody of us has made. */
export function indexOf({ metadata }: JobPod): number | undefined {
  const text = metadata.annotations?.[indexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** How often its index had failed before this pod; 0 without a limit per index. */
export const earlierFailures = ({ metadata }: JobPod): number =>
  Number(metadata.annotations?.[failureCountAnnotation] ?? 0);

/**
 * When a pod ended, as well as can be known: the end of its last container when all have ended, else when it was said not to be ready
 * any more, else its deletion, else its creation. Whole seconds. As the genuine controller reckons.
 */
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

/** A pod to be made. */
export interface NewPod {
  /** Of an Indexed Job, and only of one. */
  readonly index?: number;
  /** Failures of its index so far; only with a limit per index. */
  readonly failures?: number;
}

/** The pod to create for a Job: its template with what makes it this Job's, and this index's. Pure; the server gives it a name. */
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

/** What is before the five random characters of a generated name; the server cuts what is longer. */
const longestPrefix = 58;

/** Cut before the index, which is never lost. */
function indexedPrefix(name: string, index: number): string {
  const end = `-${index}-`;
  return `${name.slice(0, longestPrefix - end.length)}${end}`;
}

/** A variable and a host name tell the program its index. A variable of the template's own stays; its host name would be every index's. */
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
