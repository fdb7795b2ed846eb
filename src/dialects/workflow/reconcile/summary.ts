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

export interface StatusFacts {
  /** By step: of intents, and with uids of observed objects. */
  readonly references: ReadonlyMap<string, ChildReference>;
  /** Started steps whose definition was changed without admission. */
  readonly conflicts: readonly string[];
  /** Position of a run that waits for its concurrency key. */
  readonly queued?: Queued;
  /** Keeps the condition about an invalid spec. */
  readonly isInvalid?: boolean;
}

// The status beyond the run: conditions, progress, history, children and failures of steps.

const historyLength = 10;
const failuresKept = 3;

/** The whole status after a pass. `before` is the run of the present status, whose unchanged parts are shared. */
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
    // A queued run counts as not started.
    ...((run.startedAt === undefined && facts.queued === undefined) || facts.isInvalid === true
      ? {}
      : frozenSpec(workflow, compiled.spec)),
    ...notificationsAfter(previous?.notifications, compiled.spec.notifications, before, run, now),
    ...(run.number > before.number ? { history: historyAfter(previous) } : {}),
  };
}

/** The key is evaluated when the run is queued, and again for a retry. */
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

const isSameSummary = (before: RunState, run: RunState): boolean =>
  before.phase === run.phase && before.number === run.number && before.suspendedSince === run.suspendedSince;

/** Unchanged steps share their entries. */
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

/** For a step that moved or whose child was first seen. The hash is of the definition it starts with. */
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
  // A question must stay the one that people were asked.
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

function planStepOf({ plan }: CompiledWorkflow, key: string) {
  const main = plan.graph.nodeById.get(key);
  if (main !== undefined) return plan.steps[main];
  const final = plan.final?.graph.nodeById.get(key);
  return final === undefined ? undefined : plan.final?.steps[final];
}

/** The attempt that failed between two states. A backoff has it in its message. */
function failureBetween(old: StepState | undefined, step: StepState) {
  if (old === undefined || isTerminal(old.phase) || old.attempt === 0) return undefined;
  const isFailed = step.phase === "Failed" || (step.phase === "Waiting" && step.reason === "Backoff");
  if (!isFailed || old.phase === "Pending" || old.phase === "Waiting") return undefined;
  const { attempt } = step;
  const { reason, message } = step.phase === "Waiting" ? toldByPause(step.message) : step;
  return { attempt, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** The engine writes `attempt 2: Error: exit code 1`. */
function toldByPause(text = ""): { readonly reason?: string; readonly message?: string } {
  const [, reason, message] = /^attempt \d+: ([^:]*)(?:: (.*))?$/s.exec(text) ?? [];
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** Complete and Failed always exist, so that both can be waited for. */
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

/** A condition needs a reason. */
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

/** The probe time moves only with another change. */
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

/** Adds the run that a retry ended; newest last. */
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

const maxOutputBytes = 256 * 1024;

/** A succeeded run with its outputs, or failed if they cannot be made or exceed 256 KiB. */
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
