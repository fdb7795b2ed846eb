import { getOrAdd, type JsonObject } from "#lib/base/index.ts";
import { countPhases, idleItems, isTerminal, type RunState, settledItems } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import { itemsOf, itemValues } from "../compile/for-each.ts";
import { hasNamedLocks, lockNames, writtenLocks } from "../compile/locks.ts";
import { type StepSource, stepSources } from "../compile/step-source.ts";
import { type ItemsStatus, type Workflow, type WorkflowSpec, type WorkflowStatus, isFinished } from "../kinds.ts";
import { statusOf, valuesOf } from "../reconcile/attempts.ts";
import { countActive } from "../shared-slots.ts";
import { specOf } from "../spec-of.ts";
import { decodeRun } from "../state.ts";
import { type Holder, mostHolders } from "./kind.ts";

// The limits that a stored Workflow waits for, and its holds that are over. Both follow from its status.

export type HolderId = Pick<Holder, "uid" | "name" | "runNumber" | "step" | "item">;

export interface Claim {
  readonly holder: HolderId;
  /** In byte order, without duplicates. */
  readonly limits: readonly string[];
  /** Maximum of holders set by the claim, for concurrency keys. */
  readonly most?: number;
  readonly key?: string;
  readonly priority: number;
  /** RFC 3339 in whole seconds. */
  readonly createdAt: string;
  /** When it could have started. */
  readonly since: string | undefined;
}

export type LimitsFor = (index?: number) => readonly string[];

const always =
  (names: readonly string[]): LimitsFor =>
  () =>
    names;

/** Unnamed and invalid limits are omitted: the step's gate fails. */
export function limitsOf(step: CompiledStep, compiled: CompiledWorkflow, run: RunState): LimitsFor {
  if (step.locks === undefined) return always(writtenLocks(step.step));
  const values = valuesOf({ compiled, run }, step.final);
  const names = (local?: JsonObject): readonly string[] => {
    const found = lockNames(step, compiled, values, local);
    return found.ok ? found.value : [];
  };
  if (step.forEach === undefined) return always(names());
  const items = itemsOf(step, compiled, values);
  return (index) => {
    const value = items.ok && index !== undefined ? items.value[index] : undefined;
    return index === undefined || value === undefined ? [] : names(itemValues(index, value));
  };
}

interface Evaluable {
  readonly compiled: CompiledWorkflow | undefined;
  readonly run: RunState;
}
const evaluable = new WeakMap<Workflow, Evaluable>();

/** Once per stored version, not per step. */
function evaluableOf(workflow: Stored<Workflow>): Evaluable {
  const made = evaluable.get(workflow) ?? {
    compiled: compileWorkflow({ ...workflow, spec: specOf(workflow) }),
    run: decodeRun(workflow.status),
  };
  evaluable.set(workflow, made);
  return made;
}

/** Like `limitsOf`, for an uncompiled step. */
function limitsWritten(workflow: Stored<Workflow>, { key, step }: StepSource): LimitsFor {
  if (!hasNamedLocks(step)) return always(writtenLocks(step));
  const { compiled, run } = evaluableOf(workflow);
  const found = compiled?.steps.get(key);
  return compiled === undefined || found === undefined ? () => [] : limitsOf(found, compiled, run);
}

/** Unique among holders of a limit. */
export const holderKey = ({ uid, runNumber, step = "", item = -1 }: HolderId): string =>
  `${uid}/${runNumber}/${step}/${item}`;

const known = new WeakMap<Workflow, readonly Claim[]>();

/** Most urgent first. O(steps) once per stored version. */
export function claimsOf(workflow: Stored<Workflow>): readonly Claim[] {
  return getOrAdd(known, workflow, () => findClaims(workflow));
}

/** A run that cannot start anything claims nothing. */
function findClaims(workflow: Stored<Workflow>): readonly Claim[] {
  const { status, metadata } = workflow;
  const isAtRest = metadata.deletionTimestamp !== undefined || status?.suspendedSince !== undefined;
  if (status === undefined || isFinished(workflow) || isAtRest) return [];
  const spec = specOf(workflow);
  if (status.startTime === undefined) return queuedClaim(workflow, spec, status);
  if (!namesLocks(spec)) return [];
  const sources = stepSources(spec);
  const hasSlot =
    spec.parallelism === undefined || countActive(sources, (key) => statusOf(workflow, key)) < spec.parallelism;
  return sources
    .filter(({ final }) => final || hasSlot)
    .flatMap((source) => claimsOfStep(workflow, source, spec.priority))
    .sort((a, b) => b.priority - a.priority);
}

/** Fast path, because it is called for every version. */
function namesLocks({ steps, finally: last }: WorkflowSpec): boolean {
  for (const key in steps) if (steps[key]?.locks !== undefined) return true;
  for (const key in last) if (last[key]?.locks !== undefined) return true;
  return false;
}

/** A run that has not begun claims only its start. */
function queuedClaim(workflow: Stored<Workflow>, spec: WorkflowSpec, status: WorkflowStatus): readonly Claim[] {
  const { concurrency } = status;
  if (concurrency === undefined) return [];
  const { name, creationTimestamp } = workflow.metadata;
  return [
    {
      holder: { uid: workflow.metadata.uid, name, runNumber: status.runNumber ?? 1 },
      limits: [concurrency.limitName],
      most: concurrency.limit,
      key: concurrency.key,
      priority: spec.priority ?? 0,
      createdAt: creationTimestamp,
      since: concurrency.queuedTime,
    },
  ];
}

/** One claim per waiting step; for a fan-out one per item that could start now. */
function claimsOfStep(workflow: Stored<Workflow>, source: StepSource, priority = 0): readonly Claim[] {
  const { key, step } = source;
  const entry = (step.locks ?? []).length === 0 ? undefined : statusOf(workflow, key);
  if (entry === undefined) return [];
  const limitsFor = limitsWritten(workflow, source);
  const { uid, name, creationTimestamp: createdAt } = workflow.metadata;
  const holder = { uid, name, runNumber: workflow.status?.runNumber ?? 1, step: key };
  const common = { priority: step.priority ?? priority, createdAt };
  const { phase, reason, refused, items } = entry;
  // A refused start has its locks already.
  if (phase === "Waiting" && reason === "Lock" && refused !== true)
    return [{ ...common, limits: limitsFor(), holder, since: entry.readyTime ?? entry.startTime }];
  if (phase !== "Running" || items === undefined) return [];
  const { R = 0, A = 0, C = 0 } = countPhases(items.states);
  const room = Math.min(mostHolders, (step.forEach?.maxParallel ?? mostHolders) - R - A - C);
  return idleItems({ items }, room).map(({ index }) => ({
    ...common,
    limits: limitsFor(index),
    holder: { ...holder, item: index },
    since: entry.startTime,
  }));
}

/** Cached: decoding ten thousand items per holder would be quadratic. */
const settled = new WeakMap<ItemsStatus, (index: number) => boolean>();

function isSettledItem(items: ItemsStatus, index: number): boolean {
  const ask = getOrAdd(settled, items, () => settledItems(items));
  return ask(index);
}

/** Whether the holder's work is over. Once true it stays true, so any version may be asked. */
export function isOver(workflow: Stored<Workflow>, { uid, runNumber, step, item }: HolderId): boolean {
  if (workflow.metadata.uid !== uid) return true;
  const run = workflow.status?.runNumber ?? 1;
  if (run !== runNumber) return run > runNumber;
  if (isFinished(workflow)) return true;
  const { phase, items } = step === undefined ? {} : (statusOf(workflow, step) ?? {});
  if (phase === undefined) return false;
  return isTerminal(phase) || (item !== undefined && items !== undefined && isSettledItem(items, item));
}

export function limitsNamedBy(workflow: Stored<Workflow>): readonly string[] {
  const own = workflow.status?.concurrency?.limitName;
  const spec = specOf(workflow);
  const named = namesLocks(spec) ? stepSources(spec).flatMap((source) => limitsOfStep(workflow, source)) : [];
  return [...new Set(own === undefined ? named : [...named, own])];
}

const mostFans = 32;
const fans = new Map<string, readonly string[]>();

/** Cached: rendering the names of ten thousand items per event would be quadratic. */
function limitsOfItems(workflow: Stored<Workflow>, source: StepSource, total: number): readonly string[] {
  const key = `${workflow.metadata.uid}/${workflow.status?.runNumber ?? 1}/${source.key}/${total}`;
  const known = fans.get(key);
  if (known !== undefined) return known;
  const limitsFor = limitsWritten(workflow, source);
  const limits = [...new Set(Array.from({ length: total }, (_, index) => limitsFor(index)).flat())];
  if (fans.size >= mostFans) fans.clear();
  fans.set(key, limits);
  return limits;
}

function limitsOfStep(workflow: Stored<Workflow>, source: StepSource): readonly string[] {
  if (!hasNamedLocks(source.step)) return writtenLocks(source.step);
  const entry = statusOf(workflow, source.key);
  if (entry === undefined) return [];
  const total = entry.items?.total;
  return total === undefined ? limitsWritten(workflow, source)() : limitsOfItems(workflow, source, total);
}
