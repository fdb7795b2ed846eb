import { amend } from "./amend.ts";
import { type IntHeap, pushLeast } from "./heap.ts";
import {
  attemptsOf,
  decodePhases,
  decodeRanges,
  encodeAttempts,
  encodePhases,
  encodeRanges,
  isItemActive,
  isItemSettled,
  type ItemFailure,
  itemPhase,
  type ItemsState,
  newItems,
} from "./items.ts";
import type { Fan, PlanStep } from "./plan.ts";
import type { StepState } from "./run.ts";
import type { Instant, JsonObject, JsonValue } from "./values.ts";

/** Mutable form of an active fan-out's items. */
export interface FanBooks {
  readonly fan: Fan;
  readonly phases: Uint8Array;
  readonly attempts: Uint16Array;
  /** Attempts of earlier runs by index, ascending. */
  readonly earlier: Map<number, number>;
  /** Items that may not start yet. */
  readonly waits: Map<number, Instant>;
  /** Starts, if attempts are timed. */
  readonly since: Map<number, Instant>;
  /** Items that may start now. */
  readonly ready: IntHeap;
  readonly granted: Set<number>;
  /** Items that owe a start or cancel. */
  readonly owing: Set<number>;
  readonly failures: ItemFailure[];
  readonly outputs: Map<string, JsonValue[]>;
  /** As `name/index`. */
  readonly artifacts: Map<string, JsonValue>;
  active: number;
  unsettled: number;
  failed: number;
  isQueued: boolean;
  /** Differs from the step's state. */
  isChanged: boolean;
  /** The next due time is unknown. */
  isUntimed: boolean;
}

const mostFailures = 10;

export const noFan: Fan = { count: () => ({ count: 0 }), failFast: false, outputs: [] };

export function openBooks(
  { fan = noFan }: PlanStep,
  { items = newItems(0), outputs = {}, artifacts = {} }: StepState,
): FanBooks {
  const { total } = items;
  const phases = decodePhases(items.states, total);
  const books: FanBooks = {
    fan,
    phases,
    attempts: attemptsOf(items, phases),
    earlier: new Map(),
    waits: new Map(),
    since: new Map(),
    ready: [],
    granted: new Set(),
    owing: new Set(),
    failures: [...(items.failures ?? [])],
    outputs: new Map(
      Object.entries(outputs).flatMap(([name, list]) => (Array.isArray(list) ? [[name, [...list]]] : [])),
    ),
    artifacts: new Map(entriesOf(artifacts)),
    active: 0,
    unsettled: 0,
    failed: 0,
    isQueued: false,
    isChanged: false,
    isUntimed: true,
  };
  decodeRanges(items.earlier, total, (index, count) => {
    books.earlier.set(index, count);
  });
  decodeRanges(items.waits, total, (index, at) => {
    if (phases[index] === itemPhase.waiting) books.waits.set(index, at);
  });
  decodeRanges(items.since, total, (index, at) => {
    if (isTimed(phases[index] ?? 0)) books.since.set(index, at);
  });
  for (const [index, phase] of phases.entries()) enter(books, index, phase, 1);
  return books;
}

export const phaseOf = ({ phases }: FanBooks, index: number): number => phases[index] ?? itemPhase.canceled;
export const attemptOf = ({ attempts }: FanBooks, index: number): number => attempts[index] ?? 0;

/** Of this run, including the current one. */
export const itemTries = (books: FanBooks, index: number): number =>
  attemptOf(books, index) - (books.earlier.get(index) ?? 0);

/** A cancelled attempt is not. */
const isTimed = (phase: number): boolean => phase === itemPhase.starting || phase === itemPhase.running;

/** `notBefore` is for waiting items. */
export function putItem(books: FanBooks, index: number, phase: number, notBefore?: Instant): void {
  enter(books, index, phaseOf(books, index), -1);
  books.phases[index] = phase;
  if (!isTimed(phase)) books.since.delete(index);
  if (notBefore === undefined) books.waits.delete(index);
  else books.waits.set(index, notBefore);
  enter(books, index, phase, 1);
  books.isChanged = true;
  books.isUntimed = true;
}

function enter(books: FanBooks, index: number, phase: number, by: 1 | -1): void {
  if (isItemActive(phase)) books.active += by;
  if (!isItemSettled(phase)) books.unsettled += by;
  if (phase === itemPhase.failed) books.failed += by;
  const owes = phase === itemPhase.starting || phase === itemPhase.cancelling;
  if (by < 0 || !owes) books.owing.delete(index);
  else books.owing.add(index);
  if (by > 0 && isIdle(books, index, phase) && isLetIn(books, index)) pushLeast(books.ready, index);
}

/** It lacks only a slot or grant. */
const isIdle = ({ waits }: FanBooks, index: number, phase: number): boolean =>
  phase === itemPhase.pending || (phase === itemPhase.waiting && !waits.has(index));

const isLetIn = ({ fan, granted }: FanBooks, index: number): boolean =>
  fan.admission === undefined || granted.has(index);

/** False if the item does not wait for a grant. */
export function letIn(books: FanBooks, index: number): boolean {
  if (!isIdle(books, index, phaseOf(books, index)) || isLetIn(books, index)) return false;
  books.granted.add(index);
  pushLeast(books.ready, index);
  return true;
}

/** Grants count for one call only. */
export function shutOut({ fan, granted, ready }: FanBooks): void {
  if (fan.admission === undefined) return;
  granted.clear();
  ready.length = 0;
}

/** As far as the fan-out is concerned. */
export const canStartItem = ({ ready, active, fan }: FanBooks): boolean =>
  ready.length > 0 && active < (fan.maxParallel ?? Number.POSITIVE_INFINITY);

export function noteFailure(books: FanBooks, failure: ItemFailure): void {
  if (books.failures.length < mostFailures) books.failures.push(failure);
}

/** Lists extend to the last item with a value. */
export function noteOutputs({ outputs }: FanBooks, index: number, given: JsonObject): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const list = outputs.get(name) ?? [];
    while (list.length < index) list.push(null);
    list[index] = value;
    outputs.set(name, list);
  }
}

export function noteArtifacts({ artifacts }: FanBooks, index: number, left: JsonObject): void {
  for (const [name, value] of entriesOf(left)) artifacts.set(`${name}/${index}`, value);
}

const entriesOf = (object: JsonObject): readonly (readonly [string, JsonValue])[] =>
  Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

export function sealBooks(books: FanBooks, state: StepState): StepState {
  const { phases, attempts, earlier, waits, since, failures, outputs, artifacts } = books;
  books.isChanged = false;
  const byIndex = (a: readonly [number, number], b: readonly [number, number]) => a[0] - b[0];
  const told = encodeAttempts(phases, attempts);
  const before = encodeRanges(earlier);
  const until = encodeRanges([...waits].sort(byIndex));
  const begun = encodeRanges([...since].sort(byIndex));
  const items: ItemsState = {
    total: phases.length,
    states: encodePhases(phases),
    ...(told === undefined ? {} : { attempts: told }),
    ...(before === undefined ? {} : { earlier: before }),
    ...(until === undefined ? {} : { waits: until }),
    ...(begun === undefined ? {} : { since: begun }),
    ...(failures.length === 0 ? {} : { failures: [...failures] }),
  };
  return amend(state, {
    items,
    artifacts: artifacts.size === 0 ? state.artifacts : Object.fromEntries(artifacts),
    outputs:
      outputs.size === 0 ? state.outputs : Object.fromEntries([...outputs].map(([name, list]) => [name, [...list]])),
  });
}

/** Extends every list to all items, for dependants. */
export function completeOutputs({ fan, outputs, phases }: FanBooks): void {
  for (const name of new Set([...fan.outputs, ...outputs.keys()])) {
    const list = outputs.get(name) ?? [];
    while (list.length < phases.length) list.push(null);
    outputs.set(name, list);
  }
}
