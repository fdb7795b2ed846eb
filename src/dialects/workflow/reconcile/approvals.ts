import type { JsonObject } from "#lib/base/index.ts";
import { type ActionFact, countApprovals, type RunState, stepState, type StepState, wordsOf } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { refusalOf } from "../approvers.ts";
import { approvalOutputs } from "../compile/approval.ts";
import { checkValues } from "../compile/params.ts";
import type { Approval } from "../kinds.ts";
import { collectProblems, type RunAction } from "#kernel/dialect/index.ts";
import { maxOutputBytes } from "../steps/outputs.ts";
import { asker, type Decision, done, isAfterEnd, refused, untimely } from "./decision.ts";

/** Whether an approval counts. Each is stored, so that an unanswered action is recognised after a crash. */
export function decideApproval(
  { spec, status, metadata }: Stored<RunAction>,
  step: string,
  approval: Approval,
  run: RunState,
): Decision {
  const { values, reason } = spec;
  const action = spec.action === "reject" ? "reject" : "approve";
  const fact: ActionFact = {
    kind: "action",
    action,
    step,
    ...asker(status),
    ...(reason === undefined ? {} : { reason }),
    ...(values === undefined ? {} : { values }),
  };
  const objection = refusalOf(approval, status ?? {});
  if (objection !== undefined) return refused(objection);
  const state = stepState(run, step);
  const before = isAfterEnd(metadata, run) ? undefined : answeredBefore(fact, state, approval);
  if (before !== undefined) return done(before);
  const late = untimely(run, spec.action);
  if (late !== undefined) return late;
  const { phase } = state;
  if (phase !== "Suspended")
    return refused(
      phase === "Pending" || phase === "Waiting"
        ? `step "${step}" is ${phase}; it can be decided once it waits for approval`
        : `step "${step}" is ${phase} already`,
    );
  if (action === "reject") return { is: "apply", fact };
  const { needed, approvals } = withThis(fact, state, approval);
  const wrong = problemsOf(approval, approvals);
  if (wrong !== undefined) return refused(wrong);
  return { is: "apply", fact, told: countApprovals(approvals, needed) };
}

/** This answer, or an equal one of the same person, was counted. */
function answeredBefore(fact: ActionFact, state: StepState, { minApprovals = 1 }: Approval): string | undefined {
  const { approvals = [], phase, reason, message } = state;
  if (fact.action === "reject")
    return phase === "Failed" && reason === "Rejected" && message === wordsOf(fact)
      ? "the step was rejected"
      : undefined;
  if (!approvals.some(({ by }) => by === fact.by)) return undefined;
  return `${fact.by ?? "an unverified user"} has already approved; each user counts once: ${countApprovals(approvals, minApprovals)}`;
}

/** Including this one; times do not matter. */
const withThis = ({ by, values }: ActionFact, { approvals = [] }: StepState, { minApprovals = 1 }: Approval) => ({
  needed: minApprovals,
  approvals: [
    ...approvals,
    { at: 0, ...(by === undefined ? {} : { by }), ...(values === undefined ? {} : { values }) },
  ],
});

/** Problems of the approval's values: each required value must be given, and with the first approval. */
function problemsOf(
  approval: Approval,
  approvals: readonly { readonly by?: string; readonly values?: JsonObject }[],
): string | undefined {
  const found = collectProblems();
  const given: JsonObject = Object.assign({}, ...approvals.map(({ values }) => values));
  checkValues(approval.inputs ?? [], given, ["values"], found.error);
  const problems = found.problems.map(
    ({ path, message, hint }) => `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );
  if (problems.length > 0) return problems.join("; ");
  // Stored twice: as given and as outputs.
  const bytes = Buffer.byteLength(JSON.stringify([approvals, approvalOutputs(approval, approvals)]));
  return bytes <= maxOutputBytes ? undefined : `the values have ${bytes} bytes, at most ${maxOutputBytes} are kept`;
}
