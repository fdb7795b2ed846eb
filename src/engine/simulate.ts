import { advance, createRunCache } from "./advance.ts";
import { item } from "./arrays.ts";
import { diff, type Note } from "./diff.ts";
import type { ChildState, Effect, Fact } from "./facts.ts";
import { type IntHeap, popLeast, pushLeast } from "./heap.ts";
import { activeItems, idleItems, type ItemTry } from "./items.ts";
import { layoutOf } from "./layout.ts";
import type { Plan, StepKind } from "./plan.ts";
import { isTerminal, newRun, type RunState, type StepState, stepState } from "./run.ts";
import type { Instant, Millis } from "./values.ts";

export interface SimulatedAttempt {
  readonly step: string;
  readonly attempt: number;
  readonly item?: ItemTry;
  /** Round of a loop, from 1. */
  readonly iteration: number;
  /** Valid until the simulation goes on. */
  readonly run: RunState;
}

/** Answers that replace a world. Pure. */
export interface SimulatedWorld {
  /** Positive, of an attempt or a person's decision. */
  readonly duration: (attempt: Omit<SimulatedAttempt, "run">) => Millis;
  readonly end: (attempt: SimulatedAttempt) => ChildState;
  readonly decide: (step: string) => "approve" | "reject";
  /** Locks of a step or item, and their places. Absent: grants are free. */
  readonly locks?: (step: string) => readonly { readonly name: string; readonly places: number }[];
}

export interface SimulatedEvent {
  readonly at: Instant;
  readonly note: Note;
}

export interface Simulated {
  /** Not terminal if suspended, or at the limit of calls. */
  readonly run: RunState;
  readonly events: readonly SimulatedEvent[];
  /** About once per instant with an event. */
  readonly calls: number;
}

/** More than any document needs. */
const mostCalls = 200_000;

/** Runs in virtual time: work ends after its duration, cancelled work at once; only the run holds locks. */
export function simulate(plan: Plan, world: SimulatedWorld, start: Instant): Simulated {
  const cache = createRunCache({ inPlace: true });
  const agenda = openAgenda();
  const locked = lockedSteps(plan);
  const events: SimulatedEvent[] = [];
  let run = newRun;
  let now = start;
  let facts: readonly Fact[] = [];
  let grantedIn: RunState | undefined;
  for (let calls = 1; ; calls++) {
    const result = advance(plan, run, facts, now, cache);
    const notes = diff(run, result.run, result.changes);
    for (const note of notes) if (!isFirstSight(note)) events.push({ at: now, note });
    run = result.run;
    if (isTerminal(run.phase) || calls >= mostCalls) return { run, events, calls };
    for (const asked of decisionsIn(notes, world)) agenda.add(now + asked.after, () => asked.fact);
    const seen = result.effects.map((effect) => carryOut(effect, run, now, world, agenda));
    const granted = grants(locked, run, world);
    facts = [...seen, ...granted];
    // A living child is reported with the next event. A grant without effect lacks a slot.
    const isNews = granted.length > 0 && run !== grantedIn;
    grantedIn = run;
    if (isNews || result.effects.some(({ kind }) => kind === "cancel")) continue;
    const next = Math.min(agenda.next() ?? Infinity, result.wakeAt ?? Infinity);
    if (next === Infinity) return { run, events, calls };
    now = Math.max(now, next);
    const current = run;
    facts = [...seen, ...granted, ...agenda.take(now).map((fact) => fact(current))];
  }
}

/** Reported as `Starting`. */
const isFirstSight = (note: Note): boolean => note.kind === "step" && note.from === "Starting" && note.to === "Running";

/** By full id, in topological order, without barriers. */
export function stepKinds(plan: Plan): ReadonlyMap<string, StepKind> {
  const { ids, steps, order } = layoutOf(plan);
  const kinds = new Map<string, StepKind>();
  for (const node of order) {
    const { kind } = item(steps, node);
    if (kind !== "barrier") kinds.set(item(ids, node), kind);
  }
  return kinds;
}

function carryOut(
  { kind, step, attempt, item: tried }: Effect,
  run: RunState,
  now: Instant,
  world: SimulatedWorld,
  agenda: Agenda,
): Fact {
  const whose = { step, attempt, ...(tried === undefined ? {} : { item: tried }) };
  if (kind === "cancel") return { kind: "child", ...whose, state: { is: "gone" } };
  const begun = { ...whose, iteration: stepState(run, step).iteration ?? 1 };
  agenda.add(now + world.duration(begun), (later) => ({
    kind: "child",
    ...whose,
    state: world.end({ ...begun, run: later }),
  }));
  return { kind: "child", ...whose, state: { is: "alive" } };
}

const decisionsIn = (notes: readonly Note[], world: SimulatedWorld) =>
  notes.flatMap((note) => {
    if (note.kind !== "step" || note.to !== "Suspended" || note.from === "Suspended") return [];
    const { step, attempt } = note;
    const fact: Fact = { kind: "action", action: world.decide(step), step };
    return [{ fact, after: world.duration({ step, attempt, iteration: 1 }) }];
  });

const lockedSteps = (plan: Plan): readonly string[] => {
  const { ids, steps, startOrder } = layoutOf(plan);
  return [...startOrder].flatMap((node) => {
    const { admission, fan } = item(steps, node);
    return admission === undefined && fan?.admission === undefined ? [] : [item(ids, node)];
  });
};

/** In order; only the run holds locks. */
function grants(locked: readonly string[], run: RunState, { locks = () => [] }: SimulatedWorld): readonly Fact[] {
  const free = new Map<string, number>();
  const take = (step: string, count: number): void => {
    for (const { name, places } of locks(step)) free.set(name, (free.get(name) ?? places) - count);
  };
  for (const step of locked) take(step, holdsOf(stepState(run, step)));
  const facts: Fact[] = [];
  for (const step of locked) {
    for (const fact of asks(step, stepState(run, step))) {
      if (locks(step).some(({ name, places }) => (free.get(name) ?? places) <= 0)) break;
      take(step, 1);
      facts.push(fact);
    }
  }
  return facts;
}

/** Once per step, or per item that is under way or retried. */
function holdsOf({ phase, reason, attempt, earlierAttempts = 0, items }: StepState): number {
  if (items !== undefined) return phase === "Running" || phase === "Cancelling" ? activeItems({ items }).length : 0;
  if (phase === "Waiting") return reason === "Ready" || attempt > earlierAttempts ? 1 : 0;
  return phase === "Pending" || isTerminal(phase) ? 0 : 1;
}

function asks(step: string, { phase, reason, attempt, items }: StepState): readonly Fact[] {
  if (phase === "Waiting" && reason === "Lock") return [{ kind: "grant", step, granted: true }];
  if (phase !== "Running" || items === undefined) return [];
  return idleItems({ items }).map((item) => ({ kind: "grant", step, attempt, item, granted: true }));
}

/** Made from the run of that time. */
type Later = (run: RunState) => Fact;

interface Agenda {
  add(at: Instant, fact: Later): void;
  /** The earliest instant with an entry. */
  next(): Instant | undefined;
  /** Removes and returns what is due, in the order it was added. */
  take(now: Instant): readonly Later[];
}

function openAgenda(): Agenda {
  const instants: IntHeap = [];
  const entries = new Map<Instant, Later[]>();
  return {
    add(at, fact) {
      const known = entries.get(at);
      if (known !== undefined) known.push(fact);
      else {
        entries.set(at, [fact]);
        pushLeast(instants, at);
      }
    },
    next: () => instants[0],
    take(now) {
      const due: Later[] = [];
      while ((instants[0] ?? Infinity) <= now) {
        const at = popLeast(instants) ?? now;
        due.push(...(entries.get(at) ?? []));
        entries.delete(at);
      }
      return due;
    },
  };
}
