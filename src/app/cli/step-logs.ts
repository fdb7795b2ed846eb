import { stripVTControlCharacters } from "node:util";
import type { LogRef, RunView, StepView } from "#engine/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound, Pod, type Stored } from "#kernel/model/index.ts";

/** One container whose output belongs to a step. */
export interface StepLog {
  readonly step: string;
  readonly attempt: number;
  readonly pod: Stored;
  readonly container: string;
}

/** The containers of the Pods behind a step's log references, oldest first, init containers before the others. */
export async function stepLogs(client: ApiClient, step: StepView, attempt?: number): Promise<readonly StepLog[]> {
  const wanted = step.logs.filter((log) => attempt === undefined || log.attempt === attempt);
  const found = await Promise.all(
    wanted.map(async (log) => (await podsOf(client, log)).flatMap((pod) => containersOf(step, log, pod))),
  );
  return found.flat();
}

async function podsOf(client: ApiClient, { object }: LogRef): Promise<readonly Stored[]> {
  const scope = { namespace: object.namespace ?? "default" };
  if (object.kind === "Pod") {
    const pod = await client.get({ type: Pod, ...scope, name: object.name }).catch(absent);
    return pod === undefined ? [] : [pod];
  }
  if (object.kind !== "Job") return [];
  const { items } = await client.list(Pod, { ...scope, labelSelector: `batch.kubernetes.io/job-name=${object.name}` });
  return [...items].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
}

function absent(thrown: unknown): undefined {
  if (!isNotFound(thrown)) throw thrown;
}

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
  readonly containers?: readonly { readonly name: string }[];
}

function containersOf(step: StepView, { attempt, container }: LogRef, pod: Stored): readonly StepLog[] {
  // A stored Pod has passed its schema.
  const { initContainers = [], containers = [] } = pod.spec as PodSpec;
  return [...initContainers, ...containers]
    .filter(({ name }) => container === undefined || name === container)
    .map(({ name }) => ({ step: step.id, attempt, pod, container: name }));
}

/** The output of one container; nothing for one that never started. */
export async function* readStepLog(
  client: ApiClient,
  { pod, container }: StepLog,
  options: LogOptions,
): AsyncIterable<Uint8Array> {
  const ref = { type: Pod, namespace: pod.metadata.namespace ?? "default", name: pod.metadata.name };
  try {
    yield* client.logs(ref, { ...options, container });
  } catch (thrown) {
    // A container that waits to start has no output: a 400 that is no mistake of ours. A Pod may be gone meanwhile.
    if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
  }
}

/** The end of what one container of a failed step has written. */
export interface StepTail {
  readonly step: StepView;
  readonly attempt: number;
  readonly container: string;
  readonly lines: readonly string[];
}

/** The last lines of every failed step's last attempt: what a person wants to see first. */
export async function failedTails(client: ApiClient, view: RunView, lines: number): Promise<readonly StepTail[]> {
  const failed = view.steps.filter(({ phase }) => phase === "Failed");
  const tails = await Promise.all(
    failed.map(async (step) => {
      const logs = await stepLogs(client, step, step.attempt);
      return await Promise.all(logs.map((log) => tailOf(client, step, log, lines)));
    }),
  );
  return tails.flat().filter((tail) => tail.lines.length > 0);
}

/** A line without what could move a terminal's cursor or colour what follows. */
export const harmless = (line: string): string =>
  stripVTControlCharacters(line).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");

async function tailOf(client: ApiClient, step: StepView, log: StepLog, lines: number): Promise<StepTail> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readStepLog(client, log, { tailLines: lines, limitBytes: 64 * 1024 })) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8").replace(/\n$/, "");
  return {
    step,
    attempt: log.attempt,
    container: log.container,
    lines: text === "" ? [] : text.split("\n").map(harmless),
  };
}
