import { isAlreadyExists, keyOf, type Stored } from "#kernel/model/index.ts";
import { type ApiClient, getOrUndefined, type Lister, refTo } from "#kernel/kit/index.ts";
import type { Instant } from "#lib/base/index.ts";
import { actionsFor, answer, openActions, RunAction } from "#kernel/dialect/index.ts";
import { Workflow } from "../kinds.ts";
import { retriedBy, retryNames, retryOf } from "./retry.ts";
import { type Action, isTerminal, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, kindOf, refOf } from "../stored.ts";

export type Verdict =
  | { readonly is: "refused" | "done"; readonly message: string }
  | { readonly is: "cancel"; readonly by: "User" | "CLI" }
  /** From the beginning if `from` is absent. */
  | { readonly is: "retry"; readonly from?: Action };

const refused = (message: string): Verdict => ({ is: "refused", message });
const done = (message: string): Verdict => ({ is: "done", message });

/** Set by the command line; the reason of a cancel then names it. */
const clientAnnotation = "slipway.dev/client";

/** Whether and how to carry out a RunAction. Refusals say what is possible. Pure. */
export function judge({ spec, metadata }: RunAction, workflow: Stored<AnyWorkflow>, state: WorkflowState): Verdict {
  const { uid } = spec.target;
  if (uid !== undefined && uid !== workflow.metadata.uid)
    return refused(`the workflow of uid ${uid} is gone; another one has its name`);
  if (spec.action === "retry") return judgeRetry(spec.fromFailed === true, state);
  // Admission refuses other actions, but a cluster may lack it.
  if (spec.action !== "cancel") return refused(`expected cancel or retry: workflows of agents know no ${spec.action}`);
  if (workflow.metadata.deletionTimestamp !== undefined) return refused("the workflow is being deleted");
  return judgeCancel(state, metadata.annotations?.[clientAnnotation] === "CLI" ? "CLI" : "User");
}

/** An end is an answer, too: after a crash an action is judged again. */
function judgeCancel({ phase }: WorkflowState, by: "User" | "CLI"): Verdict {
  if (phase === "Canceled") return done("the workflow was canceled");
  if (phase === "Cancelling") return done("the workflow is being canceled");
  if (isTerminal(phase)) return refused(`the workflow is ${phase}; only retry is possible`);
  if (phase === "Post") return refused("all actions have succeeded, and what follows them is not canceled");
  return { is: "cancel", by };
}

/** An unfinished workflow is not repeated: both runs would be for one machine. */
function judgeRetry(isFromFailed: boolean, { phase, actions }: WorkflowState): Verdict {
  if (!isTerminal(phase))
    return refused(`the workflow is ${phase === "" ? "not prepared" : phase}; only a finished one can be retried`);
  if (!isFromFailed) return { is: "retry" };
  // It ended before it was prepared.
  if (actions.length === 0) return { is: "retry" };
  const from = actions.find((action) => action.phase !== "Succeeded");
  return from === undefined ? refused("all actions have succeeded; a retry would have none") : { is: "retry", from };
}

export interface ActionParts {
  readonly client: ApiClient;
  readonly actions: Lister<RunAction>;
  readonly workflow: Stored<AnyWorkflow>;
  readonly state: WorkflowState;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/** Answers open RunActions, oldest first, up to one that changes the workflow; then call `cancelAnswered`. */
export async function actionStage(
  parts: ActionParts,
): Promise<{ readonly action: Stored<RunAction>; readonly by: "User" | "CLI" } | undefined> {
  const { client, workflow, state, now, signal } = parts;
  for (const seen of openActions(actionsFor(parts.actions, Workflow, keyOf(workflow.metadata)))) {
    // The mirror may not have this process's own answers yet.
    const action = await getOrUndefined<RunAction>(client, refTo(RunAction, seen), signal);
    if (action === undefined || openActions([action]).length === 0) continue;
    const verdict = judge(action, workflow, state);
    if (verdict.is === "cancel") return { action, by: verdict.by };
    if (verdict.is === "retry") {
      const createdRun = await createRetry(parts, action, verdict.from);
      await answer(client, action, { phase: "Done", message: `${createdRun} was created`, createdRun }, now, signal);
      continue;
    }
    const phase = verdict.is === "done" ? "Done" : "Refused";
    await answer(client, action, { phase, message: verdict.message }, now, signal);
  }
  return undefined;
}

export const cancelAnswered = (parts: Pick<ActionParts, "client" | "now" | "signal">, action: Stored<RunAction>) =>
  answer(parts.client, action, { phase: "Done", message: "canceled" }, parts.now, parts.signal);

/** Answers with the name of the new run. The run carries the RunAction's uid, so each creates only one. */
async function createRetry(
  { client, workflow, signal }: ActionParts,
  action: Stored<RunAction>,
  from: Action | undefined,
): Promise<string> {
  const { namespace = "" } = workflow.metadata;
  for (const name of retryNames(workflow)) {
    const present = await getOrUndefined<AnyWorkflow>(client, refOf(namespace, name), signal);
    if (present !== undefined && retriedBy(present) === action.metadata.uid) return name;
    if (present !== undefined) continue;
    try {
      const wanted = retryOf(workflow, { name, from, by: action.metadata.uid });
      await client.create<AnyWorkflow>(kindOf(workflow), wanted, { signal });
      return name;
    } catch (thrown) {
      // Created by someone else, perhaps for this RunAction: look again.
      if (!isAlreadyExists(thrown)) throw thrown;
      throw new Error(`${name} has come meanwhile`, { cause: thrown });
    }
  }
  throw new Error("names for further retries have run out");
}
