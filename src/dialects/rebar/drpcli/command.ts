import { command, type CommandSpec, exitCode, type Invocation } from "#kernel/command/index.ts";

const variablesOf = (all: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

async function stdin(): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The original's client, as far as scripts and people use it. Exits with 0 or 1, as that does. */
const drpcliCommand: CommandSpec = command<object>({
  name: "rebar drpcli",
  args: ["[words...]"],
  summary: "Run a drpcli command line, after --",
  group: "Documents",
  examples: [
    "slipway rebar drpcli -- machines list Stage=none",
    "slipway rebar drpcli -- machines set Name:m1 param owner to anna",
  ],
  options: [],
  async action({ rest, environment, clock, signal }: Invocation<object>) {
    const { runDrpcli } = await import("./cli.ts");
    const { variable, all, directory, err } = environment;
    return await runDrpcli(rest, {
      variable,
      environment: variablesOf(all),
      directory,
      clock,
      signal,
      readStdin: stdin,
      out: (text) => void process.stdout.write(text),
      err: (text) => err.write(text),
    });
  },
});

const jqCommand: CommandSpec = command<object>({
  name: "rebar jq",
  args: ["[words...]"],
  summary: "Run a jq command line, after --",
  group: "Documents",
  examples: ["slipway rebar jq -- -r .Name machine.json"],
  options: [],
  async action({ rest, environment }: Invocation<object>) {
    const path = await import("node:path");
    const { readFile } = await import("node:fs/promises");
    const { runJq } = await import("./jq.ts");
    const { out, err, code } = await runJq(rest, {
      readText: (file) => readFile(path.resolve(environment.directory, file), "utf8"),
      readStdin: async () => (await stdin()).toString("utf8"),
    });
    environment.out.write(out);
    environment.err.write(err);
    return code;
  },
});

const bundleCommand: CommandSpec = command<{ readonly meta?: string[]; readonly file?: string }>({
  name: "rebar bundle",
  args: ["<folder>"],
  summary: "Print the content bundle that a folder holds",
  group: "Documents",
  examples: ["slipway rebar bundle content", "slipway rebar bundle content --file content.yaml --meta Version=v1.2.0"],
  options: [
    { flags: "--file <file>", summary: "write it to a .yaml or .json file instead" },
    { flags: "--meta <name=value>", summary: "metadata that no file sets; may be repeated", repeatable: true },
  ],
  completes: ["file"],
  async action({ args: [folder = ""], options: { meta = [], file }, environment }) {
    const path = await import("node:path");
    const { writeFile } = await import("node:fs/promises");
    const { readParams, printProblems } = await import("#kernel/command/index.ts");
    const { bundleOf, formattedBundle } = await import("./bundle.ts");
    const given = readParams(meta, "--meta");
    if (printProblems(given.problems, environment.err)) return exitCode.usage;
    const content = await bundleOf(path.resolve(environment.directory, folder), given.values);
    if (file === undefined) environment.out.write(formattedBundle(content, "bundle.yaml"));
    else await writeFile(path.resolve(environment.directory, file), formattedBundle(content, file));
    return exitCode.succeeded;
  },
});

const unbundleCommand: CommandSpec = command<object>({
  name: "rebar unbundle",
  args: ["<file>", "<folder>"],
  summary: "Write a content bundle into a folder, a file for each object",
  group: "Documents",
  examples: ["slipway rebar unbundle content.yaml content"],
  options: [],
  completes: ["file", "file"],
  async action({ args: [file = "", folder = ""], environment }) {
    const path = await import("node:path");
    const { readFile } = await import("node:fs/promises");
    const { readDocument, unbundle } = await import("./bundle.ts");
    const content = readDocument(await readFile(path.resolve(environment.directory, file), "utf8"), file);
    await unbundle(content, path.resolve(environment.directory, folder), file.endsWith(".json"));
    return exitCode.succeeded;
  },
});

/** For the dialect's list of commands. */
export const drpcliCommands: readonly CommandSpec[] = [drpcliCommand, jqCommand, bundleCommand, unbundleCommand];
