import { stripVTControlCharacters } from "node:util";
import type { ItemPods, LogRef, RunView, StepView } from "#engine/index.ts";
import { type Clock, inParallel, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, type LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound, Pod, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { innerLogs } from "./inner-logs.ts";
import { compareAges, containersOf, logName, ownLog, type StepLog } from "./pod-logs.ts";
import { dialectOf } from "./run.ts";

/**
 * The logs of a step: those a run keeps itself, those of an inner run, or those of its Pods, oldest attempt and Pod
 * first, init containers before others; of one `attempt` if given. Missing objects and kinds without Pods have no logs.
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

async function attemptLogs(client: ApiClient, step: string, log: LogRef): Promise<readonly StepLog[]> {
  const { object, attempt } = log;
  if (log.isOwn === true) {
    const type = await client.resourceType(object.apiVersion, object.kind);
    return type === undefined ? [] : [ownLog(type, { step }, log)];
  }
  const dialect =
    log.pods === undefined
      ? await dialectOf({ group: splitApiVersion(object.apiVersion).group, kind: object.kind })
      : undefined;
  if (dialect === undefined)
    return (await podsOf(client, log)).flatMap((pod) => containersOf(pod, { step, attempt }, log.container));
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return [];
  const run = await getOrUndefined(client, { type, namespace: object.namespace ?? "default", name: object.name });
  return run === undefined ? [] : await innerLogs(client, { object: run, dialect, name: logName({ step, attempt }) });
}

/** The logs of all items of a fan-out, by item and attempt. */
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

/** The Pods of a Job have a label of its controller. */
async function podsOf(client: ApiClient, { object, pods }: LogRef): Promise<readonly Stored[]> {
  const scope = { namespace: object.namespace ?? "default" };
  if (pods !== undefined)
    return [...(await client.list(Pod, { ...scope, labelSelector: pods })).items].sort(compareAges);
  if (object.kind === "Pod") {
    const pod = await getOrUndefined(client, { type: Pod, ...scope, name: object.name });
    return pod === undefined ? [] : [pod];
  }
  if (object.kind !== "Job") return [];
  const { items } = await client.list(Pod, { ...scope, labelSelector: `batch.kubernetes.io/job-name=${object.name}` });
  return [...items].sort(compareAges);
}

/** One log in chunks of any size. */
export const openStepLog = (
  client: Pick<ApiClient, "logs">,
  { of, container }: StepLog,
  options: LogOptions,
): AsyncIterable<Uint8Array> => client.logs(of, { ...options, container });

/** As `openStepLog`, but empty for a container that never started or is gone; `onNone` gets the server's reason. */
export async function* readStepLog(
  client: Pick<ApiClient, "logs">,
  log: StepLog,
  options: LogOptions,
  onNone: (why: string) => void = () => undefined,
): AsyncIterable<Uint8Array> {
  try {
    yield* openStepLog(client, log, options);
  } catch (thrown) {
    // A container that has not started answers 400; a Pod may be gone.
    if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
    if (isInvalid(thrown)) onNone(messageOf(thrown));
    // The run exists, but the server does not have its log.
    else if (log.of.type.kind !== Pod.kind) onNone("the server has no such log");
  }
}

/** The log of a step may arrive after its end; the wait for it is bounded. */
const latest: Millis = 2000;
const again: Millis = 100;

/** The log that a run keeps of an ended step, to its end if that arrives in time. */
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
        if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
        await sleep(clock, again, over.signal).catch(() => undefined);
      }
    }
  } finally {
    cancel();
  }
}

/** The last lines of one container, without control characters. */
export interface StepTail {
  readonly step: StepView;
  /** `part/tell` for a step of an inner run. */
  readonly inner?: string;
  readonly attempt: number;
  readonly item?: number;
  /** The container's; the step may have failed because of another one. */
  readonly exitCode?: number;
  /** Absent for logs that a run keeps itself, whose names are ids. */
  readonly container?: string;
  readonly lines: readonly string[];
}

/** Whether the run has one step, which succeeded: its output is the result of the run. */
const isOnlyStep = ({ steps: [step, another] }: RunView): boolean =>
  another === undefined && step?.phase === "Succeeded" && step.logs.every(({ isOwn }) => isOwn !== true);

/**
 * The last lines of every failed step's last attempt, or of a run's only step, in the order of steps; at most 64 KiB
 * each.
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

const failedItemsShown = 3;

/** The logs of a step's last attempt; of a fan-out, of the first failed items; of a run, of its failed steps. */
async function lastLogs(client: ApiClient, step: StepView): Promise<readonly StepLog[]> {
  if (step.items === undefined)
    return (await stepLogs(client, step, step.attempt)).filter(({ inner }) => inner?.isFailed !== false);
  const failures = (step.items.failures ?? []).slice(0, failedItemsShown);
  const logs = await stepLogs(client, step);
  return logs.filter(({ item, attempt }) =>
    failures.some((failure) => failure.index === item && failure.attempt === attempt),
  );
}

/** A line without escape sequences and control characters except tabs, including those of C1. */
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
