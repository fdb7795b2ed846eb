import { fieldsOf } from "#kernel/rpc/index.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { LogTime } from "../results/log-line.ts";
import { statusOfWorker } from "../results/status-numbers.ts";

// What a worker's streams bring, of this worker and of released ones, which leave out what they do not know.

/** A line of a step's log. */
export interface WorkerLine {
  readonly stepId: number;
  /** Of the step, from 1. */
  readonly logId: number;
  readonly time: LogTime | undefined;
  readonly message: string;
}

/** A step has become something. */
export interface WorkerStatus {
  readonly stepId: number;
  readonly eventId: number;
  /** Undefined for one that this version does not know. */
  readonly status: StepStatus | undefined;
  readonly time: LogTime | undefined;
}

/** A step has left something, which can be downloaded. */
export interface WorkerArtifact {
  /** Of the build; of the step for a released worker. */
  readonly artifactId: number;
  readonly stepId: number;
  readonly name: string;
  /** Undefined where the worker does not say. */
  readonly size: number | undefined;
  readonly sha256: string | undefined;
  readonly testResults: boolean;
}

/** StreamStatusEventsResponse. */
export function readStatus(message: Buffer): WorkerStatus {
  let [stepId, eventId, status] = [0, 0, 0];
  let time: LogTime | undefined;
  for (const { number, value, bytes } of fieldsOf(message)) {
    if (number === 1) eventId = value;
    else if (number === 2) stepId = value;
    else if (number === 3) status = value;
    else if (number === 4) time = readTime(bytes);
  }
  return { stepId, eventId, status: statusOfWorker(status), time };
}

/** StreamArtifactEventsResponse. */
export function readArtifact(message: Buffer): WorkerArtifact {
  let [artifactId, stepId, name, testResults] = [0, 0, "", false];
  let size: number | undefined;
  let sha256: string | undefined;
  for (const { number, value, bytes } of fieldsOf(message)) {
    if (number === 1) artifactId = value;
    else if (number === 2) stepId = value;
    else if (number === 3) name = bytes.toString("utf8");
    else if (number === 4) size = value;
    else if (number === 5) sha256 = bytes.toString("latin1");
    else if (number === 6) testResults = value !== 0;
  }
  // Of no bytes the size is left out on the wire, but the digest is not.
  return { artifactId, stepId, name, size: size ?? (sha256 === undefined ? undefined : 0), sha256, testResults };
}

function readTime(message: Buffer): LogTime {
  let [seconds, nanos] = [0, 0];
  for (const { number, value } of fieldsOf(message)) {
    // Moments before 1970 come as what is left of 2^64.
    if (number === 1) seconds = value > Number.MAX_SAFE_INTEGER ? value - 2 ** 64 : value;
    else if (number === 2) nanos = value;
  }
  return { seconds, nanos };
}
