import { type Clock, type Instant, isJsonObject, type JsonObject, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  getOrUndefined,
  type Lister,
  type Reconciler,
  removeFinalizer,
  requeueAt,
} from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { exponential } from "#engine/index.ts";
import type { RunAction } from "#kernel/dialect/index.ts";
import { withNetboot } from "./hardware.ts";
import { type Inputs, readInputs } from "./inputs.ts";
import { restoredPhase } from "./integrity.ts";
import { Hardware } from "./kinds.ts";
import { finalizer, notice, type Notice, warning } from "./messages.ts";
import { expectedAgents, prepare, type Renderer } from "./prepare.ts";
import { isQuiet } from "./quiet.ts";
import { referencesOf } from "./references.ts";
import { beginning } from "./retry.ts";
import { actionStage, cancelAnswered } from "./run-actions.ts";
import type { Settings } from "./settings.ts";
import { isSameAgent, isTerminal, type Phase, type WorkflowState } from "./state.ts";
import { asJson, conditionsIn, rerenderAsked, withAnswer, withRendering } from "./rendering-status.ts";
import { putCondition } from "./status-conditions.ts";
import { type AnyWorkflow, kindOf, refOf, stateOf, statusOf, storeHeld, storeStatus } from "./stored.ts";
import { nextDeadline, supervise } from "./supervise.ts";
import { fail, succeed } from "./transitions.ts";
import type { Prepared } from "./planned.ts";

/** What one pass works with. */
export interface ReconcileParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly renderer: Renderer;
  readonly newId: (shape: WorkflowState["shape"], now: Instant) => string;
  readonly record: (workflow: Stored<AnyWorkflow>, notice: Notice) => void;
  /** What people ask of workflows; with the index `targetIndex`. */
  readonly actions: Lister<RunAction>;
  /** May be a moment behind: only that nothing is to be done is read from it. */
  readonly workflows: Lister<AnyWorkflow>;
}

/** A pass: one workflow at one instant. */
interface Pass extends ReconcileParts {
  readonly workflow: Stored<AnyWorkflow>;
  readonly state: WorkflowState;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/** What cannot be rendered is tried again when its template or hardware changes; this is for failures that may pass. */
const renderRetry = { base: 1000, factor: 2, cap: 300_000 } as const;

/**
 * One pass of a workflow: prepares what is new, supervises what agents carry out, lets go what has ended. Each pass makes one move at most and
 * stores it; what has to follow, follows in the pass that the write brings about. Agents are never spoken to.
 */
export function workflowReconciler(parts: ReconcileParts): Reconciler {
  return {
    async reconcile({ namespace = "", name }, context) {
      const { client, clock } = parts;
      const mirrored = parts.workflows.get(keyOf({ namespace, name }));
      if (mirrored !== undefined && isQuiet(mirrored, parts, clock.now()))
        return requeueAt(nextDeadline(stateOf(mirrored)), clock.now());
      // A signal is made for whoever asks for it: most passes end above.
      const { signal, failures: tries } = context;
      // Read, not mirrored: what is decided here ends workflows, and must not be decided on what was.
      const workflow = await getOrUndefined<AnyWorkflow>(client, refOf(namespace, name), signal);
      if (workflow === undefined) return undefined;
      const now = clock.now();
      const pass: Pass = { ...parts, workflow, state: stateOf(workflow), now, signal };
      const restored = restoredPhase(pass.state);
      if (restored !== undefined && pass.state.shape !== "C") return await restore(pass, restored);
      if (pass.state.shape === "C") await refuseDraft(pass);
      const asked = await actionStage(pass);
      if (asked !== undefined) return await cancelAsked(pass, asked);
      if (pass.state.shape === "C") return undefined;
      if (pass.state.phase === "") return await begin(pass, tries);
      if (pass.state.phase === "Preparing" || pass.state.phase === "Post") return await boot(pass);
      return await watchOver(pass);
    },
  };
}

/** Stores a status unless it says what is said already, and tells people. */
async function store(pass: Pass, status: JsonObject, ...notices: readonly Notice[]): Promise<void> {
  const stored = await storeStatus(pass.client, pass.workflow, status, pass.signal);
  for (const told of notices) pass.record(stored, told);
}

/** A cancel that somebody has asked for. What was due before it comes first; then it is judged anew. */
async function cancelAsked(pass: Pass, { action, by }: NonNullable<Awaited<ReturnType<typeof actionStage>>>) {
  const { state, now, settings } = pass;
  const due = supervise(state, { isDeleted: false, cancelBy: by }, now, settings);
  if (due === undefined) return undefined;
  const result = await move(pass, due.state, due.notices);
  const isCanceled = due.state.phase === "Cancelling" || due.state.phase === "Canceled";
  if (isCanceled) await cancelAnswered(pass, action);
  return result;
}

/** What somebody has written into the state is undone where it cannot be true. */
function restore(pass: Pass, phase: Phase) {
  const { state } = pass;
  const told = warning("IllegalStateWrite", `the state ${state.phase || '""'} cannot be, and is ${phase} again`);
  // A failed action is why; without it the word would be undone again.
  const failed = state.actions.find((action) => action.phase === "Failed");
  const why = phase === "Failed" && failed !== undefined ? { reason: failed.reason ?? "RuntimeError" } : {};
  return move(pass, { ...state, ...why, phase }, [told]);
}

/** The draft with tasks is kept for who reads it; nobody is to wait for it. */
async function refuseDraft({ workflow, now, ...pass }: Pass): Promise<undefined> {
  const before = conditionsIn(workflow);
  const conditions = putCondition("lastTransitionTime", now)(before, {
    type: "Unsupported",
    status: "True",
    reason: "TaskBased",
    message: "workflows with spec.tasks are stored and not carried out by this version",
  });
  if (conditions !== before)
    await store({ ...pass, workflow, now }, { ...workflow.status, shape: "C", conditions: asJson(conditions) });
  return undefined;
}

/** Renders, and stores what came of it. Nothing of ours holds a workflow that was not prepared: one that is being deleted is held by others. */
async function begin(pass: Pass, tries: number) {
  const { workflow, client, signal, state, now, settings } = pass;
  const due = supervise(state, { isDeleted: workflow.metadata.deletionTimestamp !== undefined }, now, settings);
  if (due !== undefined) return await move(pass, due.state, due.notices);
  const inputs = await readInputs(client, workflow, signal);
  if (workflow.spec?.["disabled"] === true) {
    if ("missing" in inputs) return undefined;
    const [agentID] = expectedAgents(inputs.hardware);
    if (agentID !== undefined && workflow.status?.["agentID"] !== agentID)
      await store(pass, { ...workflow.status, agentID });
    return undefined;
  }
  if ("missing" in inputs) {
    await tellFailure(pass, inputs.missing);
    return undefined;
  }
  const prepared = await renderNow(pass, inputs);
  if (!prepared.ok) {
    await tellFailure(pass, prepared.error.message);
    return prepared.error.isFinal ? undefined : { requeueAfter: delayAfter(tries) };
  }
  await takeIn(pass, prepared.value);
  return undefined;
}

/** What comes of its template as it is now, from where the workflow is to begin. */
async function renderNow(
  { workflow, state, now, settings, signal, ...pass }: Pass,
  inputs: Exclude<Inputs, { readonly missing: string }>,
) {
  const newId = () => pass.newId(state.shape, now);
  const prepared = await prepare(
    { workflow, ...inputs },
    { renderer: pass.renderer, maxBytes: settings.maxRenderBytes, newId, signal },
  );
  return prepared.ok ? beginning(workflow, prepared.value) : prepared;
}

/** Of failures that are no fault of the template, such as a machine that is too busy to render in time. */
const delayAfter = (tries: number): Millis => exponential(tries + 1, renderRetry);

/** The same words twice are not written again. */
async function tellFailure(pass: Pass, problem: string): Promise<void> {
  const { workflow } = pass;
  const { status = {} } = workflow;
  const told = withRendering(pass, { ...status, shape: pass.state.shape }, problem);
  const next = withAnswer(pass, told, problem);
  if (next["conditions"] === status["conditions"]) return;
  await store(pass, next, warning("TemplateRenderFailed", problem));
}

/** What was rendered is stored, and holds the workflow from then on. */
async function takeIn(pass: Pass, { tasks, ignored, ...prepared }: Prepared): Promise<void> {
  const { client, workflow, state, now, signal } = pass;
  const phase = wantsNetboot(workflow) || hasBootMode(workflow) ? "Preparing" : "Pending";
  const next: WorkflowState = { ...state, ...prepared, phase };
  const { generation } = workflow.metadata;
  const before = { ...workflow.status, ...observed(generation), ...(state.shape === "A" ? { tasks } : {}) };
  const status = withRendering(pass, statusOf({ ...workflow, status: before }, next, now), undefined);
  const stored = await storeHeld(client, workflow, withAnswer(pass, status, undefined), signal);
  pass.record(stored, notice("Prepared", "the template was rendered"));
  for (const what of ignored) pass.record(stored, warning("IgnoredField", what));
}

/** Only released documents have them. */
const bootOptionsOf = ({ spec = {} }: AnyWorkflow): JsonObject =>
  isJsonObject(spec["bootOptions"]) ? spec["bootOptions"] : {};
const wantsNetboot = (workflow: AnyWorkflow): boolean => bootOptionsOf(workflow)["toggleAllowNetboot"] === true;
/** Power control is another system's; without it a workflow that needs it must fail, and not run on a machine that did not boot. */
const hasBootMode = (workflow: AnyWorkflow): boolean => {
  const mode = bootOptionsOf(workflow)["bootMode"];
  return typeof mode === "string" && mode !== "";
};

/** Before the actions the machine is allowed to boot from the network, after them not any more. */
async function boot(pass: Pass) {
  const { workflow, state, settings, now } = pass;
  const isPost = state.phase === "Post";
  const asked = { isDeleted: workflow.metadata.deletionTimestamp !== undefined };
  const due = isPost ? undefined : supervise(state, asked, now, settings);
  if (due !== undefined) return await move(pass, due.state, due.notices);
  const problem = hasBootMode(workflow)
    ? "spec.bootOptions.bootMode needs jobs.bmc.tinkerbell.org, which this server does not have"
    : await setNetboot(pass, !isPost);
  if (problem !== undefined) {
    const reason = isPost ? "PostActionFailed" : "BootPreparationFailed";
    const failed = fail(state, { reason, message: problem, isFree: true }, now, settings);
    return await move(pass, failed.state, failed.notices);
  }
  const done = isPost ? succeed(state, now) : { state: { ...state, phase: "Pending" as const }, notices: [] };
  return await move(pass, done.state, done.notices, netbootStatus(workflow, isPost));
}

/** What was done, as released statuses tell it. */
function netbootStatus({ status = {} }: AnyWorkflow, isPost: boolean): JsonObject {
  const before = isJsonObject(status["bootOptions"]) ? status["bootOptions"] : {};
  const toggled = isJsonObject(before["allowNetboot"]) ? before["allowNetboot"] : {};
  return {
    bootOptions: { ...before, allowNetboot: { ...toggled, [isPost ? "toggledFalse" : "toggledTrue"]: true } },
  };
}

/** What is missing, or undefined when it is done. */
async function setNetboot({ client, workflow, signal }: Pass, isAllowed: boolean): Promise<string | undefined> {
  const { hardware: name } = referencesOf(workflow);
  if (name === "") return "spec.hardwareRef is missing, which spec.bootOptions.toggleAllowNetboot needs";
  const inputs = await readInputs(client, workflow, signal);
  if ("missing" in inputs) return inputs.missing;
  if (inputs.hardware === undefined) return `hardware not found: ${name}`;
  const interfaces = withNetboot(inputs.hardware, isAllowed);
  if (interfaces === undefined) return undefined;
  const { namespace = "", resourceVersion } = inputs.hardware.metadata;
  const body = { metadata: { resourceVersion }, spec: { interfaces } };
  await client.patch({ type: Hardware, namespace, name }, { type: "merge", body }, { signal });
  return undefined;
}

/**
 * Times, cancellations, and the end. A workflow that has ended is let go at once, also while its agent is still held: who is
 * held for it is told by what is stored, and free when that is gone.
 */
async function watchOver(pass: Pass) {
  const { workflow, state, settings, now, client } = pass;
  const asked = { isDeleted: workflow.metadata.deletionTimestamp !== undefined };
  const due = supervise(state, asked, now, settings);
  if (due !== undefined) return await move(pass, due.state, due.notices);
  if (!isTerminal(state.phase) && rerenderAsked(workflow) !== undefined) return await beginAnew(pass);
  if (!isTerminal(state.phase) && workflow.status?.["observedGeneration"] !== workflow.metadata.generation)
    return await ignoreChange(pass);
  if (isTerminal(state.phase)) await removeFinalizer<AnyWorkflow>(client, kindOf(workflow), workflow, finalizer);
  return requeueAt(nextDeadline(state), now);
}

/**
 * Renders again what no agent was told of, as it would be now: template, hardware and specification. What cannot be rendered now leaves
 * the workflow as it was: somebody may have begun to change the template, and what waits is still what was wanted before.
 */
async function beginAnew(pass: Pass) {
  const { workflow, state, client, signal } = pass;
  if (state.phase !== "Pending" || state.actions.some(({ phase }) => phase !== "Pending"))
    return await refuseAnew(pass, `the workflow is ${state.phase}: only one that is Pending can be rendered anew`);
  const inputs = await readInputs(client, workflow, signal);
  if ("missing" in inputs) return await refuseAnew(pass, inputs.missing);
  const prepared = await renderNow(pass, inputs);
  if (!prepared.ok) return await refuseAnew(pass, prepared.error.message);
  // Of another agent nobody knows that it refuses.
  const isOther = !isSameAgent(prepared.value.agentID, state.agentID);
  const { attempt } = state.dispatch;
  const dispatch = isOther ? { held: false, attempt, rejections: 0 } : state.dispatch;
  await takeIn({ ...pass, state: { ...state, dispatch } }, prepared.value);
  return undefined;
}

/** Told once for each time that it is asked. */
async function refuseAnew(pass: Pass, problem: string) {
  const { workflow, state, now } = pass;
  await store(pass, withAnswer(pass, workflow.status ?? {}, problem), warning("TemplateRenderFailed", problem));
  return requeueAt(nextDeadline(state), now);
}

/** What was rendered stays: a specification that changes afterwards is told of, once for each change. */
async function ignoreChange(pass: Pass) {
  const { workflow, state, now } = pass;
  const { generation } = workflow.metadata;
  const told =
    "the workflow was prepared already: of its specification only disabled is heeded, and only before dispatch";
  await store(pass, { ...workflow.status, ...observed(generation) }, notice("SpecChangeIgnored", told));
  return requeueAt(nextDeadline(state), now);
}

const observed = (generation: number | undefined): JsonObject =>
  generation === undefined ? {} : { observedGeneration: generation };

/** Stores a move. The write brings the next pass. */
async function move(pass: Pass, state: WorkflowState, notices: readonly Notice[], more: JsonObject = {}) {
  const { workflow, now } = pass;
  await store(pass, { ...statusOf(workflow, state, now), ...more }, ...notices);
  return requeueAt(nextDeadline(state), now);
}
