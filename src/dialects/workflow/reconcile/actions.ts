import { type ActionFact, isTerminal, type Plan, reset, type RunState, stepState } from "#engine/index.ts";
import { type ApiClient, refTo } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { nearest } from "#lib/text/index.ts";
import { refusalOf } from "../approvers.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { type Approval, Workflow } from "../kinds.ts";
import { actionsFor, answer, openActions, type RunAction } from "#kernel/dialect/index.ts";
import { decideApproval } from "./approvals.ts";
import { asker, type Decision, done, isAfterEnd, refused, untimely } from "./decision.ts";
import type { Pass } from "./pass.ts";

// Answers are Accepted (retry only), then Done or Refused. After a crash `decide` recognises the effect.

/** `conflicts`: started steps whose definition has changed. */
export type Judged = Pick<CompiledWorkflow, "plan" | "steps"> & { readonly conflicts?: readonly string[] };

/** Whether and how to carry out an action. Refusals say what is possible. */
export function decide(
  action: Stored<RunAction>,
  workflow: Stored<Workflow>,
  { plan, steps, conflicts = [] }: Judged,
  run: RunState,
): Decision {
  const { spec } = action;
  const { uid } = spec.target;
  if (uid !== undefined && uid !== workflow.metadata.uid)
    return refused(`the workflow of uid ${uid} is gone; another one has its name`);
  const unknown = [...(spec.steps ?? []), ...(spec.step === undefined ? [] : [spec.step])].find(
    (key) => !hasStep(plan, key),
  );
  if (unknown !== undefined) return refused(noStep(plan, unknown));
  if (workflow.metadata.deletionTimestamp !== undefined) return refused("the workflow is being deleted");
  if (spec.action === "retry") return decideRetry(action, plan, run);
  const { step } = spec;
  const approval = step === undefined ? undefined : steps.get(step)?.step.approval;
  if (!isDecision(spec)) return decideLive(action, run, approval);
  if (step === undefined) return refused(`${spec.action} needs the step to ${spec.action}`);
  if (approval === undefined) return refused(`step "${step}" is not an approval`);
  if (conflicts.includes(step))
    return refused(`step "${step}" is not what people were asked about any more: it was changed; put it back`);
  return decideApproval(action, step, approval, run);
}

/** Resuming an approval step approves it. */
const isDecision = ({ action, step }: RunAction["spec"]): boolean =>
  action === "approve" || action === "reject" || (action === "resume" && step !== undefined);

const hasStep = ({ graph, final }: Plan, key: string): boolean =>
  graph.nodeById.has(key) || final?.graph.nodeById.has(key) === true;

function noStep({ graph, final }: Plan, key: string): string {
  const close = nearest(key, [...graph.ids, ...(final?.graph.ids ?? [])]);
  return `there is no step "${key}"${close === undefined ? "" : `, did you mean "${close}"`}`;
}

/** For an invalid workflow: only a forced cancel is possible, because final steps cannot run. */
export function decideInvalid(
  action: Stored<RunAction>,
  workflow: Stored<Workflow>,
  plan: Plan,
  run: RunState,
): Decision {
  const decision = decide(action, workflow, { plan, steps: new Map() }, run);
  if (decision.is !== "apply" && decision.is !== "accept") return decision;
  const wrong = "the specification of the workflow is invalid";
  if (isTerminal(run.phase)) return refused(`${wrong} and cannot be corrected after its end; create another workflow`);
  if (decision.is === "accept" || decision.fact.action !== "cancel" || decision.fact.step !== undefined)
    return refused(`${wrong}; correct it, or cancel the whole workflow`);
  return { is: "apply", fact: { ...decision.fact, force: true } };
}

/** The engine gives the reason of a refusal. */
function decideRetry({ spec, status }: RunAction, plan: Plan, run: RunState): Decision {
  const accepted = status?.runNumber;
  if (accepted !== undefined && run.number > accepted) return done(`run ${accepted + 1} was started`);
  if (!isTerminal(run.phase)) return refused(`the workflow is ${run.phase}; only a finished one can be retried`);
  const steps = spec.steps ?? (spec.step === undefined ? undefined : [spec.step]);
  const selection = steps === undefined ? {} : { steps };
  const possible = reset(plan, run, selection);
  if (!possible.ok) return refused(possible.error);
  if (accepted === undefined) return { is: "accept" };
  return { is: "apply", fact: { kind: "action", action: "retry", number: accepted, ...selection, ...asker(status) } };
}

/** Skipping a question answers it, so it needs the same right. */
function decideLive(
  { spec, metadata, status }: Stored<RunAction>,
  run: RunState,
  approval: Approval | undefined,
): Decision {
  const { action, step, reason, force } = spec;
  // Stored but not answered.
  if (isTerminal(run.phase) && action === "cancel" && run.closing === "Cancel" && !isAfterEnd(metadata, run))
    return done("the workflow was canceled");
  const late = untimely(run, action);
  if (late !== undefined) return late;
  if (step !== undefined) {
    const { phase } = stepState(run, step);
    if (isTerminal(phase)) return refused(`step "${step}" is ${phase} already`);
    if (action === "skip" && phase !== "Pending" && phase !== "Waiting")
      return refused(
        `step "${step}" is ${phase}; only a step that has not started can be skipped, but it can be canceled`,
      );
    const objection = action === "skip" && approval !== undefined ? refusalOf(approval, status ?? {}) : undefined;
    if (objection !== undefined) return refused(objection);
  }
  const fact: ActionFact = {
    kind: "action",
    action,
    ...asker(status),
    ...(step === undefined ? {} : { step }),
    ...(reason === undefined ? {} : { reason }),
    ...(force === undefined ? {} : { force }),
  };
  return { is: "apply", fact };
}

/** `spec.suspend` outlives actions, so resuming a workflow changes it. */
export async function liftSuspend(client: ApiClient, workflow: Stored<Workflow>, signal: AbortSignal): Promise<void> {
  if (workflow.spec.suspend !== true) return;
  const { uid } = workflow.metadata;
  await client.patch(
    refTo(Workflow, workflow),
    { type: "merge", body: { metadata: { uid }, spec: { suspend: false } } },
    { signal },
  );
}

/** At most one action per pass, so that they take effect in order. */
export type ActionStep =
  | { readonly is: "none" }
  /** Answered without changing the run; look at the next. */
  | { readonly is: "answered" }
  | { readonly is: "apply"; readonly action: Stored<RunAction>; readonly fact: ActionFact; readonly told?: string };

export const hasOpenActions = ({ actions, key }: Pass): boolean =>
  openActions(actionsFor(actions, Workflow, key)).length > 0;

/** Takes the oldest open action, and answers at once unless the run must change. */
export async function actionStage(
  pass: Pass,
  run: RunState,
  judge: (action: Stored<RunAction>) => Decision,
): Promise<ActionStep> {
  const { actions, key, client, now, signal } = pass;
  const [action] = openActions(actionsFor(actions, Workflow, key));
  if (action === undefined) return { is: "none" };
  const decision = judge(action);
  switch (decision.is) {
    case "apply":
      return { ...decision, action };
    case "accept":
      await answer(client, action, { phase: "Accepted", runNumber: run.number }, now, signal);
      return { is: "answered" };
    case "refused":
      await answer(client, action, { phase: "Refused", message: decision.message }, now, signal);
      return { is: "answered" };
    case "done":
      await answer(client, action, { phase: "Done", message: decision.message }, now, signal);
      return { is: "answered" };
  }
}

/** Answers an action whose effect is stored. */
export async function answerStage(pass: Pass, step: ActionStep, workflow: Stored<Workflow>): Promise<void> {
  if (step.is !== "apply") return;
  const { client, now, signal } = pass;
  if (step.fact.action === "resume") await liftSuspend(client, workflow, signal);
  await answer(
    client,
    step.action,
    { phase: "Done", message: step.told ?? `${step.action.spec.action} is done` },
    now,
    signal,
  );
}
