import type { RunCommands } from "#kernel/dialect/index.ts";

/** The RunActions of an Application or a WorkflowRun. `retry` restarts, with a step from there on. */
export const runCommands: RunCommands = {
  actions: ["cancel", "suspend", "resume", "retry", "approve", "reject"],
  check({ action, step, steps, force }, report) {
    if (action === "cancel" && step !== undefined)
      report(["spec", "step"], "forbidden", "cancel terminates the whole workflow");
    if (steps !== undefined) report(["spec", "steps"], "forbidden", "name one step in spec.step");
    if (force !== undefined) report(["spec", "force"], "forbidden", "steps with the condition always run in any case");
  },
};
