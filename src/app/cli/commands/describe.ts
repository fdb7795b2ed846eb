import type { Described, Dialect } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import { type Instant, textAt } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { KubeObject, ResourceType, Stored } from "#kernel/model/index.ts";
import { command, exitCode, UsageError, withSession } from "#kernel/command/index.ts";

interface DescribeOptions {
  readonly output?: "json" | "yaml";
}

/**
 * The dialect describes the run, the server has the events. The requests are not atomic: a moving run may change
 * between them.
 */
export const describeCommand = command<DescribeOptions>({
  name: "describe",
  args: ["<run...>"],
  shown: ["<run>"],
  summary: "Show the details and events of a run, a template or a schedule",
  group: "Runs",
  examples: [
    "slipway describe diamond",
    "slipway describe workflow diamond",
    "slipway describe diamond -o json",
    "slipway describe workflowtemplate greeting",
    "slipway describe swf nightly",
  ],
  options: [
    {
      flags: "-o, --output <format>",
      summary: "json or yaml, without events: the view of a run, or the object",
      choices: ["json", "yaml"],
    },
  ],
  completes: ["run"],
  async action(invocation) {
    const { findNamed, refuseMore } = await import("../runs.ts");
    const { eventsOf, formatEvents } = await import("../output/events.ts");
    const { tellTroubles } = await import("../server-state.ts");
    const { environment, clock, rest, options } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const { type, name, rest: more } = await findNamed({ client, namespace }, rest);
      refuseMore("describe takes one object", more);
      const who = await whoTellsOf(type);
      const object = await client.get({ type, namespace, name });
      const { text, data } = await pictureOf(client, object, who, clock.now());
      const link = options.output === undefined && "run" in who ? await linkTo(client, who.run, object) : "";
      if (options.output !== undefined) {
        environment.out.write(await formatData(data, options.output));
        return exitCode.succeeded;
      }
      environment.out.write(text);
      environment.out.write(link);
      environment.out.write(formatEvents(await eventsOf(client, object), clock.now()));
      await tellTroubles(client, environment);
      return exitCode.succeeded;
    });
  },
});

/** The page of the run, where the server has a web UI and this caller may read where it is. */
async function linkTo(client: ApiClient, dialect: Dialect, { metadata }: Stored): Promise<string> {
  const [{ aboutServer }, { pageAt, pageOfRun }] = await Promise.all([
    import("../server-state.ts"),
    import("../ui-link.ts"),
  ]);
  const url = textAt(await aboutServer(client), "url");
  if (url === undefined) return "";
  return `Web UI:     ${pageAt(url, pageOfRun(dialect.name, metadata.namespace ?? "default", metadata.name))}\n`;
}

/** What describes an object: the dialect of a run, or a kind's own description. */
type Teller = { readonly run: Dialect } | { readonly described: Described };

/** Checked before the object is read, so that an unsupported kind is reported whether or not the object exists. */
async function whoTellsOf(type: ResourceType): Promise<Teller> {
  const { describedOf, dialectOf } = await import("#app/runs/index.ts");
  const run = await dialectOf(type);
  if (run !== undefined) return { run };
  const described = await describedOf(type);
  if (described !== undefined) return { described };
  throw new UsageError(`objects of kind ${type.kind} are not runs`, "use kubectl describe for other kinds");
}

/** The description of an object, as text and as data. */
interface Picture {
  readonly text: string;
  /** The view of a run, with times in milliseconds since 1970; the object itself for other kinds. */
  readonly data: RunView | KubeObject;
}

/** Sends one request for each kind of children, and one for the Pods of a run, in parallel. */
async function pictureOf(client: ApiClient, object: Stored, teller: Teller, now: Instant): Promise<Picture> {
  const { childrenOf, controlledBy, neighboursOf } = await import("#app/runs/index.ts");
  if ("described" in teller) {
    const children = await controlledBy(client, object, teller.described.controls);
    return { text: await teller.described.describe(object, { now, children }), data: object };
  }
  const { listRunPods } = await import("#app/runs/index.ts");
  const { runs } = teller.run;
  const [made, pods, { found, hidden }] = await Promise.all([
    childrenOf(client, object, teller.run),
    listRunPods(client, teller.run, object),
    neighboursOf(client, object, teller.run),
  ]);
  const children = [...made, ...pods];
  return {
    text: runs.describe(object, { now, children: [...children, ...found], hidden }),
    data: runs.view(object, children),
  };
}

async function formatData(data: RunView | KubeObject, format: "json" | "yaml"): Promise<string> {
  const text = JSON.stringify(data, null, 2);
  if (format === "json") return `${text}\n`;
  const { writeYaml } = await import("#lib/yaml/index.ts");
  return writeYaml(JSON.parse(text));
}
