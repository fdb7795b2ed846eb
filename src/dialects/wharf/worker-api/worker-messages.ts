import { fieldsOf } from "#kernel/rpc/index.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { LogTime } from "../results/log-line.ts";
import { statusOfWorker } from "../results/status-numbers.ts";

export interface WorkerLine {
  readonly stepId: number;
  readonly logId: number;
  readonly time: LogTime | undefined;
  readonly message: string;
}

export interface WorkerStatus {
  readonly stepId: number;
  readonly eventId: number;
  readonly status: StepStatus | undefined;
  readonly time: LogTime | undefined;
}

export interface WorkerArtifact {
  /** Unique in the build; for released workers in the step. */
  readonly artifactId: number;
  readonly stepId: number;
  readonly name: string;
  readonly size: number | undefined;
  readonly sha256: string | undefined;
  readonly testResults: boolean;
}

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
  // An empty artifact has no size on the wire, but a digest.
  return { artifactId, stepId, name, size: size ?? (sha256 === undefined ? undefined : 0), sha256, testResults };
}

function readTime(message: Buffer): LogTime {
  let [seconds, nanos] = [0, 0];
  for (const { number, value } of fieldsOf(message)) {
    // Negative numbers are encoded as 2^64 minus their amount.
    if (number === 1) seconds = value > Number.MAX_SAFE_INTEGER ? value - 2 ** 64 : value;
    else if (number === 2) nanos = value;
  }
  return { seconds, nanos };
}
