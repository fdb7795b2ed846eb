import { formatInstant, isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import {
  type Approval,
  type FinalState,
  type Instant,
  type ItemsState,
  mapRangeValues,
  type Millis,
  type RunState,
  type StepState,
  stepState,
} from "#engine/index.ts";
import type { ArtifactStatus, ItemsStatus, StepStatus, WorkflowStatus } from "./kinds.ts";

// The status is the only record of a run. Fields unknown to the engine are kept.

/** The run of a status; without one, a run that has not moved. Unreadable times count as absent. O(steps). */
export function decodeRun(status: WorkflowStatus | undefined): RunState {
  const { phase = "Pending", runNumber = 1, statuses = {}, closing, reason, message } = status ?? {};
  return {
    phase,
    number: runNumber,
    suspendedFor: millis(status?.suspendedSeconds) ?? 0,
    steps: Object.fromEntries(Object.entries(statuses).map(([key, entry]) => [key, decodeStep(entry)])),
    ...present("closing", closing),
    ...present("reason", reason),
    ...present("message", message),
    ...present("startedAt", instant(status?.startTime)),
    ...present("finishedAt", instant(status?.completionTime)),
    ...present("suspendedSince", instant(status?.suspendedSince)),
    ...(status?.forced === true ? { forced: true } : {}),
    ...(status?.suspendRequested === true ? { suspendRequested: true } : {}),
    ...present("final", decodeFinal(status?.finally)),
  };
}

/** Exists from its start time on. */
function decodeFinal(status: WorkflowStatus["finally"]): FinalState | undefined {
  const startedAt = instant(status?.startTime);
  if (status === undefined || startedAt === undefined) return undefined;
  return {
    startedAt,
    ...present("suspendedFor", millis(status.suspendedSeconds)),
    ...present("closing", status.closing),
  };
}

export const artifactsIn = (artifacts: JsonObject): Readonly<Record<string, ArtifactStatus>> =>
  Object.fromEntries(Object.entries(artifacts).flatMap(([name, one]) => (isArtifact(one) ? [[name, one]] : [])));

const isArtifact = (value: JsonValue | undefined): value is JsonObject & ArtifactStatus =>
  isJsonObject(value) && typeof value["digest"] === "string" && typeof value["size"] === "number";

type Agreement = NonNullable<StepStatus["approvals"]>[number];

/** Absent fields mean the same in the engine. */
function decodeStep(entry: StepStatus): StepState {
  return {
    phase: entry.phase ?? "Pending",
    attempt: entry.attempt ?? 0,
    ...present("reason", entry.reason),
    ...present("message", entry.message),
    ...present("startedAt", instant(entry.startTime)),
    ...present("finishedAt", instant(entry.finishTime)),
    ...present("notBefore", instant(entry.notBefore)),
    ...present("readyAt", instant(entry.readyTime ?? entry.startTime)),
    ...present("attemptAt", instant(entry.attemptTime)),
    ...present("cancelledAt", instant(entry.cancelTime)),
    ...present("suspendedFor", millis(entry.suspendedSeconds)),
    ...present("earlierAttempts", entry.earlierAttempts),
    ...present("outputs", entry.outputs),
    ...present("artifacts", entry.artifacts),
    ...present("approvals", entry.approvals?.map(decodeApproval)),
    ...present("iteration", entry.iteration),
    ...present("items", entry.items && decodeItems(entry.items)),
    ...(entry.refused === true ? { refused: true } : {}),
  };
}

/** An unreadable time has passed. */
const decodeApproval = ({ by, time: text, values }: Agreement): Approval => ({
  ...present("by", by),
  at: parseInstant(text) ?? 0,
  ...present("values", values),
});

/** Approvals are only added; earlier ones stay as written. */
const encodeApprovals = (approvals: readonly Approval[], previous: readonly Agreement[] = []): readonly Agreement[] =>
  approvals.map(({ by, at, values }, index) => {
    const before = previous[index];
    if (before !== undefined && before.by === by && (parseInstant(before.time) ?? 0) === at) return before;
    return { ...present("by", by), time: formatInstant(at), ...present("values", values) };
  });

function decodeItems(items: ItemsStatus): ItemsState {
  const { waits, since, ...rest } = items;
  return { ...rest, ...present("waits", waits && toInstants(waits)), ...present("since", since && toInstants(since)) };
}

/** An unreadable time has passed. */
const toInstants = (ranges: string): string => mapRangeValues(ranges, (text) => parseInstant(text) ?? 0);
const toTimes = (ranges: string | undefined, previous: string | undefined): string | undefined => {
  if (ranges === undefined) return undefined;
  if (previous !== undefined && toInstants(previous) === ranges) return previous;
  return mapRangeValues(ranges, (text) => formatInstant(Number(text)));
};

/** Sets or removes every field of the engine and keeps the rest. */
const encodeItems = (items: ItemsState, previous: ItemsStatus | undefined): ItemsStatus =>
  put(previous ?? { total: items.total, states: items.states }, {
    total: items.total,
    states: items.states,
    attempts: items.attempts,
    earlier: items.earlier,
    waits: toTimes(items.waits, previous?.waits),
    since: toTimes(items.since, previous?.since),
    failures: items.failures,
  });

type Present<K extends string, T> = { readonly [P in K]?: T };

function present<K extends string, T>(name: K, value: T | undefined): Present<K, T> {
  const members: Present<string, T> = value === undefined ? {} : { [name]: value };
  return members;
}

const instant = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);
const millis = (seconds: number | undefined): Millis | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1000);

/** Fields of a step's entry besides the engine's. Replace those of the earlier entry. */
export type StepAdditions = Pick<StepStatus, "reference" | "templateHash" | "failures" | "complete">;

/** The status for `run`, keeping fields that are not about it. `before` is the decoded `previous`. */
export function encodeRun(
  run: RunState,
  previous: WorkflowStatus | undefined,
  before?: RunState,
  additions: ReadonlyMap<string, StepAdditions> = new Map(),
): WorkflowStatus {
  const statuses: Record<string, StepStatus> = {};
  let wasWritten = previous?.statuses !== undefined;
  for (const key of Object.keys(run.steps)) {
    const state = stepState(run, key);
    wasWritten = true;
    const entry = entryOf(previous, key);
    const added = additions.get(key);
    const was = before?.steps[key];
    const isShared = entry !== undefined && added === undefined && was === state;
    setOwn(statuses, key, isShared ? entry : { ...encodeStep(state, entry, was), ...added });
  }
  return put(previous ?? {}, {
    phase: previous?.phase === undefined && run.phase === "Pending" ? undefined : run.phase,
    runNumber: previous?.runNumber === undefined && run.number === 1 ? undefined : run.number,
    suspendedSeconds: seconds(run.suspendedFor, previous?.suspendedSeconds, 0),
    statuses: wasWritten ? statuses : undefined,
    closing: run.closing,
    reason: run.reason,
    message: run.message,
    startTime: time(run.startedAt, previous?.startTime, before?.startedAt),
    completionTime: time(run.finishedAt, previous?.completionTime, before?.finishedAt),
    suspendedSince: time(run.suspendedSince, previous?.suspendedSince),
    forced: flag(run.forced, previous?.forced),
    suspendRequested: flag(run.suspendRequested, previous?.suspendRequested),
    finally: run.final === undefined ? undefined : encodeFinal(run.final, previous?.finally),
  });
}

/** Assignment would set the prototype. */
function setOwn(statuses: Record<string, StepStatus>, key: string, value: StepStatus): void {
  if (key !== "__proto__") statuses[key] = value;
  else Object.defineProperty(statuses, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Keys may be names of inherited members, such as `constructor`. */
const entryOf = (status: WorkflowStatus | undefined, key: string): StepStatus | undefined =>
  status?.statuses !== undefined && Object.hasOwn(status.statuses, key) ? status.statuses[key] : undefined;

/** Like `encodeStep`; the start time is always written. */
function encodeFinal(final: FinalState, previous: WorkflowStatus["finally"]): WorkflowStatus["finally"] {
  const startTime = time(final.startedAt, previous?.startTime) ?? "";
  return put(previous ?? { startTime }, {
    startTime,
    suspendedSeconds: seconds(final.suspendedFor, previous?.suspendedSeconds),
    closing: final.closing,
  });
}

/** Sets or removes every field of the engine and keeps the rest. `was` is the decoded `previous`. */
function encodeStep(state: StepState, previous: StepStatus | undefined, was: StepState | undefined): StepStatus {
  return put(previous ?? {}, {
    phase:
      previous?.phase === undefined && previous !== undefined && state.phase === "Pending" ? undefined : state.phase,
    attempt: previous?.attempt === undefined && state.attempt === 0 ? undefined : state.attempt,
    reason: state.reason,
    message: state.message,
    startTime: time(state.startedAt, previous?.startTime, was?.startedAt),
    finishTime: time(state.finishedAt, previous?.finishTime, was?.finishedAt),
    notBefore: time(state.notBefore, previous?.notBefore, was?.notBefore),
    readyTime: isImplied(state, previous) ? undefined : time(state.readyAt, previous?.readyTime, was?.readyAt),
    attemptTime: time(state.attemptAt, previous?.attemptTime, was?.attemptAt),
    cancelTime: time(state.cancelledAt, previous?.cancelTime, was?.cancelledAt),
    suspendedSeconds: seconds(state.suspendedFor, previous?.suspendedSeconds),
    earlierAttempts: state.earlierAttempts,
    outputs: state.outputs,
    artifacts: state.artifacts && artifactsIn(state.artifacts),
    approvals: state.approvals && encodeApprovals(state.approvals, previous?.approvals),
    iteration: state.iteration,
    items: state.items && encodeItems(state.items, previous?.items),
    refused: flag(state.refused, previous?.refused),
  });
}

/** Omitted if equal to the start, which saves a seventh of an entry. */
const isImplied = ({ readyAt, startedAt }: StepState, previous: StepStatus | undefined): boolean =>
  readyAt === startedAt && previous?.readyTime === undefined;

/** Keeps a written `false`, which means the same as absence. */
const flag = (value: true | undefined, previous: boolean | undefined): boolean | undefined =>
  value ?? (previous === false ? false : undefined);

/** Keeps the earlier text if it is the same instant. `was`: that instant, if known. */
const time = (at: Instant | undefined, previous: string | undefined, was?: Instant): string | undefined => {
  if (at === undefined) return undefined;
  return previous !== undefined && (was === at || parseInstant(previous) === at) ? previous : formatInstant(at);
};

/** Keeps the earlier number if it means the same; `absent` need not be written. */
const seconds = (length: Millis | undefined, previous: number | undefined, absent?: Millis): number | undefined => {
  if (length === undefined) return undefined;
  if (millis(previous) === length) return previous;
  return previous === undefined && length === absent ? undefined : length / 1000;
};

/** `base` with these members, without undefined ones. Plain loops, because every write uses it. */
function put<T extends object>(base: T, members: { readonly [K in keyof T]?: T[K] | undefined }): T {
  const merged: Partial<T> = {};
  for (const name in base) if (!(name in members)) merged[name] = base[name];
  for (const name in members) {
    const value = members[name];
    if (value !== undefined) merged[name] = value;
  }
  // Only optional members are ever undefined.
  return merged as T;
}
