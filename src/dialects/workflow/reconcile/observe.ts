import type { Millis } from "#lib/base/index.ts";
import type { Writer } from "#kernel/model/index.ts";
import {
  type ChildFact,
  type Fact,
  type GrantFact,
  isActive,
  type StepState,
  stepState,
  type WaitReason,
} from "#engine/index.ts";
import type { CompiledStep } from "../compile/compiled.ts";
import { isExecuted } from "../compile/step-source.ts";
import type { ChildReference } from "../kinds.ts";
import type { Attempt, Executors, Finding, StepExecutor } from "../steps/executor.ts";
import { attemptOf, type PassState } from "./attempts.ts";
import { resultsOf, type StepResult } from "./results.ts";
import { activeAttempts } from "./items.ts";
import { effectName, type Memory } from "./memory.ts";
import { OutputRoom } from "./output-room.ts";

// A pass observes every active step, whatever triggered it, so lost events cost only time.

export interface Observed {
  readonly facts: readonly Fact[];
  /** With uids of the observed objects, by step. */
  readonly references: ReadonlyMap<string, ChildReference>;
  /** When to look again, if no event will tell. */
  readonly pollAfter?: Millis;
  /** Writers of observed child workflows, for the rights of later steps. */
  readonly writers: readonly Writer[];
  readonly results: readonly StepResult[];
}

/** Observes the child of every active step. Failures of steps in `conflicts` are final. O(steps). */
export async function observeSteps(
  state: PassState,
  executors: Executors,
  memory: Memory,
  conflicts: readonly string[],
  signal: AbortSignal,
): Promise<Observed> {
  const facts: Fact[] = [];
  const references = new Map<string, ChildReference>();
  const sink: Sink = { results: [], writers: [], room: new OutputRoom(state.run) };
  let isPolling = false;
  for (const key of Object.keys(state.run.steps)) {
    const step = stepState(state.run, key);
    const compiled = state.compiled.steps.get(key);
    if (compiled === undefined || !isExecuted(compiled.type) || !isLooking(compiled, step)) continue;
    const attempt = attemptOf(state, compiled);
    const executor = executors[compiled.type];
    if (step.items !== undefined) {
      const isConflict = conflicts.includes(key);
      facts.push(...(await observeItems(state, compiled, executor, memory, isConflict, signal, sink)));
      continue;
    }
    const finding = await executor.observe(attempt, signal);
    const seen = finding === undefined ? createdBefore(attempt, memory) : factOf(attempt, finding, state);
    const fact = seen?.kind === "child" ? sink.room.admit(seen) : seen;
    if (fact !== undefined) facts.push(conflicts.includes(key) ? withoutRetry(fact) : fact);
    gather(sink, attempt, finding, fact);
    if (finding?.is === "child" && finding.reference !== undefined) references.set(key, finding.reference);
    isPolling ||= finding?.is === "refused" && isOfKind(finding.reason);
  }
  const { results, writers } = sink;
  return { facts, references, results, writers, ...(isPolling ? { pollAfter: kindPoll } : {}) };
}

interface Sink {
  readonly results: StepResult[];
  readonly writers: Writer[];
  readonly room: OutputRoom;
}

function gather(
  { results, writers }: Sink,
  attempt: Attempt,
  finding: Finding | undefined,
  fact?: ChildFact | GrantFact,
): void {
  results.push(...resultsOf(attempt, finding, fact));
  if (finding?.is === "child") writers.push(...(finding.writers ?? []));
}

async function observeItems(
  state: PassState,
  compiled: CompiledStep,
  executor: StepExecutor,
  memory: Memory,
  isConflict: boolean,
  signal: AbortSignal,
  sink: Sink,
): Promise<readonly Fact[]> {
  const facts: Fact[] = [];
  for (const attempt of activeAttempts(state, compiled, executor)) {
    const finding = await executor.observe(attempt, signal);
    const seen = finding === undefined ? createdBefore(attempt, memory) : factOf(attempt, finding, state);
    if (seen === undefined) continue;
    const fact = seen.kind === "child" ? sink.room.admit(seen) : seen;
    gather(sink, attempt, finding, fact);
    facts.push(isConflict ? withoutRetry(fact) : fact);
  }
  return facts;
}

/** Also for references and obstacles, although nothing runs. */
const isLooking = ({ type }: CompiledStep, { phase, reason, refused }: StepState): boolean =>
  isActive(phase) || (phase === "Waiting" && refused === true && (type === "externalRef" || reason === "Lock"));

/** A missing child that this process created was alive; the next look reports it gone. */
function createdBefore(attempt: Attempt, memory: Memory): ChildFact | undefined {
  const { step, phase } = attempt;
  if (phase !== "Starting" || step.type === "externalRef") return undefined;
  if (!memory.created.has(effectName({ kind: "start", ...about(attempt) }))) return undefined;
  return { kind: "child", ...about(attempt), state: { is: "alive" } };
}

const about = ({ step, number, item, round }: Attempt) =>
  item === undefined
    ? { step: step.key, attempt: number }
    : { step: step.key, attempt: round, item: { index: item.index, attempt: number } };

/** The next attempt would have another definition. */
function withoutRetry(fact: ChildFact | GrantFact): ChildFact | GrantFact {
  if (fact.kind !== "child" || (fact.state.is !== "failed" && fact.state.is !== "gone")) return fact;
  const why =
    fact.state.is === "failed" ? `${fact.state.reason}: ${fact.state.message ?? ""}` : "the child was deleted";
  const message = `the definition of the step was changed after it had started; ${why}`;
  return { ...fact, state: { is: "failed", reason: "SpecConflict", message, retryable: false } };
}

/** Unknown for the whole kind. */
const isOfKind = (reason: WaitReason): boolean => reason === "KindNotFound" || reason === "Forbidden";

/** No watch reports that a kind is now served. */
const kindPoll: Millis = 10_000;

/** A step without any deadline waits this long for a kind to be served or watchable. */
const kindPatience: Millis = 10 * 60_000;

/** Converts a finding into a fact. An unavailable kind fails a step without deadlines after ten minutes. */
export function factOf(
  attempt: Attempt,
  finding: Finding,
  state: PassState,
  notBefore?: number,
): ChildFact | GrantFact {
  const whose = about(attempt);
  if (finding.is === "child") return { kind: "child", ...whose, state: finding.state };
  if (finding.is === "free") return { kind: "grant", ...whose, granted: true };
  const { reason, message } = finding;
  if (isOfKind(reason) && !isBounded(attempt, state) && attempt.now - attempt.since >= kindPatience)
    return { kind: "child", ...whose, state: { is: "failed", reason, message, retryable: false } };
  return {
    kind: "grant",
    ...whose,
    granted: false,
    reason,
    message,
    ...(notBefore === undefined ? {} : { notBefore }),
  };
}

/** Some deadline ends the step anyway. */
const isBounded = ({ step }: Attempt, { compiled }: PassState): boolean =>
  step.step.deadlineSeconds !== undefined || (!step.final && compiled.plan.policy.deadline !== undefined);
