import { command } from "../command.ts";
import { exitCode, UsageError } from "../exit-codes.ts";
import type { ActionRequest } from "../run-actions.ts";

/** Of all four verbs; a verb that does not declare an option never sees it. */
interface ActionOptions {
  readonly step?: string[];
  readonly force?: boolean;
  readonly reason?: string;
}

type Verb = "cancel" | "suspend" | "resume" | "retry";

const reason = { flags: "--reason <text>", summary: "why, for those who look later" };

/**
 * The commands that steer a run. All do the same: record a RunAction and tell how it was judged. They end with 0 when
 * it was carried out and with 1 when it was refused, with the controller's reason on stderr. `past` is the word that
 * is printed on success, in the form of kubectl: `workflow/diamond canceled`.
 */
const actionCommand = (
  verb: Verb,
  summary: string,
  past: string,
  more: Pick<Parameters<typeof command<ActionOptions>>[0], "options">,
) =>
  command<ActionOptions>({
    name: verb,
    args: ["<run...>"],
    summary,
    group: "Runs",
    examples: [`slipway ${verb} diamond`, `slipway ${verb} workflow/diamond`],
    options: [...more.options, reason],
    completes: ["run"],
    async action(invocation) {
      const { withSession } = await import("../session.ts");
      const { findRun } = await import("../runs.ts");
      const { act } = await import("../run-actions.ts");
      const { options, environment, clock, signal, rest } = invocation;
      return await withSession(invocation, async ({ client, namespace }) => {
        const run = await findRun(client, rest);
        if (run.rest.length > 0) throw new UsageError(`${verb} takes one run, found also ${run.rest.join(", ")}`);
        if (verb === "cancel" && (options.step ?? []).length > 1)
          throw new UsageError("cancel takes one --step; cancel the run, or one step after the other");
        const answer = await act(client, namespace, run, requestOf(verb, options), clock, signal);
        if (answer.phase === "Refused") {
          environment.err.write(`slipway: ${run.type.kind.toLowerCase()}/${run.name}: ${answer.message}\n`);
          return exitCode.failed;
        }
        environment.out.write(`${run.type.kind.toLowerCase()}/${run.name} ${past}\n`);
        return exitCode.succeeded;
      });
    },
  });

/**
 * A retry takes several steps, every other action one; what was not asked for is left out, because the server refuses
 * fields that mean nothing for an action.
 */
function requestOf(action: Verb, { step = [], force, reason: why }: ActionOptions): ActionRequest {
  const chosen = step.length === 0 ? {} : action === "retry" ? { steps: step } : { step: step[0] ?? "" };
  return { action, ...chosen, ...(force === true ? { force } : {}), ...(why === undefined ? {} : { reason: why }) };
}

/** Ends with 0 once the controller has begun to cancel; the run may still be ending its steps. */
export const cancelCommand = actionCommand("cancel", "Cancel a run; its final steps still run", "canceled", {
  options: [
    // Repeatable so that a second one is refused instead of taking the place of the first.
    { flags: "--step <name>", summary: "cancel only this step", repeatable: true },
    { flags: "--force", summary: "do not run the final steps either" },
  ],
});

/** What runs goes on; the clock of the run's deadline stops. */
export const suspendCommand = actionCommand("suspend", "Start nothing new in a run", "suspended", { options: [] });

/** Also takes back a `suspend: true` that the document began with. */
export const resumeCommand = actionCommand("resume", "Let a suspended run go on", "resumed", { options: [] });

/** The same object begins its next run: what succeeded is kept, attempts count on. */
export const retryCommand = actionCommand(
  "retry",
  "Run again what failed in a finished run, and what depends on it",
  "retried",
  {
    options: [
      { flags: "--step <name>", summary: "this step and what depends on it; may be repeated", repeatable: true },
    ],
  },
);
