import type { RunSummary } from "#app/ui/wire.ts";
import { act } from "./actions.ts";
import { send } from "./api.ts";
import { objectPath } from "./objects.ts";

export type BulkAction = "cancel" | "retry" | "delete";

export interface Outcome {
  readonly isWrong: boolean;
  readonly text: string;
}

const isOver = ({ finishedAt, phase }: RunSummary): boolean =>
  finishedAt !== undefined || phase === "Succeeded" || phase === "Failed" || phase === "Canceled";

/** What the action does to a run, or why it leaves it alone. */
export function planOf(action: BulkAction, run: RunSummary): { readonly isDone: boolean; readonly text: string } {
  if (action === "delete")
    return { isDone: true, text: isOver(run) ? "is deleted" : "has not ended: is stopped without its final steps, and deleted" };
  const isDone = run.actions.includes(action);
  if (!isDone) return { isDone, text: isOver(run) && action === "cancel" ? "left alone: has ended" : `left alone: is ${run.phase}` };
  return { isDone, text: action === "cancel" ? "is canceled" : "failed steps run again" };
}

const done: Readonly<Record<BulkAction, string>> = { cancel: "cancel accepted", retry: "retry accepted", delete: "deleted" };

/** Never rejects: what the server refuses is an outcome. */
async function perform(action: BulkAction, { ref }: RunSummary, reason: string): Promise<Outcome> {
  try {
    if (action === "delete") {
      await send("DELETE", await objectPath(ref), { body: { propagationPolicy: "Background" } });
      return { isWrong: false, text: done.delete };
    }
    const { phase, message } = await act({ target: ref, action, ...(reason === "" ? {} : { reason }) });
    if (phase === "Refused") return { isWrong: true, text: `refused: ${message ?? "no reason given"}` };
    return { isWrong: false, text: phase === "Sent" ? "sent; no answer yet" : done[action] };
  } catch (thrown) {
    return { isWrong: true, text: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

const atOnce = 6;

/** Acts on the runs, a few at once, and reports each outcome as it comes. */
export async function performAll(
  action: BulkAction,
  runs: readonly RunSummary[],
  reason: string,
  report: (run: RunSummary, outcome: Outcome) => void,
): Promise<void> {
  const left = [...runs];
  const work = async (): Promise<void> => {
    for (let run = left.shift(); run !== undefined; run = left.shift()) report(run, await perform(action, run, reason));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
