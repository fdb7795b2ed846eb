import type { Actions, ActionRequest } from "./actions.ts";
import type { ActionOutcome } from "./run-command.ts";

/** How an `action:` entry of a machine's tasks ended, with what its job's log gets. */
export interface ActionEnd {
  readonly isOk: boolean;
  readonly log: string;
}

export async function runEntry(
  actions: Actions,
  request: Omit<ActionRequest, "params">,
  signal: AbortSignal,
): Promise<ActionEnd> {
  const outcome = await actions.run({ ...request, params: {} }, signal);
  return { isOk: outcome.kind === "done", log: logOf(request.command, outcome) };
}

/** The original's words. */
function logOf(command: string, outcome: ActionOutcome): string {
  switch (outcome.kind) {
    case "done":
      return `Results from plugin invoke:\n${JSON.stringify(outcome.result, null, 2)}\nEnd of results\n`;
    case "unknown":
    case "invalid":
      return `Action ${command} validation failed:\n${outcome.reason}\n`;
    case "failed":
      return `Action invoke ${command} failed: ${outcome.reason}\n${outcome.output}${endOf(outcome.output)}`;
  }
}

const endOf = (output: string): string => (output === "" || output.endsWith("\n") ? "" : "\n");
