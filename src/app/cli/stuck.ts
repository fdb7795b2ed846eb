import type { RunView, StepView } from "#engine/index.ts";

/**
 * The steps that a run on a control plane of its own waits for in vain; none while anything else may still move. Nobody but the run
 * itself can reach such a control plane, so that what its steps lack never comes.
 */
export function stuckSteps({ steps }: RunView): readonly StepView[] {
  const unsettled = steps.filter(({ phase }) => !over.has(phase) && phase !== "Pending");
  return unsettled.every(({ holdUp }) => holdUp?.needsHelp === true) ? unsettled : [];
}

const over: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Skipped", "Canceled"]);

/** What a person is told of it, and what can be done. */
export function stuckText(stuck: readonly StepView[]): string {
  const what = stuck.map(({ name, holdUp }) => `${name} (${holdUp?.message ?? ""})`).join(", ");
  return [
    `slipway: this run cannot go on: ${what}`,
    "nobody else can reach its control plane, which ends with this command: put what is missing into the documents,",
    "or run them on a control plane that others can reach (slipway up); Ctrl-C cancels the run",
  ].join("\n");
}
