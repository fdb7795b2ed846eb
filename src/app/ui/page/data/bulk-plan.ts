import type { RunSummary } from "#app/ui/wire.ts";

export type BulkAction = "cancel" | "retry" | "delete";

const isOver = ({ finishedAt, phase }: RunSummary): boolean =>
  finishedAt !== undefined || phase === "Succeeded" || phase === "Failed" || phase === "Canceled";

/** What the action does to a run, or why it leaves it alone. */
export function planOf(action: BulkAction, run: RunSummary): { readonly isDone: boolean; readonly text: string } {
  if (action === "delete")
    return { isDone: true, text: isOver(run) ? "is deleted" : "has not ended: is stopped without its final steps, and deleted" };
  // Retrying what succeeded is for one run at a time, by somebody who means it.
  const isDone = run.actions.includes(action) && !(action === "retry" && run.phase === "Succeeded");
  if (!isDone) return { isDone, text: isOver(run) && action === "cancel" ? "left alone: has ended" : `left alone: is ${run.phase}` };
  return { isDone, text: action === "cancel" ? "is canceled" : "failed steps run again" };
}
