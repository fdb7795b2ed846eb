import {
  advance,
  createRunCache,
  type Effect,
  type Fact,
  type ItemsState,
  type ItemTry,
  isTerminal,
  newRun,
  type Plan,
  type RunCache,
  type RunState,
  type StepState,
  stepState,
} from "../index.ts";
import { attemptsOf, decodePhases, idleItems, itemPhase } from "../items.ts";
import { type Fate, itemName, stepsOf } from "./history.ts";

/**
 * A world to break things in: children that live and end, a store with versions, and two reconcilers that follow the
 * persistence protocol but may crash between any two of their acts, read old versions, see old, repeated and reordered
 * facts, and lose every race. It records what must never happen instead of preventing it.
 */
export interface World {
  readonly plan: Plan;
  readonly fate: Fate;
  /** Every stored version; the last is the current one. Its index is the resource version. */
  readonly versions: RunState[];
  /** By `step#attempt`; a child that was removed is gone from here. */
  readonly children: Map<string, Child>;
  readonly creations: Map<string, number>;
  readonly reconcilers: readonly Reconciler[];
  readonly violations: string[];
  /** Reconcilers act on what they computed whatever became of their write: the rule whose absence must be noticed. */
  readonly careless: boolean;
  now: number;
}

interface Child {
  readonly step: string;
  readonly attempt: number;
  readonly item?: ItemTry;
  state: "alive" | "succeeded" | "failed";
}

interface Reconciler {
  cache: RunCache;
  /** What it has read and not yet acted on. */
  pass: Pass | undefined;
}

interface Pass {
  readonly version: number;
  readonly facts: readonly Fact[];
  readonly now: number;
}

/** One thing that happens in the world. */
export type Incident =
  /** A reconciler looks: at a version up to `stale` old, at children as they are or (`blind`) as they began. */
  | {
      readonly kind: "read";
      readonly who: 0 | 1;
      readonly stale: number;
      readonly blind: boolean;
      readonly order: number;
    }
  /** It computes, writes, and performs as many effects as it lives to perform. */
  | { readonly kind: "commit"; readonly who: 0 | 1; readonly effects: number }
  | { readonly kind: "crash"; readonly who: 0 | 1 }
  /** A child ends. */
  | { readonly kind: "end"; readonly pick: number }
  /** A finished child whose outcome is stored is cleaned up. */
  | { readonly kind: "clean"; readonly pick: number }
  | { readonly kind: "tick"; readonly ms: number }
  | { readonly kind: "cancel"; readonly who: 0 | 1 };

const newReconciler = (): Reconciler => ({ cache: createRunCache(), pass: undefined });

export const createWorld = (plan: Plan, fate: Fate, careless = false): World => ({
  plan,
  fate,
  versions: [newRun],
  children: new Map(),
  creations: new Map(),
  reconcilers: [newReconciler(), newReconciler()],
  violations: [],
  careless,
  now: 1000,
});

export function happen(world: World, incident: Incident): void {
  switch (incident.kind) {
    case "read":
      return read(world, incident);
    case "commit":
      return commit(world, world.reconcilers[incident.who], incident.effects);
    case "crash":
      Object.assign(world.reconcilers[incident.who] ?? {}, newReconciler());
      return;
    case "end":
      return end(world, pickOf(world, incident.pick));
    case "clean":
      return clean(world, pickOf(world, incident.pick));
    case "tick":
      world.now += incident.ms;
      return;
    case "cancel":
      return actOn(world, incident.who);
  }
}

/** Attempts of items are counted over all runs, so that the attempt of their step does not matter. */
const keyOf = (step: string, attempt: number, item?: ItemTry): string =>
  item === undefined ? `${step}#${attempt}` : `${itemName(step, item.index)}#${item.attempt}`;

function pickOf({ children }: World, pick: number): Child | undefined {
  return [...children.values()][pick % Math.max(1, children.size)];
}

export const current = ({ versions }: World): RunState => versions.at(-1) ?? newRun;

function read(world: World, { who, stale, blind, order }: Extract<Incident, { kind: "read" }>): void {
  const reconciler = world.reconcilers[who];
  if (reconciler === undefined) return;
  const version = Math.max(0, world.versions.length - 1 - stale);
  const facts = observe(world, world.versions[version] ?? newRun, blind);
  const turned = order % 2 === 0 ? facts : [...facts, ...facts].reverse();
  reconciler.pass = { version, facts: turned, now: world.now };
}

/** Facts about all children there are, of old attempts too, the absence of those that were seen or are cancelled, and locks. */
function observe(world: World, run: RunState, blind: boolean): Fact[] {
  const facts: Fact[] = [...world.children.values()].map(({ step, attempt, item, state }) => ({
    kind: "child",
    step,
    attempt,
    ...(item === undefined ? {} : { item }),
    state:
      blind || state === "alive"
        ? { is: "alive" }
        : state === "failed"
          ? { is: "failed", reason: "Error", retryable: true }
          : { is: "succeeded" },
  }));
  for (const [step, { step: spec }] of stepsOf(world.plan)) {
    const { phase, attempt, reason, items } = stepState(run, step);
    if (items !== undefined) {
      facts.push(...missingItems(world, step, attempt, items));
      for (const item of idleItems({ items })) facts.push({ kind: "grant", step, attempt, item, granted: true });
    }
    if (phase === "Waiting" && reason === "Lock") facts.push({ kind: "grant", step, granted: true });
    const isExpected = phase === "Running" || phase === "Cancelling";
    if (spec.kind !== "work" || !isExpected || world.children.has(keyOf(step, attempt))) continue;
    facts.push({ kind: "child", step, attempt, state: { is: "gone" } });
  }
  return facts;
}

function missingItems(world: World, step: string, attempt: number, items: ItemsState): Fact[] {
  const phases = decodePhases(items.states, items.total);
  const attempts = attemptsOf(items, phases);
  return [...phases.entries()].flatMap(([index, phase]): Fact[] => {
    const item = { index, attempt: attempts[index] ?? 0 };
    const isExpected = phase === itemPhase.running || phase === itemPhase.cancelling;
    if (!isExpected || world.children.has(keyOf(step, attempt, item))) return [];
    return [{ kind: "child", step, attempt, item, state: { is: "gone" } }];
  });
}

function actOn(world: World, who: 0 | 1): void {
  const reconciler = world.reconcilers[who];
  if (reconciler?.pass === undefined) return;
  const { pass } = reconciler;
  reconciler.pass = { ...pass, facts: [...pass.facts, { kind: "action", action: "cancel" }] };
}

/** The protocol: write if something changed; act only after that, or after a live read of the very same version. */
function commit(world: World, reconciler: Reconciler | undefined, effects: number): void {
  const pass = reconciler?.pass;
  if (reconciler === undefined || pass === undefined) return;
  reconciler.pass = undefined;
  const before = world.versions[pass.version] ?? newRun;
  const result = advance(world.plan, before, pass.facts, pass.now, reconciler.cache);
  const isFresh = pass.version === world.versions.length - 1;
  if (!isFresh && !world.careless) return;
  if (isFresh && result.run !== before) world.versions.push(result.run);
  for (const effect of result.effects.slice(0, effects)) perform(world, effect);
}

function perform(world: World, { kind, step, attempt, item }: Effect): void {
  const key = keyOf(step, attempt, item);
  const child = world.children.get(key);
  if (kind === "cancel") {
    if (child?.state === "alive") world.children.delete(key);
    return;
  }
  if (child !== undefined) return;
  const intended = intentOf(stepState(current(world), step), item);
  if (intended.phase !== "Starting" || intended.attempt !== (item ?? { attempt }).attempt) {
    world.violations.push(`(31) ${key} is created while the store says ${intended.phase}, attempt ${intended.attempt}`);
  }
  const created = (world.creations.get(key) ?? 0) + 1;
  world.creations.set(key, created);
  if (created > 1) world.violations.push(`(30) ${key} is created ${created} times`);
  world.children.set(key, { step, attempt, state: "alive", ...(item === undefined ? {} : { item }) });
}

/** What the store says of a step, or of one of its items. */
function intentOf({ phase, attempt, items }: StepState, item?: ItemTry): { phase: string; attempt: number } {
  if (item === undefined) return { phase, attempt };
  if (items === undefined || isTerminal(phase)) return { phase, attempt: 0 };
  const phases = decodePhases(items.states, items.total);
  const found = phases[item.index] ?? 0;
  return {
    phase: found === itemPhase.starting ? "Starting" : String.fromCharCode(found),
    attempt: attemptsOf(items, phases)[item.index] ?? 0,
  };
}

function end(world: World, child: Child | undefined): void {
  if (child?.state !== "alive") return;
  const { step, attempt, item } = child;
  child.state = item === undefined ? world.fate(step, attempt) : world.fate(itemName(step, item.index), item.attempt);
}

function clean(world: World, child: Child | undefined): void {
  if (child === undefined || child.state === "alive") return;
  const state = stepState(current(world), child.step);
  const { phase, attempt } = intentOf(state, child.item);
  const known = child.item ?? child;
  const isRecorded = isTerminal(state.phase) || attempt > known.attempt || isOver.has(phase);
  if (isRecorded) world.children.delete(keyOf(child.step, child.attempt, child.item));
}

/** Where a step or an item is whose current attempt has ended. */
const isOver: ReadonlySet<string> = new Set(["Waiting", "W", "S", "F", "X"]);

/** Faults stop: one reconciler looks, writes and acts undisturbed until the run is over. */
export function calmDown(world: World): RunState {
  for (let round = 0; round < 400; round++) {
    happen(world, { kind: "crash", who: 1 });
    happen(world, { kind: "read", who: 0, stale: 0, blind: false, order: 0 });
    happen(world, { kind: "commit", who: 0, effects: Number.POSITIVE_INFINITY });
    if (isTerminal(current(world).phase)) return current(world);
    for (const child of world.children.values()) end(world, child);
    world.now += 5;
  }
  throw new Error(`the run does not end: ${JSON.stringify(current(world))}`);
}
