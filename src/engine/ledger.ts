import { neighbours } from "./adjacency.ts";
import { amend } from "./amend.ts";
import { int, item } from "./arrays.ts";
import { dueAt, isPaused } from "./deadlines.ts";
import { type FanBooks, openBooks, sealBooks } from "./fan-books.ts";
import { type Frontier, frontierOf, settle } from "./frontier.ts";
import { type IntHeap, pushLeast } from "./heap.ts";
import { finalScope, type Layout, layoutOf, mainScope, type Scope } from "./layout.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { isActive, isTerminal, pendingStep, type RunState, type StepState, stepState } from "./run.ts";
import type { StepChange } from "./diff.ts";
import { isOk } from "./transitions.ts";
import type { Instant } from "./values.ts";

/** The mutable state of a run and its derived values, updated by `put`. Owned by one call of `advance`. */
export interface Ledger {
  readonly layout: Layout;
  /** Current fields of the run; `steps` as last sealed. */
  run: RunState;
  now: Instant;
  readonly states: StepState[];
  /** The record of the last seal. */
  ownSteps: Record<string, StepState>;
  /** Nodes changed since the seal, with their sealed state. */
  readonly changed: Map<number, StepState>;
  readonly frontiers: readonly Frontier[];
  /** 1 for scopes whose steps may move. */
  readonly open: Uint8Array;
  /** 1 once its failure strategy was applied. */
  readonly drained: Uint8Array;
  /** Per scope: unsettled nodes, unforgiven failures, active work. */
  readonly remaining: Int32Array;
  readonly failed: Int32Array;
  readonly active: Int32Array;
  /** Scopes to look at, and settled scopes of unsettled groups; with duplicates. */
  readonly stirred: number[];
  readonly settled: number[];
  /** Nodes whose gates wait. Some may have moved. */
  undecided: number[];
  /** Work that lacks only a slot, by start rank; and nodes without need of one. Some may have moved. */
  readonly startable: IntHeap;
  readonly free: number[];
  /** When time alone changes a node. */
  readonly due: Map<number, Instant>;
  readonly owing: Set<number>;
  /** Fan-outs under way, and those to time anew. */
  readonly fans: Map<number, FanBooks>;
  readonly untimed: Set<number>;
  /** Nodes past Pending and Waiting; unsettled steps past Pending; suspended ones. */
  moved: number;
  live: number;
  suspended: number;
}

/** A barrier's state is derived, never stored. */
const barrierOpen: StepState = { phase: "Succeeded", attempt: 0 };
const barrierShut: StepState = { phase: "Skipped", attempt: 0, reason: "DependencyFailed" };

export function openLedger(plan: Plan, run: RunState, now: Instant): Ledger {
  const layout = layoutOf(plan);
  const states = readStates(layout, run);
  const scopes = layout.scopes.length;
  const ledger: Ledger = {
    layout,
    run,
    now,
    states,
    ownSteps: {},
    changed: new Map(),
    frontiers: layout.scopes.map(({ plan, base }) =>
      frontierOf(plan.graph, (node) => isTerminal(item(states, base + node).phase)),
    ),
    open: new Uint8Array(scopes),
    drained: new Uint8Array(scopes),
    remaining: new Int32Array(scopes),
    failed: new Int32Array(scopes),
    active: new Int32Array(scopes),
    stirred: [],
    settled: [],
    undecided: [],
    startable: [],
    free: [],
    due: new Map(),
    owing: new Set(),
    fans: new Map(),
    untimed: new Set(),
    moved: 0,
    live: 0,
    suspended: 0,
  };
  for (let node = 0; node < states.length; node++) enterBooks(ledger, node);
  for (const scope of layout.scopes) openIfRunning(ledger, scope);
  return ledger;
}

function readStates(layout: Layout, run: RunState): StepState[] {
  const states: StepState[] = layout.ids.map((id) => stepState(run, id));
  for (const node of layout.order) {
    if (item(layout.steps, node).kind !== "barrier") continue;
    states[node] = barrierState(layout, states, node);
  }
  return states;
}

/** What a barrier is, given its predecessors: pending until all of them are settled. */
function barrierState(layout: Layout, states: readonly StepState[], node: number): StepState {
  let allOk = true;
  for (const before of predecessorsOf(layout, node)) {
    const state = item(states, before);
    if (!isTerminal(state.phase)) return pendingStep;
    if (!isOk(item(layout.steps, before), state)) allOk = false;
  }
  return allOk ? barrierOpen : barrierShut;
}

export function predecessorsOf(layout: Layout, node: number): Int32Array {
  const { plan, base } = item(layout.scopes, int(layout.scopeOf, node));
  const local = neighbours(plan.graph.predecessors, node - base);
  return base === 0 ? local : local.map((before) => before + base);
}

function enterBooks(ledger: Ledger, node: number): void {
  const state = item(ledger.states, node);
  if (!isTerminal(state.phase)) {
    const scope = int(ledger.layout.scopeOf, node);
    ledger.remaining[scope] = int(ledger.remaining, scope) + 1;
  }
  if (state === pendingStep) return;
  tally(ledger, node, state, 1);
  if (isTerminal(state.phase)) return;
  if (stepOf(ledger, node).kind === "fan" && isActive(state.phase)) enterItems(ledger, node, state);
  track(ledger, node, state);
}

function enterItems(ledger: Ledger, node: number, state: StepState): void {
  const books = openBooks(stepOf(ledger, node), state);
  ledger.fans.set(node, books);
  tallyActive(ledger, node, books.active);
  if (books.owing.size > 0) ledger.owing.add(node);
  if (state.phase === "Running") queueFan(ledger, node);
}

export function booksOf({ fans }: Ledger, node: number): FanBooks {
  const books = fans.get(node);
  if (books === undefined) throw new Error(`node ${node} is no fan-out that is under way`);
  return books;
}

/** Once, however many items are ready. */
export function queueFan(ledger: Ledger, node: number): void {
  const books = booksOf(ledger, node);
  if (books.isQueued) return;
  books.isQueued = true;
  pushLeast(ledger.startable, int(ledger.layout.startRank, node));
}

function openIfRunning(ledger: Ledger, scope: Scope): void {
  const { index, group, isFinal } = scope;
  if (group >= 0) {
    const { phase } = item(ledger.states, group);
    if (phase !== "Running" && phase !== "Cancelling") return;
    if (ledger.remaining[index] === 0) ledger.settled.push(index);
  } else if (isFinal && ledger.run.final === undefined) return;
  ledger.open[index] = 1;
  ledger.stirred.push(index);
}

export const stepOf = (ledger: Ledger, node: number): PlanStep => item(ledger.layout.steps, node);
export const stateOf = (ledger: Ledger, node: number): StepState => item(ledger.states, node);
export const scopeOf = (ledger: Ledger, node: number): Scope =>
  item(ledger.layout.scopes, int(ledger.layout.scopeOf, node));
export const idOf = (ledger: Ledger, node: number): string => item(ledger.layout.ids, node);

/** All main steps are settled. */
export const isMainSettled = (ledger: Ledger): boolean => ledger.remaining[mainScope] === 0;

/** True without final steps. */
export const isFinalSettled = (ledger: Ledger): boolean => {
  const final = finalScope(ledger.layout);
  return final === undefined || ledger.remaining[final.index] === 0;
};

/** Sets a node's state and updates the books. A terminal state must not be replaced. */
export function put(ledger: Ledger, node: number, next: StepState): void {
  const before = stateOf(ledger, node);
  if (isTerminal(before.phase)) throw new Error(`step "${idOf(ledger, node)}" is settled already`);
  noteChange(ledger, node);
  ledger.states[node] = next;
  if (isTerminal(next.phase)) ledger.fans.delete(node);
  tally(ledger, node, before, -1);
  tally(ledger, node, next, 1);
  track(ledger, node, next);
  if (isTerminal(next.phase)) leaveFrontier(ledger, node);
}

/** Remembers the sealed state. */
export function noteChange({ changed, states }: Ledger, node: number): void {
  if (!changed.has(node)) changed.set(node, item(states, node));
}

function leaveFrontier(ledger: Ledger, node: number): void {
  const { index, plan, base } = scopeOf(ledger, node);
  const remaining = int(ledger.remaining, index) - 1;
  ledger.remaining[index] = remaining;
  if (remaining === 0) ledger.settled.push(index);
  if (settle(item(ledger.frontiers, index), plan.graph, node - base).length > 0) ledger.stirred.push(index);
}

/** Settles a barrier whose predecessors are settled. */
export function putBarrier(ledger: Ledger, node: number): void {
  const state = barrierState(ledger.layout, ledger.states, node);
  if (state === pendingStep || ledger.states[node] !== pendingStep) return;
  ledger.states[node] = state;
  leaveFrontier(ledger, node);
}

function tally(ledger: Ledger, node: number, state: StepState, by: 1 | -1): void {
  const { phase, attempt, earlierAttempts = 0, iteration = 1 } = state;
  const { kind, onFailure } = stepOf(ledger, node);
  if (phase === "Pending" || kind === "barrier") return;
  // It has moved before.
  if (phase !== "Waiting" || attempt > earlierAttempts || iteration > 1) ledger.moved += by;
  if (isTerminal(phase)) {
    const scope = int(ledger.layout.scopeOf, node);
    if (phase === "Failed" && onFailure === "Fail") ledger.failed[scope] = int(ledger.failed, scope) + by;
    return;
  }
  if (kind === "group") return;
  ledger.live += by;
  if (phase === "Suspended") ledger.suspended += by;
  if (kind === "work" && isActive(phase)) tallyActive(ledger, node, by);
}

export function tallyActive(ledger: Ledger, node: number, by: number): void {
  for (let scope = int(ledger.layout.scopeOf, node); scope >= 0; scope = item(ledger.layout.scopes, scope).parent) {
    ledger.active[scope] = int(ledger.active, scope) + by;
  }
}

function track(ledger: Ledger, node: number, state: StepState): void {
  const step = stepOf(ledger, node);
  if (step.kind === "barrier") return;
  if (ledger.fans.has(node)) {
    ledger.untimed.add(node);
    return;
  }
  const at = dueAt(step, state, isPaused(ledger.run));
  if (at === Number.POSITIVE_INFINITY) ledger.due.delete(node);
  else ledger.due.set(node, at);
  if (owesEffect(step, state)) ledger.owing.add(node);
  else ledger.owing.delete(node);
  if (state.phase !== "Waiting" || state.reason !== "Ready") return;
  if (step.kind === "work") pushLeast(ledger.startable, int(ledger.layout.startRank, node));
  else ledger.free.push(node);
}

export function retime(ledger: Ledger): void {
  for (const [node, state] of ledger.states.entries()) {
    if (state.phase !== "Pending" && !isTerminal(state.phase)) track(ledger, node, state);
  }
}

export const owesEffect = (step: PlanStep, { phase }: StepState): boolean =>
  (phase === "Starting" && (step.kind === "work" || step.kind === "observe")) ||
  (phase === "Cancelling" && step.kind === "work");

// Measured: a spread costs 300 ns per key, a dictionary 90.
const largeRecord = 256;

/** The most expensive part of a large run. */
function copySteps(steps: RunState["steps"], count: number): Record<string, StepState> {
  if (count <= largeRecord) return { ...steps };
  const copy: Record<string, StepState> = Object.setPrototypeOf(Object.create(null), Object.prototype);
  for (const id in steps) {
    const state = steps[id];
    if (state !== undefined) copy[id] = state;
  }
  return copy;
}

/** Writes changes into a copy of the record and returns them in topological order. `inPlace` reuses an earlier copy. */
export function sealSteps(ledger: Ledger, inPlace = false): readonly StepChange[] {
  if (ledger.changed.size === 0) return [];
  const isOwn = inPlace && ledger.ownSteps === ledger.run.steps;
  const steps = isOwn ? ledger.ownSteps : copySteps(ledger.run.steps, ledger.states.length);
  ledger.ownSteps = steps;
  const { position } = ledger.layout;
  const changed = [...ledger.changed].sort(([a], [b]) => int(position, a) - int(position, b));
  const changes = changed.map(([node, was]): StepChange => {
    const books = ledger.fans.get(node);
    if (books?.isChanged === true) ledger.states[node] = sealBooks(books, stateOf(ledger, node));
    const [step, is] = [idOf(ledger, node), stateOf(ledger, node)];
    steps[step] = is;
    return { step, was, is };
  });
  ledger.changed.clear();
  ledger.run = amend(ledger.run, { steps });
  return changes;
}
