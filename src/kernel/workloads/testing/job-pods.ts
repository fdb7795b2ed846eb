import { formatTime, type Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type JobObject, type JobSpec, type JobStatus, trackingFinalizer } from "../job-types.ts";
import { type JobPod, podFor } from "../jobs/job-pod.ts";
import type { PodStatus } from "../pod-types.ts";
import { shellJob } from "./index.ts";

// Jobs and their pods as a server stores them, for tests of what is decided about them.

export const start: Instant = Date.UTC(2026, 0, 1);
/** Seconds after the start. */
export const at = (seconds: number): Instant => start + seconds * 1000;

export function storedJob(spec: Partial<JobSpec> = {}, status: JobStatus = {}, more: object = {}): Stored<JobObject> {
  const job = shellJob("j", "true", spec);
  const server = { name: "j", uid: "job-uid", resourceVersion: "1", creationTimestamp: formatTime(start) };
  return { ...job, metadata: { ...job.metadata, ...server, ...more }, status };
}

export interface PodState {
  readonly phase?: PodStatus["phase"];
  readonly index?: number;
  readonly exitCode?: number;
  readonly endedAt?: Instant;
  readonly held?: boolean;
  readonly deleted?: boolean;
  readonly restarts?: number;
  readonly failures?: number;
  /** Of the pod as a whole. */
  readonly reason?: string;
  readonly message?: string;
}

/** A pod of the Job `j`; running unless told. */
export function pod(uid: string, state: PodState = {}): JobPod {
  const { phase = "Running", index, exitCode, endedAt = at(1), held = true, deleted = false, restarts = 0 } = state;
  const { failures } = state;
  const { metadata, spec } = podFor(storedJob(), {
    ...(index === undefined ? {} : { index }),
    ...(failures === undefined ? {} : { failures }),
  });
  const ended = phase === "Succeeded" || phase === "Failed";
  const code = exitCode ?? (phase === "Failed" ? 1 : 0);
  const { finalizers: _finalizers, ...rest } = metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...rest,
      name: uid,
      uid,
      resourceVersion: "1",
      creationTimestamp: formatTime(start),
      ...(held ? { finalizers: [trackingFinalizer] } : {}),
      ...(deleted ? { deletionTimestamp: formatTime(at(1)) } : {}),
    },
    spec,
    status: {
      phase,
      ...(state.reason === undefined ? {} : { reason: state.reason }),
      ...(state.message === undefined ? {} : { message: state.message }),
      containerStatuses: [
        {
          name: "main",
          state: ended ? { terminated: { exitCode: code, finishedAt: formatTime(endedAt) } } : {},
          lastState: {},
          ready: !ended,
          started: !ended,
          restartCount: restarts,
          image: "",
          imageID: "",
        },
      ],
    },
  };
}
