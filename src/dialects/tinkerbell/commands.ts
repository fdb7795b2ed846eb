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

/** Of all verbs; absent flags were not given; those of `tinkOptions` are read apart. */
interface TinkOptions extends ClusterFlags {
  /** `name=value` each, checked when it is used. */
  readonly set?: string[];
  /** A file when there is one of this name, else the name of a machine. */
  readonly hardware?: string;
  /** Excludes the option above. */
  readonly allHardware?: boolean;
  /** Of `render` alone. */
  readonly output: "json" | "text" | "yaml";
}

/** Words instead of commands of their own, for the reasons of `actionWord`. */
const verbs = ["render", "rerender", "controller", "server"] as const;

/**
 * What only Tinkerbell's language has. `render` ends with 2 when something cannot be rendered, `rerender` with 1 when the
 * controller has refused it. `controller` and `server` are what `slipway up` is in one process, for a cluster.
 */
const tinkCommand = command<TinkOptions>({
  name: "tink",
  args: ["<action>", "[words...]"],
  summary:
    "Tinkerbell: render templates without running them, or a workflow anew; be controller or server of a cluster",
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
    { flags: "--hardware <name>", summary: "render: for this machine, of the files or of the server" },
    { flags: "--all-hardware", summary: "render: for every machine of the files, or else of the server's namespace" },
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
    if (rest.length === 0) throw new UsageError(`expected what to ${verb}`);
    return verb === "render" ? await render(invocation) : await rerender(invocation);
  },
});

/** One of the two that share a cluster and nothing else: one controller acts, whoever holds the lease; servers are as many as there are. */
async function serve(invocation: Invocation<TinkOptions>, part: "controller" | "server"): Promise<number> {
  const { options, environment } = invocation;
  const path = await import("node:path");
  const { hostname } = await import("node:os");
  const resolve = (file: string) => path.resolve(environment.directory, file);
  const given = readTinkOptions({ options, variable: environment.variable, resolve });
  if (!given.ok) throw new UsageError(given.error.join("\n"));
  const { listen, ...others } = given.value;
  // Somebody wants a server and no other part: an address that is taken is a failure, also the usual one.
  const listening = listen === undefined ? {} : { listen: { ...listen, isUsual: false } };
  if (part === "server" && listen === undefined)
    throw new UsageError("a server without an address: --tink-listen is off");
  return await invocation.host.serveCluster(invocation, {
    language: "tinkerbell",
    dialectOptions: { tinkerbell: { ...others, ...listening, part, name: hostname() } },
    ...(part === "controller" ? { leaseName: "slipway-tink-controller" } : { looksAt: ["agents", "workflows"] }),
  });
}

/**
 * Plans go to stdout, also when others cannot be made; everything that is wrong goes to stderr, all of it at once. The thread that renders is
 * started by the first template and ended with the command; a server is connected to only when something is wanted that no file holds.
 */
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

/** A fleet is a line for each machine unless data are asked for. */
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

/** Words that name objects of a server, as kubectl takes them. */
const storedTemplate = /^(?:tpl|templates?)(?:\.tinkerbell\.org)?\/([^/]+)$/;
const storedWorkflow = /^(?:twf|workflows?)(?:\.tinkerbell\.org)?\/([^/]+)$/;

/**
 * What the words of the command line ask for. A word is a file when there is one of this name, so that a folder called `tpl` stays
 * reachable; what cannot be read is a problem beside those of the others.
 */
async function requestOf(
  { rest, options, environment }: Invocation<TinkOptions>,
  values: Readonly<Record<string, string>>,
) {
  const { existsSync } = await import("node:fs");
  const path = await import("node:path");
  const { readSources } = await import("#kernel/command/index.node.ts");
  const { readStdin } = await import("#kernel/command/index.node.ts");
  const { directory } = environment;
  const isFile = (word: string): boolean => existsSync(path.resolve(directory, word));
  const names = (pattern: RegExp) => rest.flatMap((word) => (isFile(word) ? [] : (pattern.exec(word)?.[1] ?? [])));
  const read = async (paths: readonly string[]) => {
    const found = await readSources(paths, { directory, stdin: readStdin });
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

/**
 * One workflow or several, each by itself: one that is refused does not keep the others from being rendered. A kind before the name is taken
 * as people write it, and not looked at: there is only one kind that this can be done with.
 */
async function rerender(invocation: Invocation<TinkOptions>): Promise<number> {
  const { rest, environment, clock, signal } = invocation;
  const { withSession } = await import("#kernel/command/index.ts");
  const { formatInstant } = await import("#lib/base/index.ts");
  const { rerender: rerenderOne } = await import("./rerender.ts");
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

/** The dialect's own verbs. */
export const commands: readonly CommandSpec[] = [agentCommand, tinkCommand];
