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

// Levels, not edges: a pass looks at every active step, whatever event asked for it, so lost events cost time and nothing else.

/** What was seen of the children. */
export interface Observed {
  readonly facts: readonly Fact[];
  /** References with the uid of the object that was seen, by step. */
  readonly references: ReadonlyMap<string, ChildReference>;
  /** Something that no event will tell of is waited for: look again after this long. */
  readonly pollAfter?: Millis;
  /** Who wrote the child workflows that were seen: what comes after them goes by what they did. */
  readonly writers: readonly Writer[];
  /** Successes that further steps may take, should this pass store them. */
  readonly results: readonly StepResult[];
}

/**
 * Looks at the child of every active step. O(steps), and one look per active step. Of a step in `conflicts` no attempt may follow:
 * its failures are final. Reads mirrors only, except where an executor must ask; throws what an executor throws.
 */
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

/** What looks at steps and items gather beside their facts. */
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

/** One look for each active item. */
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

/** A reference that is waited for is looked at although nothing of it runs, and so is what holds an attempt back. */
const isLooking = ({ type }: CompiledStep, { phase, reason, refused }: StepState): boolean =>
  isActive(phase) || (phase === "Waiting" && refused === true && (type === "externalRef" || reason === "Lock"));

/** A child this process has created and that is missing was deleted in between: it was alive, and the next look says gone. */
function createdBefore(attempt: Attempt, memory: Memory): ChildFact | undefined {
  const { step, phase } = attempt;
  if (phase !== "Starting" || step.type === "externalRef") return undefined;
  if (!memory.created.has(effectName({ kind: "start", ...about(attempt) }))) return undefined;
  return { kind: "child", ...about(attempt), state: { is: "alive" } };
}

/** Whose child it is, for the engine. */
const about = ({ step, number, item, round }: Attempt) =>
  item === undefined
    ? { step: step.key, attempt: number }
    : { step: step.key, attempt: round, item: { index: item.index, attempt: number } };

/** The next attempt would be one of another step than the one that was started. */
function withoutRetry(fact: ChildFact | GrantFact): ChildFact | GrantFact {
  if (fact.kind !== "child" || (fact.state.is !== "failed" && fact.state.is !== "gone")) return fact;
  const why =
    fact.state.is === "failed" ? `${fact.state.reason}: ${fact.state.message ?? ""}` : "the child was deleted";
  const message = `the definition of the step was changed after it had started; ${why}`;
  return { ...fact, state: { is: "failed", reason: "SpecConflict", message, retryable: false } };
}

/** What is not known of a whole kind, and not of one object. */
const isOfKind = (reason: WaitReason): boolean => reason === "KindNotFound" || reason === "Forbidden";

/** No watch tells that a kind is served from now on. */
const kindPoll: Millis = 10_000;

/** Until the kind is served, or may be watched, a step waits this long unless a deadline of its own or of the workflow ends it. */
const kindPatience: Millis = 10 * 60_000;

/**
 * The fact a finding is for the engine: what is seen of a child, or a refusal to start one, with the instant before which it is not
 * worth trying again. A kind that is not served, or not to be watched, for ten minutes fails the step where no deadline would ever end it.
 */
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

/** A step that some deadline ends anyway may wait as long as that allows. */
const isBounded = ({ step }: Attempt, { compiled }: PassState): boolean =>
  step.step.deadlineSeconds !== undefined || (!step.final && compiled.plan.policy.deadline !== undefined);
