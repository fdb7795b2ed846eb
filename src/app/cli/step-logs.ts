import { stripVTControlCharacters } from "node:util";
import type { LogRef, RunView, StepView } from "#engine/index.ts";
import { messageOf } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound, Pod, type Stored } from "#kernel/model/index.ts";

/** One container whose output belongs to a step: `pod` as it was when it was looked up. */
export interface StepLog {
  readonly step: string;
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
  readonly pod: Stored;
  readonly container: string;
}

/** How people call what writes: `build`, `build#2` in its second attempt, `probe[17]` for an item. */
export const logName = ({ step, item, attempt }: StepLog): string =>
  `${step}${item === undefined ? "" : `[${item}]`}${attempt > 1 ? `#${attempt}` : ""}`;

/**
 * The containers of the Pods behind a step's log references, oldest attempt and Pod first, init containers before the
 * others. `attempt` leaves out all but one. Objects that are gone, and kinds that have no Pods, have no logs: no
 * error.
 */
export async function stepLogs(client: ApiClient, step: StepView, attempt?: number): Promise<readonly StepLog[]> {
  const isWanted = (log: { readonly attempt: number }) => attempt === undefined || log.attempt === attempt;
  const wanted = step.logs.filter((log) => log.items !== undefined || isWanted(log));
  const found = await Promise.all(
    wanted.map(async (log) => (await podsOf(client, log)).flatMap((pod) => containersOf(step, log, pod))),
  );
  return found.flat().filter(isWanted);
}

/** A Job's Pods are found by the label that its controller puts on them. */
async function podsOf(client: ApiClient, { object, items: ofItems }: LogRef): Promise<readonly Stored[]> {
  const scope = { namespace: object.namespace ?? "default" };
  if (ofItems !== undefined) {
    const { items } = await client.list(Pod, { ...scope, labelSelector: ofItems.labelSelector });
    const place = ({ metadata }: Stored) => Number(metadata.labels?.[ofItems.itemLabel]);
    return [...items].sort((a, b) => place(a) - place(b) || compareAges(a, b));
  }
  if (object.kind === "Pod") {
    const pod = await client.get({ type: Pod, ...scope, name: object.name }).catch(absent);
    return pod === undefined ? [] : [pod];
  }
  if (object.kind !== "Job") return [];
  const { items } = await client.list(Pod, { ...scope, labelSelector: `batch.kubernetes.io/job-name=${object.name}` });
  return [...items].sort(compareAges);
}

const compareAges = (a: Stored, b: Stored): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1;

function absent(thrown: unknown): undefined {
  if (!isNotFound(thrown)) throw thrown;
}

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
  readonly containers?: readonly { readonly name: string }[];
}

function containersOf(step: StepView, log: LogRef, pod: Stored): readonly StepLog[] {
  const { container, items } = log;
  const labels = pod.metadata.labels ?? {};
  const attempt = items === undefined ? log.attempt : Number(labels[items.attemptLabel]);
  const item = items === undefined ? {} : { item: Number(labels[items.itemLabel]) };
  // A stored Pod has passed its schema.
  const { initContainers = [], containers = [] } = pod.spec as PodSpec;
  return [...initContainers, ...containers]
    .filter(({ name }) => container === undefined || name === container)
    .map(({ name }) => ({ step: step.id, attempt, ...item, pod, container: name }));
}

/** The output of one container in chunks as the server sends them, which are no whole lines. */
export const openStepLog = (
  client: Pick<ApiClient, "logs">,
  { pod, container }: StepLog,
  options: LogOptions,
): AsyncIterable<Uint8Array> =>
  client.logs(
    { type: Pod, namespace: pod.metadata.namespace ?? "default", name: pod.metadata.name },
    { ...options, container },
  );

/**
 * The output of one container as `openStepLog` has it; nothing for one that never started or is gone. `onNone` is told
 * why one that is there has no output, in the server's words.
 */
export async function* readStepLog(
  client: Pick<ApiClient, "logs">,
  log: StepLog,
  options: LogOptions,
  onNone: (why: string) => void = () => undefined,
): AsyncIterable<Uint8Array> {
  try {
    yield* openStepLog(client, log, options);
  } catch (thrown) {
    // A container that waits to start has no output: a 400 that is no mistake of ours. A Pod may be gone meanwhile.
    if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
    if (isInvalid(thrown)) onNone(messageOf(thrown));
  }
}

/** The end of what one container of a failed step has written: lines without their ends, and harmless to print. */
export interface StepTail {
  readonly step: StepView;
  readonly attempt: number;
  readonly container: string;
  readonly lines: readonly string[];
}

/**
 * The last lines of every failed step's last attempt: what a person wants to see first. In the order of the steps;
 * containers that wrote nothing are left out. At most 64 KiB are read of each.
 */
export async function failedTails(client: ApiClient, view: RunView, lines: number): Promise<readonly StepTail[]> {
  const failed = view.steps.filter(({ phase }) => phase === "Failed");
  const tails = await Promise.all(
    failed.map(async (step) => {
      const logs = await lastLogs(client, step);
      return await Promise.all(logs.map((log) => tailOf(client, step, log, lines)));
    }),
  );
  return tails.flat().filter((tail) => tail.lines.length > 0);
}

/** Items of a fan-out whose logs are looked at when it has failed. */
const failedItemsShown = 3;

/** The last attempt of a step; of a fan-out those of the first items that failed. */
async function lastLogs(client: ApiClient, step: StepView): Promise<readonly StepLog[]> {
  if (step.items === undefined) return await stepLogs(client, step, step.attempt);
  const failures = (step.items.failures ?? []).slice(0, failedItemsShown);
  const logs = await stepLogs(client, step);
  return logs.filter(({ item, attempt }) =>
    failures.some((failure) => failure.index === item && failure.attempt === attempt),
  );
}

/**
 * A line without what could move a terminal's cursor or colour what follows: escape sequences go whole, other control
 * characters but tabs one by one, those of C1 too (`U+009B` begins a sequence on some terminals).
 */
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
