import { command, exitCode, UsageError } from "#kernel/command/index.ts";

/** Absent: text for people. */
interface WhyOptions {
  readonly output?: "json";
}

/** Made from the view that every face draws from, hence the same for every dialect. Ends with 0 whatever the answer is. */
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
    const { withSession } = await import("#kernel/command/index.ts");
    const { findRun } = await import("../runs.ts");
    const { listRunPods } = await import("../run-pods.ts");
    const { lastSuspend } = await import("../run-actions.ts");
    const { whyOf } = await import("../why.ts");
    const { withChildren } = await import("../why-children.ts");
    const { whyText } = await import("../output/why-text.ts");
    const { tellTroubles } = await import("../server-state.ts");
    const { paintFor } = await import("#kernel/command/index.node.ts");
    const { nearest } = await import("#lib/text/index.ts");
    const { environment, clock, args, rest: words, options } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const { type, name, dialect, rest } = await findRun({ client, namespace }, [args[0] ?? "", ...words]);
      const object = await client.get({ type, namespace, name });
      const pods = await listRunPods(client, dialect, object);
      const view = dialect.runs.view(object, pods);
      const [step, ...more] = rest;
      if (more.length > 0) throw new UsageError(`why takes one step, found also ${more.join(", ")}`);
      if (step !== undefined && !view.steps.some(({ id }) => id === step)) {
        const ids = view.steps.map(({ id }) => id);
        const close = nearest(step, ids);
        const hint = close === undefined ? `the steps are ${ids.slice(0, 20).join(", ")}` : `did you mean "${close}"?`;
        throw new UsageError(`${name} has no step "${step}"`, hint);
      }
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
