import { formatTime, type Instant, type JsonObject } from "#lib/base/index.ts";
import { isOk, isTerminal, progressOf, type RunState, setCondition, type StepState, stepState } from "#engine/index.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { evaluate } from "../compile/values.ts";
import type { ChildReference, StepStatus, WorkflowCondition, WorkflowStatus } from "../kinds.ts";
import type { Queued } from "../locks/queue.ts";
import { encodeRun, type StepAdditions } from "../state.ts";
import { cachedReason } from "../messages.ts";
import { notificationsAfter } from "../notify/owed.ts";
import { reusedReason } from "../resubmit.ts";
import { statusOf, valuesOf, type PassState } from "./attempts.ts";
import { frozenSpec } from "./resolve.ts";

/** What the status says beyond the run itself. */
export interface StatusFacts {
  /** References by step: of intents, and with their uid once the object was seen. */
  readonly references: ReadonlyMap<string, ChildReference>;
  /** Started steps whose definition was changed behind the back of admission. */
  readonly conflicts: readonly string[];
  /** Where a run stands that needs its concurrency key to begin. */
  readonly queued?: Queued;
  /** The specification cannot be carried out: the condition that says so stays. */
  readonly isInvalid?: boolean;
}

// What a status says beyond the run: conditions, progress, history, and per step the child and the last failures. Everything here is
// made from the run before and the run after; nothing is remembered.

/** Earlier runs and failed attempts that a status keeps; older ones are in events and logs. */
const historyLength = 10;
const failuresKept = 3;

/**
 * The whole status of a workflow after a pass. `before` is the run its present status describes: what is the same object in both
 * runs is shared with the present status, so that a step that did not move costs nothing but its place.
 */
export function statusAfter(
  { workflow, compiled, run, now }: PassState,
  before: RunState,
  facts: StatusFacts,
): WorkflowStatus {
  const additions = additionsOf({ workflow, compiled, run, now }, before, facts);
  const previous = workflow.status;
  const status = encodeRun(run, previous, before, additions);
  const { generation } = workflow.metadata;
  const { done, total } = progressOf(compiled.plan, run);
  return {
    ...status,
    phase: run.phase,
    runNumber: run.number,
    conditions:
      isSameSummary(before, run) && previous?.observedGeneration === generation && previous?.conditions !== undefined
        ? previous.conditions
        : conditionsAfter(previous?.conditions ?? [], run, facts, generation, now),
    progress: `${done}/${total}`,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(facts.queued === undefined ? {} : { concurrency: concurrencyAfter(facts.queued, previous, run, before, now) }),
    // What waits for its turn is what will run.
    ...((run.startedAt === undefined && facts.queued === undefined) || facts.isInvalid === true
      ? {}
      : frozenSpec(workflow, compiled.spec)),
    ...notificationsAfter(previous?.notifications, compiled.spec.notifications, before, run, now),
    ...(run.number > before.number ? { history: historyAfter(previous) } : {}),
  };
}

/** The key as it was when the run came into its queue; a retry comes into it anew. */
function concurrencyAfter(
  { key, limitName, most: limit }: Queued,
  previous: WorkflowStatus | undefined,
  run: RunState,
  before: RunState,
  now: Instant,
) {
  const known = run.number === before.number ? previous?.concurrency : undefined;
  return { key, limitName, limit, queuedTime: known?.queuedTime ?? formatTime(now) };
}

/** Nothing that conditions speak of has changed. */
const isSameSummary = (before: RunState, run: RunState): boolean =>
  before.phase === run.phase && before.number === run.number && before.suspendedSince === run.suspendedSince;

/** Only for steps that changed: entries of all others are shared with the status before. */
function additionsOf(state: PassState, before: RunState, facts: StatusFacts): ReadonlyMap<string, StepAdditions> {
  const additions = new Map<string, StepAdditions>();
  for (const key of Object.keys(state.run.steps)) {
    const step = stepState(state.run, key);
    const old = before.steps[key];
    const reference = facts.references.get(key);
    const entry = statusOf(state.workflow, key);
    const isSeen = reference !== undefined && entry?.reference?.uid !== reference.uid;
    if (old === step && !isSeen) continue;
    additions.set(key, additionOf(state, key, step, old, entry, reference));
  }
  return additions;
}

/** Of one step that moved or whose child was seen for the first time. The hash is that of the definition it starts with. */
function additionOf(
  { compiled, now }: PassState,
  key: string,
  step: StepState,
  old: StepState | undefined,
  entry: StepStatus | undefined,
  reference: ChildReference | undefined,
): StepAdditions {
  const node = planStepOf(compiled, key);
  const failure = failureBetween(old, step);
  // A question has no attempts, and must stay the one that people were asked.
  const isAsked = step.phase === "Suspended" && old?.phase !== "Suspended";
  const starts =
    isAsked || ((step.phase === "Starting" || step.items !== undefined) && (old?.attempt ?? 0) < step.attempt);
  return {
    complete: node !== undefined && isTerminal(step.phase) && isOk(node, step),
    ...(reference === undefined ? {} : { reference }),
    ...(starts || step.reason === reusedReason || step.reason === cachedReason
      ? { templateHash: compiled.steps.get(key)?.hash() ?? "" }
      : {}),
    ...(failure === undefined
      ? {}
      : { failures: [...(entry?.failures ?? []), { ...failure, finishTime: formatTime(now) }].slice(-failuresKept) }),
  };
}

/** Keys are unique over both parts. */
function planStepOf({ plan }: CompiledWorkflow, key: string) {
  const main = plan.graph.nodeById.get(key);
  if (main !== undefined) return plan.steps[main];
  const final = plan.final?.graph.nodeById.get(key);
  return final === undefined ? undefined : plan.final?.steps[final];
}

/** The attempt that failed between two states of a step. A pause before the next one tells of it in its message. */
function failureBetween(old: StepState | undefined, step: StepState) {
  if (old === undefined || isTerminal(old.phase) || old.attempt === 0) return undefined;
  const isFailed = step.phase === "Failed" || (step.phase === "Waiting" && step.reason === "Backoff");
  if (!isFailed || old.phase === "Pending" || old.phase === "Waiting") return undefined;
  const { attempt } = step;
  const { reason, message } = step.phase === "Waiting" ? toldByPause(step.message) : step;
  return { attempt, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** The engine tells of a failed attempt as `attempt 2: Error: exit code 1`. */
function toldByPause(text = ""): { readonly reason?: string; readonly message?: string } {
  const [, reason, message] = /^attempt \d+: ([^:]*)(?:: (.*))?$/s.exec(text) ?? [];
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** Complete and Failed are always there, so that both can be waited for; the others when they have something to say. */
function conditionsAfter(
  present: readonly WorkflowCondition[],
  run: RunState,
  { conflicts, isInvalid = false }: StatusFacts,
  observedGeneration: number | undefined,
  now: Instant,
): readonly WorkflowCondition[] {
  const ended = run.phase === "Succeeded" ? "Complete" : isTerminal(run.phase) ? "Failed" : undefined;
  const wanted: WorkflowCondition[] = ["Complete", "Failed"].map((type): WorkflowCondition => {
    if (type === ended) return { type, status: "True", ...explained(run, run.phase) };
    const wasTrue = present.some((condition) => condition.type === type && condition.reason !== undefined);
    return { type, status: "False", ...(wasTrue ? { reason: "Retried" } : {}) };
  });
  const suspended = run.suspendedSince !== undefined;
  if (suspended || present.some((condition) => condition.type === "Suspended"))
    wanted.push({
      type: "Suspended",
      status: suspended ? "True" : "False",
      reason: suspended ? "Requested" : "Resumed",
    });
  if (conflicts.length > 0) wanted.push(specConflict(conflicts));
  else if (!isInvalid && present.some((condition) => condition.type === "Invalid"))
    wanted.push({ type: "Invalid", status: "False", reason: "Valid" });
  return wanted.reduce((list, condition) => setOne(list, condition, observedGeneration, now), present);
}

/** A condition needs a reason even when the run has none to give. */
const explained = ({ reason, message }: RunState, phase: string) => ({
  reason: reason ?? phase,
  ...(message === undefined ? {} : { message }),
});

const specConflict = (conflicts: readonly string[]): WorkflowCondition => ({
  type: "Invalid",
  status: "True",
  reason: "SpecConflict",
  message: `steps that have started were changed: ${conflicts.join(", ")}; no further attempt of them is started until they are put back`,
});

/** Sets one condition; the probe time moves only when something else of it does. */
export function setOne(
  list: readonly WorkflowCondition[],
  condition: WorkflowCondition,
  observedGeneration: number | undefined,
  now: Instant,
): readonly WorkflowCondition[] {
  const present = list.find(({ type }) => type === condition.type);
  const generation = present?.observedGeneration ?? observedGeneration;
  const same = setCondition(
    list,
    { ...condition, ...(generation === undefined ? {} : { observedGeneration: generation }) },
    now,
  );
  if (same === list) return list;
  const next = {
    ...condition,
    lastProbeTime: formatTime(now),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
  return setCondition(list, next, now);
}

/** The history with the run that a retry has ended for good, as the status had it; newest last. */
function historyAfter(previous: WorkflowStatus | undefined) {
  const { runNumber = 1, phase = "Failed", reason, message, startTime, completionTime } = previous ?? {};
  const past = {
    runNumber,
    phase,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(completionTime === undefined ? {} : { completionTime }),
  };
  return [...(previous?.history ?? []), past].slice(-historyLength);
}

/** Outputs of one workflow together, in bytes of their JSON text. */
const maxOutputBytes = 256 * 1024;

/**
 * A run that succeeded, with its outputs; one whose outputs cannot be made, or are larger than 256 KiB together, has failed. They
 * are made in the write that ends the run, so whoever sees the end sees the outputs. Runs without outputs pass unchanged.
 */
export function withOutputs(state: PassState): { readonly run: RunState; readonly outputs?: JsonObject } {
  const { compiled, run } = state;
  if (run.phase !== "Succeeded" || compiled.outputs.length === 0) return { run };
  const failed = (reason: string, message: string) => ({ run: { ...run, phase: "Failed" as const, reason, message } });
  const entries: [string, JsonObject[string]][] = [];
  for (const { name, expression } of compiled.outputs) {
    const value = evaluate(expression, compiled, valuesOf(state, false));
    if (!value.ok) return failed("ExpressionError", `output "${name}": ${value.error}`);
    entries.push([name, value.value]);
  }
  const outputs = Object.fromEntries(entries);
  const bytes = Buffer.byteLength(JSON.stringify(outputs));
  return bytes <= maxOutputBytes
    ? { run, outputs }
    : failed("OutputTooLarge", `outputs of ${bytes} bytes, at most ${maxOutputBytes} are kept`);
}
