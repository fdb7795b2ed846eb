import { hasErrors, type JsonValue } from "#lib/base/index.ts";
import {
  type ClusterFlags,
  clusterOptions,
  type CommandSpec,
  command,
  exitCode,
  type Invocation,
  type Session,
  UsageError,
} from "#kernel/command/index.ts";
import { agentCommand } from "./commands/agent.ts";
import { readTinkOptions, tinkOptions } from "./options.ts";
import type { Preview } from "./preview/preview.ts";
import type { PreviewRequest } from "./preview/request.ts";

interface TinkOptions extends ClusterFlags {
  readonly set?: string[];
  /** A file if one of this name exists, else the name of a machine. */
  readonly hardware?: string;
  readonly allHardware?: boolean;
  readonly output: "json" | "text" | "yaml";
}

const verbs = ["render", "rerender", "controller", "server"] as const;

/**
 * `render` exits with 2 if something cannot be rendered, `rerender` with 1 if the controller refused. `controller` and
 * `server` are the parts of `slipway up`, for a cluster.
 */
const tinkCommand = command<TinkOptions>({
  name: "tink",
  args: ["<action>", "[words...]"],
  summary: "Tinkerbell: render templates, render a workflow again, or serve a cluster",
  group: "Documents",
  examples: [
    "slipway tink render examples/tinkerbell/fleet.yaml",
    "slipway tink render template.yaml --hardware machine.yaml --set image=ubuntu",
    "slipway tink render tpl/ubuntu --all-hardware",
    "slipway tink render twf/provision-1",
    "slipway tink rerender provision-1",
    "slipway tink controller --kubeconfig cluster.kubeconfig",
    "slipway tink server --kubeconfig cluster.kubeconfig --tink-listen 192.0.2.7:42113",
  ],
  options: [
    { flags: "--set <name=value>", summary: "render: a value of the workflow; may be repeated", repeatable: true },
    { flags: "--hardware <name>", summary: "render: for this machine, from the files or the server" },
    { flags: "--all-hardware", summary: "render: for every machine of the files, or else of the namespace" },
    {
      flags: "-o, --output <format>",
      summary: "render: text, or as data: yaml or json",
      choices: ["text", "yaml", "json"],
      initial: "text",
    },
    ...clusterOptions,
    ...tinkOptions,
  ],
  completes: [verbs, "file"],
  async action(invocation) {
    const { args, rest } = invocation;
    const { actionWord } = await import("#kernel/command/index.ts");
    const verb = actionWord(verbs, args[0] ?? "");
    if (verb === "controller" || verb === "server") {
      if (rest.length > 0) throw new UsageError(`${verb} takes no words, found ${rest.join(" ")}`);
      return await serve(invocation, verb);
    }
    if (rest.length === 0) throw new UsageError(`name what to ${verb}: a file, tpl/NAME or workflow/NAME`);
    return verb === "render" ? await render(invocation) : await rerender(invocation);
  },
});

/** The two share only the cluster: one controller holds a lease and acts; servers may be many. */
async function serve(invocation: Invocation<TinkOptions>, part: "controller" | "server"): Promise<number> {
  const { options, environment } = invocation;
  const path = await import("node:path");
  const { hostname } = await import("node:os");
  const resolve = (file: string) => path.resolve(environment.directory, file);
  const given = readTinkOptions({ options, variable: environment.variable, resolve });
  if (!given.ok) throw new UsageError(given.error.join("\n"));
  const { listen, ...others } = given.value;
  // A server is asked for explicitly, so a taken default port is an error.
  const listening = listen === undefined ? {} : { listen: { ...listen, isUsual: false } };
  if (part === "server" && listen === undefined)
    throw new UsageError("a server without an address: --tink-listen is off");
  return await invocation.host.serveCluster(invocation, {
    language: "tinkerbell",
    dialectOptions: { tinkerbell: { ...others, ...listening, part, name: hostname() } },
    ...(part === "controller" ? { leaseName: "slipway-tink-controller" } : { looksAt: ["agents", "workflows"] }),
  });
}

/** Writes plans to stdout and all problems to stderr. Connects to a server only for objects that no file holds. */
async function render(invocation: Invocation<TinkOptions>): Promise<number> {
  const { options, environment, signal } = invocation;
  if (options.hardware !== undefined && options.allHardware === true)
    throw new UsageError("--hardware and --all-hardware exclude each other");
  const { readParams } = await import("#kernel/command/index.ts");
  const { printProblems } = await import("#kernel/command/index.ts");
  const { previewTemplates } = await import("./preview/request.ts");
  const params = readParams(options.set ?? [], "--set");
  const { request, problems } = await requestOf(invocation, params.values);
  if (printProblems([...params.problems, ...problems], environment.err)) return exitCode.usage;
  const renderer = await invocation.host.openTemplates();
  let session: Session | undefined;
  const server = async () => (session ??= await invocation.connect());
  try {
    const answer = await previewTemplates(request, { renderer, server, signal });
    environment.out.write(await formatted(answer.previews, options));
    printProblems(answer.problems, environment.err);
    return hasErrors(answer.problems) ? exitCode.usage : exitCode.succeeded;
  } finally {
    await session?.close();
    await renderer.close();
  }
}

/** With --all-hardware one line per machine, unless data is asked for. */
async function formatted(previews: readonly Preview[], { output, allHardware }: TinkOptions): Promise<string> {
  if (output === "json") return `${JSON.stringify(previews, null, 2)}\n`;
  if (output === "yaml") {
    const { writeYaml } = await import("#lib/yaml/index.ts");
    return writeYaml(JSON.parse(JSON.stringify(previews)) as JsonValue, { keys: "given" });
  }
  const { fleetText, previewText } = await import("./preview/text.ts");
  if (allHardware === true) return fleetText(previews);
  return previews
    .filter(({ tasks }) => tasks !== undefined)
    .map((preview) => previewText(preview))
    .join("\n");
}

const storedTemplate = /^(?:tpl|templates?)(?:\.tinkerbell\.org)?\/([^/]+)$/;
const storedWorkflow = /^(?:twf|workflows?)(?:\.tinkerbell\.org)?\/([^/]+)$/;

/** The request of the command line. A word is a file if one of this name exists. */
async function requestOf(
  { rest, options, environment }: Invocation<TinkOptions>,
  values: Readonly<Record<string, string>>,
) {
  const { existsSync } = await import("node:fs");
  const path = await import("node:path");
  const { readSources } = await import("#kernel/command/index.node.ts");
  const { directory } = environment;
  const isFile = (word: string): boolean => existsSync(path.resolve(directory, word));
  const names = (pattern: RegExp) => rest.flatMap((word) => (isFile(word) ? [] : (pattern.exec(word)?.[1] ?? [])));
  const read = async (paths: readonly string[]) => {
    const found = await readSources(paths, { directory });
    return {
      sources: found.flatMap((source) => ("text" in source ? [source] : [])),
      problems: found.flatMap((source) => ("problem" in source ? [source.problem] : [])),
    };
  };
  const files = await read(
    rest.filter((word) => isFile(word) || !(storedTemplate.test(word) || storedWorkflow.test(word))),
  );
  const { hardware, allHardware } = options;
  const machines = hardware !== undefined && isFile(hardware) ? await read([hardware]) : undefined;
  const chosen: PreviewRequest["machines"] | undefined =
    allHardware === true ? "all" : hardware === undefined ? undefined : (machines ?? { named: hardware });
  const request: PreviewRequest = {
    sources: files.sources,
    stored: { templates: names(storedTemplate), workflows: names(storedWorkflow) },
    values,
    ...(chosen === undefined ? {} : { machines: chosen }),
  };
  return { request, problems: [...files.problems, ...(machines?.problems ?? [])] };
}

/** Renders each workflow by itself: a refused one does not stop the others. A kind before the name is ignored. */
async function rerender(invocation: Invocation<TinkOptions>): Promise<number> {
  const { rest, environment, clock, signal } = invocation;
  const { withSession } = await import("#kernel/command/index.ts");
  const { formatInstant } = await import("#lib/base/index.ts");
  const { rerender: rerenderOne } = await import("./commands/rerender.ts");
  return await withSession(invocation, async ({ client, namespace }) => {
    let code: number = exitCode.succeeded;
    for (const word of rest) {
      const name = word.replace(/^.*\//, "");
      const value = formatInstant(clock.now());
      const { isDone, message } = await rerenderOne(client, { namespace, name }, { clock, signal, value });
      if (isDone) environment.out.write(`workflow/${name} rendered\n`);
      else {
        environment.err.write(`slipway: workflow/${name}: ${message}\n`);
        code = exitCode.failed;
      }
    }
    return code;
  });
}

export const commands: readonly CommandSpec[] = [agentCommand, tinkCommand];
