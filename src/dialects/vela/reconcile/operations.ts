import { defined, parseInstant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { actionsFor, answer, openActions, type RunAction } from "#kernel/dialect/index.ts";
import type { VelaWorkflow } from "../app.ts";
import { isAudited } from "../insights/security.ts";
import { Application } from "../kinds.ts";
import { notices } from "../notices.ts";
import { applyCommand, type Command } from "../workflow/commands.ts";
import type { WorkflowStatus } from "../workflow/status.ts";
import type { DecideStep, Pass } from "./parts.ts";

/** The command of an action; undefined if the dialect has none. */
export function commandOf({ action, step, reason }: RunAction["spec"]): Command | undefined {
  const at = step === undefined || step === "" ? {} : { step: nameOf(step) };
  switch (action) {
    case "cancel":
      return { kind: "terminate", ...defined({ message: reason }) };
    case "suspend":
      return { kind: "suspend", ...at };
    case "resume":
    case "approve":
      return { kind: "resume", ...at };
    case "reject":
      return { kind: "terminate", message: `rejected${reason === undefined ? "" : `: ${reason}`}` };
    case "retry":
      return { kind: "restart", ...at };
    case "skip":
      return undefined;
  }
}

/** Faces name a step of a group `group/step`. */
const nameOf = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

/** Carries out the oldest open RunAction. True if the workflow may have changed. */
export async function operationStage(
  pass: Pass,
  workflow: VelaWorkflow,
  decideStep: DecideStep = () => Promise.resolve(false),
): Promise<boolean> {
  const [action] = openActions(actionsFor(pass.actions, Application, pass.key));
  if (action === undefined) return false;
  const verdict = await carryOut(pass, workflow, action, decideStep);
  const { client, clock, signal, store, record } = pass;
  await answer(client, action, verdict, clock.now(), signal);
  if (verdict.phase === "Done" && isAudited(store.application.spec)) {
    const { action: verb, step } = action.spec;
    const what = step === undefined ? verb : `${verb} of step "${step}"`;
    record(store.application, notices.operation(what, action.status?.by ?? "an unknown user"));
  }
  return verdict.phase !== "Refused";
}

type Verdict = NonNullable<RunAction["status"]>;

async function carryOut(
  pass: Pass,
  workflow: VelaWorkflow,
  action: Stored<RunAction>,
  decideStep: DecideStep,
): Promise<Verdict> {
  const { application, status } = pass.store;
  const { spec } = action;
  const refused = (message: string): Verdict => ({ phase: "Refused", message });
  if (spec.target.uid !== undefined && spec.target.uid !== application.metadata.uid)
    return refused(`the application of uid ${spec.target.uid} is gone; another one has its name`);
  if (application.metadata.deletionTimestamp !== undefined) return refused("the application is being deleted");
  const command = commandOf(spec);
  if (command === undefined) return refused(`${spec.action} is not possible for an application`);
  if (spec.step !== undefined && (spec.action === "approve" || spec.action === "reject")) {
    if (await decideStep(nameOf(spec.step), spec.action === "approve"))
      return { phase: "Done", message: doneText(spec.action) };
  }
  if (isCarriedOut(command, action, status.workflow)) return { phase: "Done", message: doneText(spec.action) };
  if (command.kind === "restart" && action.status?.phase !== "Accepted")
    return { phase: "Accepted", runNumber: runNumberOf(status.workflow) };
  const changed = applyCommand(status.workflow, command, workflow);
  if (!changed.ok) return refused(changed.error);
  const { workflow: _old, ...rest } = status;
  await pass.store.put(
    changed.value === undefined ? rest : { ...status, workflow: { ...status.workflow, ...changed.value } },
  );
  return { phase: "Done", message: doneText(spec.action) };
}

/** Command lines add the message of an approval to their own. */
const doneText = (action: string): string => (action === "approve" ? "" : `${action} is done`);

/** After a crash between the change and its answer. */
function isCarriedOut(command: Command, action: Stored<RunAction>, workflow: WorkflowStatus | undefined): boolean {
  if (command.kind === "terminate") return workflow?.terminated === true && workflow.status === "terminated";
  if (command.kind !== "restart" || action.status?.phase !== "Accepted") return false;
  return (
    action.status.runNumber !== runNumberOf(workflow) || (command.step !== undefined && workflow?.finished !== true)
  );
}

/** Names a run by its start. */
const runNumberOf = (workflow: WorkflowStatus | undefined): number =>
  Math.trunc((parseInstant(workflow?.startTime) ?? 0) / 1000);
