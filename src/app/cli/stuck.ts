import type { RunView, StepView } from "#engine/index.ts";

/**
 * The steps that can never continue on a private control plane, where no other user can add what they lack; none while
 * anything else may still move.
 */
function stuckSteps({ steps }: RunView): readonly StepView[] {
  const unsettled = steps.filter(({ phase }) => !over.has(phase) && phase !== "Pending");
  return unsettled.every(({ holdUp }) => holdUp?.needsHelp === true) ? unsettled : [];
}

const over: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Skipped", "Canceled"]);

/** The approvals that no other user can give, while nothing else may move. They may still time out. */
const unansweredSteps = ({ phase, steps }: RunView): readonly StepView[] =>
  phase === "Suspended" ? steps.filter((step) => step.phase === "Suspended") : [];

/** Why a run on a private control plane waits in vain, and what to do. */
export function obstacleText(view: RunView): string | undefined {
  const stuck = stuckSteps(view);
  if (stuck.length > 0) {
    const what = stuck.map(({ name, holdUp }) => `${name} (${holdUp?.message ?? ""})`).join(", ");
    return [
      `slipway: this run cannot continue: ${what}`,
      "its control plane is private to this command: add the missing objects to the documents,",
      "or run them on a shared control plane (slipway up); Ctrl-C cancels the run",
    ].join("\n");
  }
  const unanswered = unansweredSteps(view);
  if (unanswered.length === 0) return undefined;
  return [
    `slipway: no user can answer ${unanswered.map(({ name }) => name).join(", ")}: the control plane of this run is private to this command`,
    "run the documents on a shared control plane (slipway up); Ctrl-C cancels the run",
  ].join("\n");
}
