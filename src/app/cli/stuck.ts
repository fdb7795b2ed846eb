import type { RunView, StepView } from "#engine/index.ts";

/**
 * The steps that a run on a control plane of its own waits for in vain; none while anything else may still move. Nobody but the run
 * itself can reach such a control plane, so that what its steps lack never comes.
 */
function stuckSteps({ steps }: RunView): readonly StepView[] {
  const unsettled = steps.filter(({ phase }) => !over.has(phase) && phase !== "Pending");
  return unsettled.every(({ holdUp }) => holdUp?.needsHelp === true) ? unsettled : [];
}

const over: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Skipped", "Canceled"]);

/**
 * The steps that wait for an answer while nothing else may move: nobody can give it there. They may be over one day, since a question
 * can have a limit of time.
 */
const unansweredSteps = ({ phase, steps }: RunView): readonly StepView[] =>
  phase === "Suspended" ? steps.filter((step) => step.phase === "Suspended") : [];

/** What a person is told of a run on a control plane of its own that waits in vain, and what can be done; undefined of all others. */
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
