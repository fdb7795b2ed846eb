import { stripVTControlCharacters } from "node:util";
import type { ItemPods, LogRef, RunView, StepView } from "#engine/index.ts";
import { type Clock, inParallel, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound, Pod, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { innerLogs } from "./inner-logs.ts";
import { compareAges, containersOf, logName, ownLog, type StepLog } from "./pod-logs.ts";
import { dialectOf } from "./runs.ts";

/**
 * The logs behind a step's references: of runs that have logs of their own those, else of the containers of Pods, oldest attempt and Pod first, init containers before the
 * others. A step that is a run has the logs of that run's steps. `attempt` leaves out all attempts of the step but one.
 * Objects that are gone, and kinds that have no Pods, have no logs: no error.
 */
export async function stepLogs(client: ApiClient, step: StepView, attempt?: number): Promise<readonly StepLog[]> {
  const isWanted = (log: { readonly attempt: number }) => attempt === undefined || log.attempt === attempt;
  const found = await Promise.all(
    step.logs.map(async (log): Promise<readonly StepLog[]> => {
      if (log.items !== undefined) return await itemLogs(client, step.id, log, log.items, isWanted);
      return isWanted(log) ? await attemptLogs(client, step.id, log) : [];
    }),
  );
  return found.flat();
}

/** Of one attempt: of the run that it is, or of its Pods. */
async function attemptLogs(client: ApiClient, step: string, log: LogRef): Promise<readonly StepLog[]> {
  const { object, attempt } = log;
  if (log.isOwn === true) {
    const type = await client.resourceType(object.apiVersion, object.kind);
    return type === undefined ? [] : [ownLog(type, { step }, log)];
  }
  const dialect = await dialectOf({ group: splitApiVersion(object.apiVersion).group, kind: object.kind });
  if (dialect === undefined)
    return (await podsOf(client, log)).flatMap((pod) => containersOf(pod, { step, attempt }, log.container));
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return [];
  const run = await client.get({ type, namespace: object.namespace ?? "default", name: object.name }).catch(absent);
  return run === undefined ? [] : await innerLogs(client, { object: run, dialect, name: logName({ step, attempt }) });
}

/** Of all items of a fan-out, in their order; those of one item by attempt. */
async function itemLogs(
  client: ApiClient,
  step: string,
  { object, container }: LogRef,
  { labelSelector, attemptLabel, itemLabel, runs }: ItemPods,
  isWanted: (log: { readonly attempt: number }) => boolean,
): Promise<readonly StepLog[]> {
  const type = runs === undefined ? Pod : await client.resourceType(runs.apiVersion, runs.kind);
  if (type === undefined) return [];
  const { items } = await client.list(type, { namespace: object.namespace ?? "default", labelSelector });
  const place = ({ metadata }: Stored, label: string) => Number(metadata.labels?.[label]);
  const children = items
    .map((child) => ({ child, step, item: place(child, itemLabel), attempt: place(child, attemptLabel) }))
    .filter(isWanted)
    .sort((a, b) => a.item - b.item || a.attempt - b.attempt || compareAges(a.child, b.child));
  const dialect = runs === undefined ? undefined : await dialectOf(type);
  if (dialect === undefined) return children.flatMap(({ child, ...of }) => containersOf(child, of, container));
  const logs: (readonly StepLog[])[] = children.map(() => []);
  await inParallel([...children.entries()], async ([index, { child, ...of }]) => {
    logs[index] = await innerLogs(client, { object: child, dialect, name: logName(of) });
  });
  return logs.flat();
}

/** A Job's Pods are found by the label that its controller puts on them. */
async function podsOf(client: ApiClient, { object }: LogRef): Promise<readonly Stored[]> {
  const scope = { namespace: object.namespace ?? "default" };
  if (object.kind === "Pod") {
    const pod = await client.get({ type: Pod, ...scope, name: object.name }).catch(absent);
    return pod === undefined ? [] : [pod];
  }
  if (object.kind !== "Job") return [];
  const { items } = await client.list(Pod, { ...scope, labelSelector: `batch.kubernetes.io/job-name=${object.name}` });
  return [...items].sort(compareAges);
}

function absent(thrown: unknown): undefined {
  if (!isNotFound(thrown)) throw thrown;
}

/** One log in chunks as the server sends them, which are no whole lines. */
export const openStepLog = (
  client: Pick<ApiClient, "logs">,
  { of, container }: StepLog,
  options: LogOptions,
): AsyncIterable<Uint8Array> => client.logs(of, { ...options, container });

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
    // The run is there, and its server does not have the logs that it keeps itself.
    else if (log.of.type.kind !== Pod.kind) onNone("the server has no such log");
  }
}

/** What is sent of a log comes after the news that its step has ended; after so long nothing more is waited for. */
const latest: Millis = 2000;
const again: Millis = 100;

/** The log of a step that has ended, of those that a run keeps itself: to its end, if that comes in time. */
async function* readLateLog(
  client: Pick<ApiClient, "logs">,
  log: StepLog,
  options: LogOptions,
  clock: Clock,
): AsyncIterable<Uint8Array> {
  const over = new AbortController();
  const cancel = clock.after(latest, () => over.abort(new Error("the log is late")));
  let isBegun = false;
  try {
    while (!over.signal.aborted && !isBegun) {
      try {
        for await (const chunk of openStepLog(client, log, { ...options, follow: true, signal: over.signal })) {
          isBegun = true;
          yield chunk;
        }
        return;
      } catch (thrown) {
        if (over.signal.aborted) return;
        // Nothing has come yet.
        if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
        await sleep(clock, again, over.signal).catch(() => undefined);
      }
    }
  } finally {
    cancel();
  }
}

/** The end of what one container of a step has written: lines without their ends, and harmless to print. */
export interface StepTail {
  readonly step: StepView;
  /** `part/tell` for a step of the run that the step is. */
  readonly inner?: string;
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
  /** Of this container; the step may have failed because of another one. */
  readonly exitCode?: number;
  /** Absent where the run keeps the log itself: what it calls the log is an id, which says nothing to people. */
  readonly container?: string;
  readonly lines: readonly string[];
}

/** Whether the run has one step, which succeeded: what its Pods print is what the run is for. */
const isOnlyStep = ({ steps: [step, another] }: RunView): boolean =>
  another === undefined && step?.phase === "Succeeded" && step.logs.every(({ isOwn }) => isOwn !== true);

/**
 * The last lines of every failed step's last attempt, or of the only step of a run, in the order of the steps.
 * Containers that wrote nothing are left out. At most 64 KiB are read of each.
 */
export async function lastTails(
  client: ApiClient,
  view: RunView,
  lines: number,
  clock: Clock,
): Promise<readonly StepTail[]> {
  if (lines === 0) return [];
  const shown = isOnlyStep(view) ? view.steps : view.steps.filter(({ phase }) => phase === "Failed");
  const tails = await Promise.all(
    shown.map(async (step) => {
      const logs = await lastLogs(client, step);
      return await Promise.all(logs.map((log) => tailOf(client, step, log, lines, clock)));
    }),
  );
  return tails.flat().filter((tail) => tail.lines.length > 0);
}

/** Items of a fan-out whose logs are looked at when it has failed. */
const failedItemsShown = 3;

/** The last attempt of a step; of a fan-out those of the first items that failed, and of a run those of its steps that failed. */
async function lastLogs(client: ApiClient, step: StepView): Promise<readonly StepLog[]> {
  if (step.items === undefined)
    return (await stepLogs(client, step, step.attempt)).filter(({ inner }) => inner?.isFailed !== false);
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

async function tailOf(client: ApiClient, step: StepView, log: StepLog, lines: number, clock: Clock): Promise<StepTail> {
  const chunks: Uint8Array[] = [];
  const options = { tailLines: lines, limitBytes: 64 * 1024 };
  const isPods = log.of.type.kind === Pod.kind;
  const read = isPods ? readStepLog(client, log, options) : readLateLog(client, log, options, clock);
  for await (const chunk of read) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8").replace(/\n$/, "");
  return {
    step,
    ...(log.inner === undefined ? {} : { inner: logName(log) }),
    attempt: log.attempt,
    ...(log.item === undefined ? {} : { item: log.item }),
    ...(log.exitCode === undefined ? {} : { exitCode: log.exitCode }),
    ...(isPods ? { container: log.container } : {}),
    lines: text === "" ? [] : text.split("\n").slice(-lines).map(harmless),
  };
}
