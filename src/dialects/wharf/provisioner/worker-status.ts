import { formatInstant, type Instant, parseInstant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { isFinal, type StepStatus } from "../results/build-document.ts";
import type { Worker } from "../kinds.ts";
import { type Observed, wasStarted, type WorkerIdentity } from "./backend.ts";
import type { Candidate } from "./slots.ts";

type WorkerStatus = NonNullable<Worker["status"]>;

export const identityOf = ({ metadata: { namespace = "", name, uid } }: Stored<Worker>): WorkerIdentity => ({
  namespace,
  name,
  uid,
});

export function factsOf({
  metadata,
  spec,
}: Stored<Worker>): Pick<WorkerStatus, "workerId" | "buildId" | "projectId" | "instance" | "createdAt"> {
  const { labels = {}, name, creationTimestamp } = metadata;
  return {
    workerId: name,
    buildId: spec.buildRef ?? 0,
    projectId: numberIn(labels["wharf.iver.com/project-id"] ?? spec.args?.["WHARF_PROJECT_ID"]),
    instance: labels["wharf.iver.com/instance"] ?? spec.args?.["WHARF_INSTANCE"] ?? "",
    createdAt: creationTimestamp,
  };
}

const numberIn = (text: string | undefined): number => {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
};

export const statusOf = (worker: Stored<Worker>, runtime: string, observed: Observed): WorkerStatus => ({
  ...factsOf(worker),
  status: observed.status,
  runtime,
  ...(observed.address === undefined ? {} : { address: observed.address }),
  finishedAt: observed.finishedAt === undefined ? null : formatInstant(observed.finishedAt),
  ...(observed.message === undefined ? {} : { message: observed.message }),
  ...(observed.process === undefined ? {} : { process: observed.process }),
  ...(observed.runtimeId === undefined ? {} : { runtimeId: observed.runtimeId }),
});

export const refusedStatus = (
  worker: Stored<Worker>,
  runtime: string,
  message: string,
  now: Instant,
): WorkerStatus => ({
  ...factsOf(worker),
  status: "Failed",
  runtime,
  finishedAt: formatInstant(now),
  message,
});

/** Members of released provisioners, then additions. */
export function workerJson(worker: Stored<Worker>) {
  const { status = {}, metadata } = worker;
  const facts = factsOf(worker);
  return {
    workerId: metadata.name,
    name: `${metadata.namespace ?? ""}/${metadata.name}`,
    status: wordOf(worker),
    createdAt: metadata.creationTimestamp,
    buildId: facts.buildId ?? 0,
    projectId: facts.projectId ?? 0,
    instance: facts.instance ?? "",
    runtime: status.runtime ?? "",
    address: status.address ?? "",
    finishedAt: status.finishedAt ?? null,
    message: status.message ?? "",
  };
}

const wordOf = ({ status }: Worker): StepStatus | "Unknown" => status?.status ?? "Scheduling";

const isOver = (worker: Worker): boolean => {
  const word = wordOf(worker);
  return word !== "Unknown" && isFinal(word);
};

export const isWorkerOver = (worker: Worker): boolean => isOver(worker) || (worker.status?.finishedAt ?? null) !== null;

/** Keeps a finished worker finished while it does not answer: treating it as starting would remove its results sooner.
 */
export function lasting({ status = {} }: Stored<Worker>, observed: Observed): Observed {
  const { status: word = "Unknown", finishedAt = null, address } = status;
  if (observed.phase !== "starting" || !observed.isAlive || finishedAt === null) return observed;
  return { ...observed, phase: "finished", status: word, address, finishedAt: parseInstant(finishedAt) };
}

export function candidateOf(worker: Stored<Worker>): Candidate {
  const { metadata, spec } = worker;
  const isStarted = wasStarted(worker.status ?? {}) || (wordOf(worker) !== "Scheduling" && wordOf(worker) !== "None");
  const over = isWorkerOver(worker);
  return {
    key: `${metadata.namespace ?? ""}/${metadata.name}`,
    createdAt: parseInstant(metadata.creationTimestamp) ?? 0,
    buildRef: spec.buildRef ?? 0,
    isAtWork: isStarted && !over,
    isWaiting: !isStarted && !over && metadata.deletionTimestamp === undefined,
  };
}
