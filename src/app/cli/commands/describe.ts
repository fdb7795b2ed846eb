import { command } from "../command.ts";
import { exitCode } from "../exit-codes.ts";

/**
 * The dialect tells of the run in its own words; the events are the server's. Read in several requests that are not of
 * one moment: what is told of a run that moves may be a moment apart.
 */
export const describeCommand = command<object>({
  name: "describe",
  args: ["<run...>"],
  summary: "Tell all about a run: its steps in order, what each waits for, and its events",
  group: "Runs",
  examples: ["slipway describe diamond", "slipway describe workflow diamond"],
  options: [],
  completes: ["run"],
  async action(invocation) {
    const { withSession } = await import("../session.ts");
    const { childrenOf, findRun } = await import("../runs.ts");
    const { listRunPods } = await import("../run-pods.ts");
    const { eventsOf, formatEvents } = await import("../output/events.ts");
    const { environment, clock, rest } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const { type, name, dialect } = await findRun(client, rest);
      const object = await client.get({ type, namespace, name });
      const scope = { namespace, labelSelector: dialect.runs.podSelector(object) };
      const [children, pods] = await Promise.all([childrenOf(client, object, dialect), listRunPods(client, scope)]);
      environment.out.write(dialect.runs.describe(object, { now: clock.now(), children: [...children, ...pods] }));
      environment.out.write(formatEvents(await eventsOf(client, object), clock.now()));
      return exitCode.succeeded;
    });
  },
});
