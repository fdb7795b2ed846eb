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

/** The items of one active fan-out, laid out for changing. What its step's `items` say is made from it, and it from them. */
export interface FanBooks {
  readonly fan: Fan;
  readonly phases: Uint8Array;
  readonly attempts: Uint16Array;
  /** Attempts of earlier run numbers, by index; only those there were. In rising order. */
  readonly earlier: Map<number, number>;
  /** Waiting items that may not start yet. */
  readonly waits: Map<number, Instant>;
  /** When active items were started; only where attempts are timed. */
  readonly since: Map<number, Instant>;
  /** Items that may start now; each once. */
  readonly ready: IntHeap;
  /** Where items need a grant: those that were given one in this call. */
  readonly granted: Set<number>;
  /** Items that owe the world a start or a cancel. */
  readonly owing: Set<number>;
  readonly failures: ItemFailure[];
  readonly outputs: Map<string, JsonValue[]>;
  /** What items have left, as `name/index`. */
  readonly artifacts: Map<string, JsonValue>;
  active: number;
  unsettled: number;
  failed: number;
  /** The step is in the queue for a slot. */
  isQueued: boolean;
  /** Differs from what the state of the step says. */
  isChanged: boolean;
  /** What is due next has to be computed again. */
  isUntimed: boolean;
}

/** A failure of many items is told by the first ten. */
const mostFailures = 10;

/** What a step without a fan-out of its own is over. */
export const noFan: Fan = { count: () => ({ count: 0 }), failFast: false, outputs: [] };

/** O(items). */
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

/** Attempts of this run number, the current one included. */
export const itemTries = (books: FanBooks, index: number): number =>
  attemptOf(books, index) - (books.earlier.get(index) ?? 0);

/** A cancelled attempt has had its time. */
const isTimed = (phase: number): boolean => phase === itemPhase.starting || phase === itemPhase.running;

/** Gives an item a new phase; `notBefore` is for waiting ones. */
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

/** Only a slot, or a grant where one is needed, keeps it from starting. */
const isIdle = ({ waits }: FanBooks, index: number, phase: number): boolean =>
  phase === itemPhase.pending || (phase === itemPhase.waiting && !waits.has(index));

const isLetIn = ({ fan, granted }: FanBooks, index: number): boolean =>
  fan.admission === undefined || granted.has(index);

/** Lets an item start within this call; false when it is not one that waits for that. */
export function letIn(books: FanBooks, index: number): boolean {
  if (!isIdle(books, index, phaseOf(books, index)) || isLetIn(books, index)) return false;
  books.granted.add(index);
  pushLeast(books.ready, index);
  return true;
}

/** Takes back what was granted and not used: a later call asks again, whether the books are kept or made anew. */
export function shutOut({ fan, granted, ready }: FanBooks): void {
  if (fan.admission === undefined) return;
  granted.clear();
  ready.length = 0;
}

/** Whether the next ready item may start, as far as the fan-out itself is concerned. */
export const canStartItem = ({ ready, active, fan }: FanBooks): boolean =>
  ready.length > 0 && active < (fan.maxParallel ?? Number.POSITIVE_INFINITY);

export function noteFailure(books: FanBooks, failure: ItemFailure): void {
  if (books.failures.length < mostFailures) books.failures.push(failure);
}

/** Puts what an item has given into the lists, which are as long as the last item that gave something. */
export function noteOutputs({ outputs }: FanBooks, index: number, given: JsonObject): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const list = outputs.get(name) ?? [];
    while (list.length < index) list.push(null);
    list[index] = value;
    outputs.set(name, list);
  }
}

/** Puts what an item has left beside what the others have. */
export function noteArtifacts({ artifacts }: FanBooks, index: number, left: JsonObject): void {
  for (const [name, value] of entriesOf(left)) artifacts.set(`${name}/${index}`, value);
}

const entriesOf = (object: JsonObject): readonly (readonly [string, JsonValue])[] =>
  Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

/** The state of the step with what the books say. */
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

/** Every list as long as there are items: what dependants count on. */
export function completeOutputs({ fan, outputs, phases }: FanBooks): void {
  for (const name of new Set([...fan.outputs, ...outputs.keys()])) {
    const list = outputs.get(name) ?? [];
    while (list.length < phases.length) list.push(null);
    outputs.set(name, list);
  }
}
