import {
  codeOf,
  defined,
  formatInstant,
  type Instant,
  jsonEquals,
  type JsonObject,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import { advance, type Fact, isTerminal, type Plan, type RunState, stepState } from "#engine/index.ts";
import type { Step, VelaWorkflow } from "../app.ts";
import { applyCommand, editsOf } from "./commands.ts";
import { ContextStore } from "./context-store.ts";
import { waitDelay } from "./delays.ts";
import { decide, readReferences } from "./gates.ts";
import { storeOutputs } from "./io.ts";
import { messages } from "../messages.ts";
import type { StepOutcome } from "./outcome.ts";
import type { PassParts, Subject } from "./parts.ts";
import { exportedPatches, patchesDigest } from "./patches.ts";
import {
  askable,
  type Decision,
  isGroup,
  needsDecision,
  type Place,
  placesOf,
  planOf,
  strikeDeadlines,
} from "./plan.ts";
import { SecretTexts } from "./sensitive.ts";
import { decodeRun, type DecodedRun, encodeRun, entriesOf, lastEndOf, nextAtOf, stepIdOf } from "./state.ts";
import { flatSteps, stepReasons, type StepStatus, type WorkflowStatus } from "./status.ts";
import { stepContext } from "./step-context.ts";
import { executeStep } from "./task.ts";

// One pass over a run: commands, decisions, `advance`, the intent durable, execution, facts, and so on until nothing is
// due. What a crash interrupts is found in the status by the next pass.

export interface RunInput {
  readonly subject: Subject;
  readonly status: WorkflowStatus | undefined;
  /** Only these steps; default: all. */
  readonly stage?: "pre-render";
  /** Something that steps wait for has changed: they are executed before their time. */
  readonly isWoken?: boolean;
  /** Durable when it resolves; rejects if the object has changed since it was read, and the pass ends. */
  readonly store: (status: WorkflowStatus) => Promise<void>;
}

export interface PassResult {
  readonly status: WorkflowStatus;
  /** All steps of the stage are settled. */
  readonly isDone: boolean;
  readonly requeueAfter?: Millis;
}

/** A chain of steps that end at once takes one round each; the rest is done in the next pass. */
const mostRounds = 200;

const soon: Millis = 1_000;
const year: Millis = 365 * 86_400_000;

interface Turn {
  readonly parts: PassParts;
  readonly input: RunInput;
  readonly workflow: VelaWorkflow;
  readonly places: readonly Place[];
  readonly store: ContextStore;
  readonly references: ReadonlyMap<string, readonly string[]>;
  /** Effects whose answers the next save makes durable. */
  readonly answered: string[];
  /** Steps that were under way when the pass began. */
  readonly begunBefore: ReadonlySet<string>;
  readonly executed: Set<string>;
  status: WorkflowStatus | undefined;
  /** As last stored. */
  stored: WorkflowStatus | undefined;
  decoded: DecodedRun;
}

export async function runPass(parts: PassParts, input: RunInput): Promise<PassResult> {
  let turn: Turn | undefined;
  try {
    turn = await openTurn(parts, input);
  } catch (thrown) {
    if (codeOf(thrown) !== "context-unreadable") throw thrown;
    return refuse(input, input.status, `${messageOf(thrown)}; restart the workflow`);
  }
  if (turn === undefined || turn.status?.finished === true) return over(turn?.status ?? input.status ?? {});
  if (turn.decoded.isHeld) return hold(turn);
  let delays = new Map<string, Millis>();
  let facts: readonly Fact[] = [];
  for (let round = 0; round < mostRounds; round++) {
    const moved = await move(turn, facts, delays);
    if (typeof moved === "string") return refuse(input, turn.status, moved);
    const due = dueSteps(turn);
    // The last write of a pass tells what the execution has come to.
    await keep(turn, moved.pending);
    if (due.length === 0) return conclude(turn, moved.wakeAt);
    const outcomes = await Promise.all(due.map((place) => execute(turn, place)));
    delays = new Map();
    facts = due.flatMap((place, index) => noteOutcome(turn, place, outcomes[index] ?? { kind: "interrupted" }, delays));
    if (outcomes.every(({ kind }) => kind === "interrupted"))
      return { ...conclude(turn, undefined), requeueAfter: soon };
  }
  return { ...conclude(turn, undefined), requeueAfter: 1 };
}

async function openTurn(parts: PassParts, input: RunInput): Promise<Turn | undefined> {
  const { app, owner } = input.subject;
  const whole = app.workflow;
  const workflow = input.stage === undefined ? whole : { ...whole, steps: whole.steps.filter(isEarly) };
  let status = input.status;
  for (const command of editsOf(status)) {
    const changed = applyCommand(status, command, workflow);
    if (changed.ok) status = changed.value;
  }
  if (status?.finished === true) return undefined;
  const { name, namespace } = app.identity;
  const isFresh = status?.startTime === undefined;
  const store = await ContextStore.open({
    client: parts.client,
    owner,
    name,
    namespace,
    known: isFresh ? undefined : status?.contextBackend,
    isFresh,
    signal: parts.signal,
  });
  const decoded = decodeRun(status, workflow, parts.settings);
  const places = placesOf(workflow);
  if (isFresh) store.reset();
  else store.keepSteps(startedSteps(whole, status));
  for (const { id, step } of places) {
    const trust = {
      digest: decoded.entries.get(step.name)?.patches,
      isSettled: isTerminal(stepState(decoded.run, id).phase),
    };
    for (const { component, value } of exportedPatches(store, step.name, trust))
      parts.delivery.patchComponent(component, value);
  }
  const begun = places.filter(({ id }) => stepState(decoded.run, id).phase !== "Pending").map(({ id }) => id);
  return {
    parts,
    input,
    workflow,
    places,
    store,
    references: await readReferences(parts.cue, workflow, parts.signal),
    answered: [],
    begunBefore: new Set(begun),
    executed: new Set(),
    status,
    stored: input.status,
    decoded,
  };
}

const isEarly = ({ stage }: Step): boolean => stage === "pre-render";

const startedSteps = (workflow: VelaWorkflow, status: WorkflowStatus | undefined): ReadonlySet<string> => {
  const started = flatSteps(status).filter(({ phase }) => phase !== undefined && phase !== "pending");
  const names = new Set(placesOf(workflow).map(({ step }) => step.name));
  return new Set(started.flatMap(({ name = "" }) => (names.has(name) ? [name] : [])));
};

/** Advances until neither a decision nor a cancel is missing. */
async function move(
  turn: Turn,
  given: readonly Fact[],
  delays: ReadonlyMap<string, Millis>,
): Promise<{ readonly pending: ReadonlyMap<string, string>; readonly wakeAt?: Instant } | string> {
  const decisions = new Map<string, Decision>();
  let facts = given;
  for (;;) {
    const { isTerminated } = turn.decoded;
    const flags = { decisions, delays, isTerminated };
    const plan = planOf({ workflow: turn.workflow, settings: turn.parts.settings, references: turn.references }, flags);
    if (!plan.ok) return plan.error;
    const moved = advance(plan.value, turn.decoded.run, facts, turn.parts.clock.now());
    turn.decoded = { ...turn.decoded, run: moved.run };
    facts = moved.effects.flatMap((effect): readonly Fact[] =>
      effect.kind === "cancel"
        ? [{ kind: "child", step: effect.step, attempt: effect.attempt, state: { is: "gone" } }]
        : [],
    );
    await giveNulls(turn);
    const asked = askable(turn, plan.value, moved.run).filter(
      ({ id, step }) => needsDecision(step) && !decisions.has(id),
    );
    for (const place of asked) decisions.set(place.id, await decisionOf(turn, place));
    if (asked.length > 0 || facts.length > 0) continue;
    return {
      pending: pendingMessages(turn, plan.value, decisions),
      ...defined({ wakeAt: moved.wakeAt }),
    };
  }
}

const decisionOf = (turn: Turn, place: Place): Promise<Decision> =>
  decide(
    {
      cue: turn.parts.cue,
      store: turn.store,
      workflow: turn.workflow,
      signal: turn.parts.signal,
      contextOf: () => contextOf(turn, place),
    },
    place.step,
    encoded(turn, new Map()),
  );

const contextOf = ({ input }: Turn, { step, group }: Place): JsonObject =>
  stepContext(input.subject, step, stepIdOf(input.subject.owner.metadata.uid, step.name), group);

/** Steps that did not succeed leave null, so that later steps are not stuck. */
async function giveNulls(turn: Turn): Promise<void> {
  const { parts, store, places, decoded } = turn;
  for (const place of places) {
    const { phase } = stepState(decoded.run, place.id);
    const isOver = isTerminal(phase) && (phase !== "Succeeded" || isGroup(place.step));
    const missing = place.step.outputs.filter(({ name }) => store.ownerOf(name) === undefined);
    if (!isOver || missing.length === 0) continue;
    const inner = isGroup(place.step) ? store.variablesSetBy(place.step.subSteps.map(({ name }) => name)) : undefined;
    const text = `${inner?.text ?? ""}context: _\nparameter: _\n`;
    const task = { text, context: contextOf(turn, place), parameter: place.step.properties, done: [] };
    const step = { ...place.step, outputs: missing };
    await storeOutputs({
      cue: parts.cue,
      store,
      step,
      task,
      isSensitive: inner?.isSensitive ?? false,
      isComplete: false,
      signal: parts.signal,
    });
  }
}

/** Why steps wait that could be next. */
function pendingMessages(
  turn: Turn,
  plan: Plan,
  decisions: ReadonlyMap<string, Decision>,
): ReadonlyMap<string, string> {
  const { places, decoded } = turn;
  const pending = new Map<string, string>();
  const ready = new Set(askable(turn, plan, decoded.run));
  for (const place of places) {
    const { id, step } = place;
    if (stepState(decoded.run, id).phase !== "Pending") continue;
    const decision = decisions.get(id);
    if (decision?.kind === "pending") pending.set(id, decision.message);
    else if (!ready.has(place)) {
      const missing = step.dependsOn.find((name) => !isSettledStep(turn, name));
      if (missing !== undefined) pending.set(id, messages.pendingOnDependsOn(missing));
    }
  }
  return pending;
}

const isSettledStep = ({ places, decoded }: Turn, name: string): boolean => {
  const place = places.find(({ step }) => step.name === name);
  return place !== undefined && isTerminal(stepState(decoded.run, place.id).phase);
};

/** Starts that are owed, and steps that wait and whose time has come. */
function dueSteps(turn: Turn): readonly Place[] {
  const { decoded, executed, input, parts } = turn;
  const now = parts.clock.now();
  return turn.places.filter(({ id, step }) => {
    if (isGroup(step)) return false;
    const { phase } = stepState(decoded.run, id);
    if (phase === "Starting") return true;
    if (phase !== "Running" || executed.has(id)) return false;
    const entry = decoded.entries.get(step.name) ?? {};
    const nextAt = nextAtOf(entry);
    if (entry.phase === "suspending") return nextAt !== undefined && nextAt <= now;
    return nextAt === undefined || nextAt <= now || input.isWoken === true;
  });
}

const encoded = (turn: Turn, pending: ReadonlyMap<string, string>): WorkflowStatus => {
  const { decoded, workflow, parts, input, store } = turn;
  const reference = store.reference;
  const encoding = {
    ...decoded,
    workflow,
    settings: parts.settings,
    runUid: input.subject.owner.metadata.uid,
    now: parts.clock.now(),
    pending,
    ...defined({ contextBackend: reference }),
  };
  const status = encodeRun(encoding, turn.status);
  return input.stage === undefined || status.status !== "succeeded" ? status : unfinished(status);
};

/** After its first stage a run goes on. */
const unfinished = ({ endTime: _endTime, ...status }: WorkflowStatus): WorkflowStatus => ({
  ...status,
  status: "executing",
  finished: false,
});

/** Variables before the status that tells of them; the status before what it intends. */
async function keep(turn: Turn, pending: ReadonlyMap<string, string>): Promise<void> {
  await turn.store.save();
  await turn.parts.courier.forget(turn.answered.splice(0));
  const status = encoded(turn, pending);
  if (!jsonEquals(status, turn.stored)) await turn.input.store(status);
  turn.status = status;
  turn.stored = status;
  turn.decoded = { ...turn.decoded, entries: entriesOf(status) };
}

function execute(turn: Turn, place: Place): Promise<StepOutcome> {
  const { parts, input, store, decoded, references } = turn;
  const { owner } = input.subject;
  turn.executed.add(place.id);
  return executeStep({
    parts,
    subject: input.subject,
    store,
    place,
    stepId: stepIdOf(owner.metadata.uid, place.step.name),
    entry: decoded.entries.get(place.step.name) ?? {},
    isContinued: turn.begunBefore.has(place.id),
    runKey: `${owner.metadata.uid} ${decoded.run.startedAt ?? 0}`,
    isRead: [...references.values()].some((names) => names.includes(place.step.name)),
    secrets: new SecretTexts(),
    settledEffect: (effect) => turn.answered.push(effect),
  });
}

/** Updates the step's entry and gives the engine its fact. */
function noteOutcome(turn: Turn, place: Place, outcome: StepOutcome, delays: Map<string, Millis>): readonly Fact[] {
  if (outcome.kind === "interrupted") return [];
  const { id } = place;
  const { attempt } = stepState(turn.decoded.run, id);
  const entry = entryAfter(turn, place, outcome, delays);
  turn.decoded = { ...turn.decoded, entries: new Map([...turn.decoded.entries, [place.step.name, entry]]) };
  const fact = (state: Extract<Fact, { kind: "child" }>["state"]): Fact => ({
    kind: "child",
    step: id,
    attempt,
    state,
  });
  const { message } = outcome;
  const told = message === undefined ? {} : { message };
  switch (outcome.kind) {
    case "succeeded":
      return [fact({ is: "succeeded", ...told })];
    case "wait":
    case "suspend":
      return [fact({ is: "alive" })];
    case "error":
      return [fact({ is: "failed", reason: stepReasons.execute, retryable: true, ...told })];
    case "failed":
      return [fact({ is: "failed", reason: outcome.reason, retryable: false, ...told })];
  }
}

/** The delay grows while the message stays the same. Waking a step early does not count. */
function entryAfter(turn: Turn, { id, step }: Place, outcome: StepOutcome, delays: Map<string, Millis>): StepStatus {
  const { settings, clock } = turn.parts;
  const before = turn.decoded.entries.get(step.name) ?? {};
  const { executions = 0, waits: earlierWaits = 0 } = before;
  const now = clock.now();
  const message = outcome.message ?? "";
  const isSame = message === (before.message ?? "");
  const dueAt = nextAtOf(before);
  const isEarly = dueAt !== undefined && now < dueAt && isSame && lastEndOf(before) === "wait";
  const waits = isEarly ? earlierWaits : isSame ? earlierWaits + 1 : 1;
  const isFailing = outcome.kind === "error" || hasFailures(turn.decoded.run);
  const delay = waitDelay(waits, isFailing ? settings.maxFailedBackoff : settings.maxWaitBackoff);
  if (outcome.kind === "error") delays.set(id, delay);
  const until = outcome.kind === "suspend" ? outcome.until : undefined;
  const nextAt = outcome.kind === "wait" ? (isEarly ? dueAt : now + delay) : until;
  const phase = outcome.kind === "error" ? "failed" : outcome.kind === "suspend" ? "suspending" : "running";
  return defined({
    ...before,
    phase,
    reason: phase === "running" ? stepReasons.wait : undefined,
    message,
    executions: executions + 1,
    waits,
    lastExecuteTime: formatInstant(now),
    nextTime: nextAt === undefined ? undefined : formatInstant(nextAt),
    resourceRef: outcome.resourceRef ?? before.resourceRef,
    patches: patchesDigest(turn.store, step.name),
  });
}

const hasFailures = ({ steps }: RunState): boolean =>
  Object.values(steps).some(({ phase, reason }) => phase === "Failed" || (phase === "Waiting" && reason === "Backoff"));

function conclude(turn: Turn, wakeAt: Instant | undefined): PassResult {
  const { decoded, places, parts } = turn;
  const status = turn.status ?? {};
  const isDone = isTerminal(decoded.run.phase);
  if (isDone) return { status, isDone };
  const times = places.flatMap(({ id, step }) => {
    const nextAt = nextAtOf(decoded.entries.get(step.name) ?? {});
    return stepState(decoded.run, id).phase === "Running" && nextAt !== undefined ? [nextAt] : [];
  });
  const now = parts.clock.now();
  const next = Math.min(...times, wakeAt ?? Number.POSITIVE_INFINITY);
  return { status, isDone, ...(next - now < year ? { requeueAfter: Math.max(1, next - now) } : {}) };
}

const over = (status: WorkflowStatus): PassResult => ({ status, isDone: true });

/** A person suspended the run: nothing moves but time. */
async function hold(turn: Turn): Promise<PassResult> {
  const { parts, workflow, decoded } = turn;
  const now = parts.clock.now();
  const struck = strikeDeadlines(workflow, parts.settings, decoded.run, now);
  turn.decoded = { ...decoded, run: struck.run };
  await keep(turn, new Map());
  const status = turn.status ?? {};
  return { status, isDone: false, ...(struck.next === undefined ? {} : { requeueAfter: struck.next - now }) };
}

/** The workflow cannot go on as it is. */
async function refuse(input: RunInput, before: WorkflowStatus | undefined, message: string): Promise<PassResult> {
  const status = { ...before, status: "failed", message, finished: true, terminated: true, suspend: false };
  if (!jsonEquals(status, input.status)) await input.store(status);
  return over(status);
}
