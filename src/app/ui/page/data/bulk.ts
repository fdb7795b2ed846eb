import type { RunSummary } from "#app/ui/wire.ts";
import { act } from "./actions.ts";
import { send } from "./api.ts";
import type { BulkAction } from "./bulk-plan.ts";
import { objectPath } from "./objects.ts";

export interface Outcome {
  readonly isWrong: boolean;
  readonly text: string;
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
