import type { Instant, Millis } from "#lib/base/index.ts";
import {
  type Fact,
  type GrantFact,
  idleItems,
  type ItemTry,
  isTerminal,
  type RunState,
  type StepState,
  stepState,
} from "#engine/index.ts";
import type { Lister } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import type { Workflow } from "../kinds.ts";
import type { Memory } from "../reconcile/memory.ts";
import { isHolder, limitState } from "./allot.ts";
import { holderKey, type HolderId, type LimitsFor, limitsOf } from "./claims.ts";
import { type ConcurrencyLimit, mostHolders } from "./kind.ts";

// Checks whether waiting steps hold their locks. A stale mirror can only delay them; see `reconcile.ts`.

/** Most waits are shorter; reporting them would double the writes of a step. */
const patience: Millis = 1_000;
/** Holders change; reported at most this often. */
const tellEvery: Millis = 30_000;

export interface LockView {
  readonly workflow: Stored<Workflow>;
  readonly limits: Lister<ConcurrencyLimit>;
  readonly memory: Memory;
  readonly now: Instant;
}

/** Facts for steps that wait for locks. O(steps). */
export function lockFacts(view: LockView, compiled: CompiledWorkflow, run: RunState): readonly Fact[] {
  if (run.suspendedSince !== undefined) return [];
  return Object.keys(run.steps).flatMap((key) => {
    const state = stepState(run, key);
    const step = compiled.steps.get(key);
    if (step === undefined || !isAsking(state)) return [];
    const limitsFor = limitsOf(step, compiled, run);
    if (state.items === undefined) return stepFact(view, run, step, limitsFor());
    return isLocked(step) ? itemFacts(view, run, step, limitsFor) : [];
  });
}

/** When to look at waiting steps again, to report on them. Undefined if none waits. */
export function lockWake(view: LockView, { steps }: CompiledWorkflow, run: RunState): Millis | undefined {
  if (run.suspendedSince !== undefined || isTerminal(run.phase)) return undefined;
  let wake = Number.POSITIVE_INFINITY;
  for (const key of Object.keys(run.steps)) {
    const state = stepState(run, key);
    const step = steps.get(key);
    if (step === undefined || !isAsking(state) || !hasIdle(state) || !isLocked(step)) continue;
    wake = Math.min(wake, nextLook(view, step, state));
  }
  return wake === Number.POSITIVE_INFINITY ? undefined : wake;
}

const isLocked = ({ step: { locks = [] } }: CompiledStep): boolean => locks.length > 0;

/** Some items could start; while others run, their waiting is not reported. */
const hasIdle = ({ items }: StepState): boolean => items === undefined || isStill(items.states);

/** No item runs and some are unsettled. */
const isStill = (states: string): boolean => !/[RAC]/.test(states) && /[PW]/.test(states);

/** It waits for a lock or slot; a refused start has another message. */
const isAsking = ({ phase, reason, refused, items }: StepState): boolean =>
  items === undefined
    ? phase === "Waiting" && refused !== true && (reason === "Lock" || reason === "Ready")
    : phase === "Running";

function stepFact(
  view: LockView,
  run: RunState,
  { key: step }: CompiledStep,
  limits: readonly string[],
): readonly GrantFact[] {
  const { reason, message, readyAt } = stepState(run, step);
  const lacking = lackedBy(view, { ...holderIn(view, run), step }, limits);
  if (lacking === undefined) {
    view.memory.toldLocks.delete(step);
    return reason === "Lock" ? [{ kind: "grant", step, granted: true }] : [];
  }
  const told = tellWait(view, step, message, readyAt, lacking);
  if (reason === "Lock" && told === message) return [];
  return [{ kind: "grant", step, granted: false, reason: "Lock", ...(told === undefined ? {} : { message: told }) }];
}

/** Items get locks one by one; waiting is reported when none runs. */
function itemFacts(
  view: LockView,
  run: RunState,
  { key: step }: CompiledStep,
  limitsFor: LimitsFor,
): readonly GrantFact[] {
  const { items, attempt, message, startedAt } = stepState(run, step);
  const holder = holderIn(view, run);
  const idle = idleItems({ items }, mostHolders);
  const lacksOf = ({ index }: ItemTry) => lackedBy(view, { ...holder, step, item: index }, limitsFor(index));
  const granted = idle.flatMap((item): GrantFact[] => {
    const lacks = lacksOf(item);
    return lacks === undefined ? [{ kind: "grant", step, attempt, item, granted: true }] : [];
  });
  const next = idle.find(({ index }) => !granted.some(({ item }) => item?.index === index));
  const lacking = next && lacksOf(next);
  if (lacking === undefined || granted.length > 0 || !isStill(items?.states ?? "")) return granted;
  const told = tellWait(view, step, message, startedAt, lacking);
  return told === undefined || told === message
    ? []
    : [{ kind: "grant", step, granted: false, reason: "Lock", message: told }];
}

/** Steps and items add their names. */
const holderIn = ({ workflow: { metadata } }: LockView, run: RunState): HolderId => ({
  uid: metadata.uid,
  name: metadata.name,
  runNumber: run.number,
});

/** The first limit that is not held. */
const lackedBy = (view: LockView, holder: HolderId, limits: readonly string[]): string | undefined => {
  const key = holderKey(holder);
  return limits.find((name) => !isHolder(limitOf(view, name), key));
};

const limitOf = ({ workflow: { metadata }, limits }: LockView, name: string): ConcurrencyLimit | undefined =>
  limits.get(keyOf({ name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) }));

/** Nothing at first, then who holds the lock, repeated now and then. */
function tellWait(
  view: LockView,
  step: string,
  present: string | undefined,
  since: Instant | undefined,
  lacking: string,
): string | undefined {
  const { memory, now } = view;
  if (now - (since ?? now) < patience) return present;
  const at = memory.toldLocks.get(step);
  if (present !== undefined && at !== undefined && now - at < tellEvery) return present;
  memory.toldLocks.set(step, now);
  return describeWait(limitOf(view, lacking), lacking);
}

const namesTold = 3;

/** `lock "db" is held by deploy-6/migrate and 2 others`. */
export function describeWait(limit: ConcurrencyLimit | undefined, name: string): string {
  const holders = limit?.status?.holders ?? [];
  const { taken, places } = limitState(limit);
  if (taken < places || holders.length === 0) return `lock "${name}": others are before it`;
  const names = holders.map((holder) =>
    [holder.name, holder.step, holder.item].filter((part) => part !== undefined).join("/"),
  );
  const more = names.length - namesTold;
  const others = more <= 0 ? "" : ` and ${more} ${more === 1 ? "other" : "others"}`;
  return `lock "${name}" is held by ${names.slice(0, namesTold).join(", ")}${others}`;
}

function nextLook({ memory, now }: LockView, { key }: CompiledStep, { readyAt, startedAt }: StepState): Millis {
  const told = memory.toldLocks.get(key);
  const due = told === undefined ? (readyAt ?? startedAt ?? now) + patience : told + tellEvery;
  return Math.max(1, due - now);
}
