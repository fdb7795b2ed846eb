import type { RunView } from "#engine/index.ts";
import { command } from "../command.ts";
import { exitCode } from "../exit-codes.ts";

/** Absent: text for people. */
interface DescribeOptions {
  readonly output?: "json" | "yaml";
}

/**
 * The dialect tells of the run in its own words; the events are the server's. Read in several requests that are not of
 * one moment: what is told of a run that moves may be a moment apart.
 */
export const describeCommand = command<DescribeOptions>({
  name: "describe",
  args: ["<run...>"],
  summary: "Tell all about a run: its steps in order, what each waits for, and its events",
  group: "Runs",
  examples: ["slipway describe diamond", "slipway describe workflow diamond", "slipway describe diamond -o json"],
  options: [
    {
      flags: "-o, --output <format>",
      summary: "the same as data: json or yaml, without events",
      choices: ["json", "yaml"],
    },
  ],
  completes: ["run"],
  async action(invocation) {
    const { withSession } = await import("../session.ts");
    const { childrenOf, findRun } = await import("../runs.ts");
    const { listRunPods } = await import("../run-pods.ts");
    const { eventsOf, formatEvents } = await import("../output/events.ts");
    const { environment, clock, rest, options } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const { type, name, dialect } = await findRun(client, rest);
      const object = await client.get({ type, namespace, name });
      const scope = { namespace, labelSelector: dialect.runs.podSelector(object) };
      const [children, pods] = await Promise.all([childrenOf(client, object, dialect), listRunPods(client, scope)]);
      const all = [...children, ...pods];
      if (options.output !== undefined) {
        environment.out.write(await formatView(dialect.runs.view(object, all), options.output));
        return exitCode.succeeded;
      }
      environment.out.write(dialect.runs.describe(object, { now: clock.now(), children: all }));
      environment.out.write(formatEvents(await eventsOf(client, object), clock.now()));
      return exitCode.succeeded;
    });
  },
});

/** The picture of the run that every face draws from; its times are milliseconds since 1970. */
async function formatView(view: RunView, format: "json" | "yaml"): Promise<string> {
  const text = JSON.stringify(view, null, 2);
  if (format === "json") return `${text}\n`;
  const { writeYaml } = await import("#lib/yaml/index.ts");
  return writeYaml(JSON.parse(text));
}
