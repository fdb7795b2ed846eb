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
import { type Inputs, readInputs } from "./reconcile/inputs.ts";
import { restoredPhase } from "./status/integrity.ts";
import { Hardware } from "./kinds.ts";
import { finalizer, notice, type Notice, warning } from "./messages.ts";
import { expectedAgents, prepare, type Renderer } from "./reconcile/prepare.ts";
import { isQuiet } from "./reconcile/quiet.ts";
import { referencesOf } from "./references.ts";
import { beginning } from "./reconcile/retry.ts";
import { actionStage, cancelAnswered } from "./reconcile/run-actions.ts";
import type { Settings } from "./settings.ts";
import { isSameAgent, isTerminal, type Phase, type WorkflowState } from "./state.ts";
import { asJson, conditionsIn, rerenderAsked, withAnswer, withRendering } from "./status/rendering.ts";
import { putCondition } from "./status/conditions.ts";
import { type AnyWorkflow, kindOf, refOf, stateOf, statusOf, storeHeld, storeStatus } from "./stored.ts";
import { nextDeadline, supervise } from "./reconcile/supervise.ts";
import { fail, succeed } from "./transitions.ts";
import type { Prepared } from "./plan.ts";

export interface ReconcileParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly renderer: Renderer;
  readonly newId: (shape: WorkflowState["shape"], now: Instant) => string;
  readonly record: (workflow: Stored<AnyWorkflow>, notice: Notice) => void;
  /** With the index `targetIndex`. */
  readonly actions: Lister<RunAction>;
  /** May be stale: used only to skip passes. */
  readonly workflows: Lister<AnyWorkflow>;
}

interface Pass extends ReconcileParts {
  readonly workflow: Stored<AnyWorkflow>;
  readonly state: WorkflowState;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/** For failures that may pass; wrong templates are retried when they change. */
const renderRetry = { base: 1000, factor: 2, cap: 300_000 } as const;

/** Reconciles a workflow. Each pass stores at most one move, whose write triggers the next pass. */
export function workflowReconciler(parts: ReconcileParts): Reconciler {
  return {
    async reconcile({ namespace = "", name }, context) {
      const { client, clock } = parts;
      const mirrored = parts.workflows.get(keyOf({ namespace, name }));
      if (mirrored !== undefined && isQuiet(mirrored, parts, clock.now()))
        return requeueAt(nextDeadline(stateOf(mirrored)), clock.now());
      // Created on demand: most passes end above.
      const { signal, failures: tries } = context;
      // Read live: decisions that end workflows must not be based on stale data.
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

async function store(pass: Pass, status: JsonObject, ...notices: readonly Notice[]): Promise<void> {
  const stored = await storeStatus(pass.client, pass.workflow, status, pass.signal);
  for (const told of notices) pass.record(stored, told);
}

/** A requested cancel. What was due before comes first. */
async function cancelAsked(pass: Pass, { action, by }: NonNullable<Awaited<ReturnType<typeof actionStage>>>) {
  const { state, now, settings } = pass;
  const due = supervise(state, { isDeleted: false, cancelBy: by }, now, settings);
  if (due === undefined) return undefined;
  const result = await move(pass, due.state, due.notices);
  const isCanceled = due.state.phase === "Cancelling" || due.state.phase === "Canceled";
  if (isCanceled) await cancelAnswered(pass, action);
  return result;
}

function restore(pass: Pass, phase: Phase) {
  const { state } = pass;
  const told = warning("IllegalStateWrite", `the state ${state.phase || '""'} cannot be, and is ${phase} again`);
  // A failed action is the reason; without it the phase would be corrected again.
  const failed = state.actions.find((action) => action.phase === "Failed");
  const why = phase === "Failed" && failed !== undefined ? { reason: failed.reason ?? "RuntimeError" } : {};
  return move(pass, { ...state, ...why, phase }, [told]);
}

async function refuseDraft({ workflow, now, ...pass }: Pass): Promise<undefined> {
  const before = conditionsIn(workflow);
  const conditions = putCondition("lastTransitionTime", now)(before, {
    type: "Unsupported",
    status: "True",
    reason: "TaskBased",
    message: "workflows with spec.tasks are stored, and this version does not run them",
  });
  if (conditions !== before)
    await store({ ...pass, workflow, now }, { ...workflow.status, shape: "C", conditions: asJson(conditions) });
  return undefined;
}

/** Renders and stores the result. An unprepared workflow has no finalizer of this controller. */
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

/** The rendering of its current template, from the start of the workflow. */
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

const delayAfter = (tries: number): Millis => exponential(tries + 1, renderRetry);

async function tellFailure(pass: Pass, problem: string): Promise<void> {
  const { workflow } = pass;
  const { status = {} } = workflow;
  const told = withRendering(pass, { ...status, shape: pass.state.shape }, problem);
  const next = withAnswer(pass, told, problem);
  if (next["conditions"] === status["conditions"]) return;
  await store(pass, next, warning("TemplateRenderFailed", problem));
}

/** Stores the rendering and adds the finalizer. */
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

const bootOptionsOf = ({ spec = {} }: AnyWorkflow): JsonObject =>
  isJsonObject(spec["bootOptions"]) ? spec["bootOptions"] : {};
const wantsNetboot = (workflow: AnyWorkflow): boolean => bootOptionsOf(workflow)["toggleAllowNetboot"] === true;
/** Power control is another system's; without it a workflow that needs it must fail. */
const hasBootMode = (workflow: AnyWorkflow): boolean => {
  const mode = bootOptionsOf(workflow)["bootMode"];
  return typeof mode === "string" && mode !== "";
};

/** Network boot is allowed before the actions and forbidden after them. */
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

function netbootStatus({ status = {} }: AnyWorkflow, isPost: boolean): JsonObject {
  const before = isJsonObject(status["bootOptions"]) ? status["bootOptions"] : {};
  const toggled = isJsonObject(before["allowNetboot"]) ? before["allowNetboot"] : {};
  return {
    bootOptions: { ...before, allowNetboot: { ...toggled, [isPost ? "toggledFalse" : "toggledTrue"]: true } },
  };
}

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

/** Renders a workflow again that no agent was sent. If that fails, the workflow stays as it was. */
async function beginAnew(pass: Pass) {
  const { workflow, state, client, signal } = pass;
  if (state.phase !== "Pending" || state.actions.some(({ phase }) => phase !== "Pending"))
    return await refuseAnew(pass, `the workflow is ${state.phase}: only one that is Pending can be rendered anew`);
  const inputs = await readInputs(client, workflow, signal);
  if ("missing" in inputs) return await refuseAnew(pass, inputs.missing);
  const prepared = await renderNow(pass, inputs);
  if (!prepared.ok) return await refuseAnew(pass, prepared.error.message);
  // A new agent has not rejected it.
  const isOther = !isSameAgent(prepared.value.agentID, state.agentID);
  const { attempt } = state.dispatch;
  const dispatch = isOther ? { held: false, attempt, rejections: 0 } : state.dispatch;
  await takeIn({ ...pass, state: { ...state, dispatch } }, prepared.value);
  return undefined;
}

async function refuseAnew(pass: Pass, problem: string) {
  const { workflow, state, now } = pass;
  await store(pass, withAnswer(pass, workflow.status ?? {}, problem), warning("TemplateRenderFailed", problem));
  return requeueAt(nextDeadline(state), now);
}

/** A later change of the spec has no effect and is reported once. */
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

async function move(pass: Pass, state: WorkflowState, notices: readonly Notice[], more: JsonObject = {}) {
  const { workflow, now } = pass;
  await store(pass, { ...statusOf(workflow, state, now), ...more }, ...notices);
  return requeueAt(nextDeadline(state), now);
}
