import { command, exitCode, withSession } from "#kernel/command/index.ts";

interface WhyOptions {
  readonly output?: "json";
}

/** Explains a run from its view, the same for every dialect. Always exits with 0. */
export const whyCommand = command<WhyOptions>({
  name: "why",
  args: ["<run>", "[step...]"],
  shown: ["<run>", "[step]"],
  summary: "Explain what a run or a step waits for",
  group: "Runs",
  examples: ["slipway why diamond", "slipway why diamond four", "slipway why diamond -o json"],
  options: [{ flags: "-o, --output <format>", summary: "json", choices: ["json"] }],
  completes: ["run", "step"],
  async action(invocation) {
    const { readRun, refuseMore, unknownStep } = await import("../runs.ts");
    const { listRunPods } = await import("#app/runs/index.ts");
    const { lastSuspend } = await import("#kernel/dialect/index.ts");
    const { whyOf } = await import("../why.ts");
    const { withChildren } = await import("../why-children.ts");
    const { whyText } = await import("../output/why-text.ts");
    const { tellTroubles } = await import("../server-state.ts");
    const { paintFor } = await import("#kernel/command/index.node.ts");
    const { environment, clock, args, options } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const words = [args[0] ?? "", ...invocation.rest];
      const { type, name, dialect, rest, object } = await readRun({ client, namespace }, words);
      const pods = await listRunPods(client, dialect, object);
      const view = dialect.runs.view(object, pods);
      const [step, ...more] = rest;
      refuseMore("why takes one step", more);
      const ids = view.steps.map(({ id }) => id);
      if (step !== undefined && !ids.includes(step)) throw unknownStep(`${name} has no step "${step}"`, step, ids);
      const { nodes } = dialect.runs.graph(object);
      const conditions = new Map(nodes.map(({ id, condition }) => [id, condition]));
      const suspendedBy = view.actions.includes("resume")
        ? await lastSuspend(client, namespace, { type, name })
        : undefined;
      const own = whyOf(view, { step, suspendedBy, conditionOf: (id) => conditions.get(id) });
      const why = await withChildren(client, namespace, own);
      const text =
        options.output === "json"
          ? `${JSON.stringify(why, null, 2)}\n`
          : whyText(why, clock.now(), paintFor(environment.out.color));
      environment.out.write(text);
      await tellTroubles(client, environment);
      return exitCode.succeeded;
    });
  },
});
