import { command, defaultDataDirectory, exitCode, type OptionSpec, UsageError } from "#kernel/command/index.ts";
import { agentOptions, type OptionRow, readAgentOptions } from "../agent/agent-options.ts";

const memberOf = (option: string): string => option.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** No initial values, because a variable may set an option. */
const options: readonly OptionSpec[] = Object.entries(agentOptions).map(
  ([name, { value, summary, choices }]: readonly [string, OptionRow]) => ({
    flags: value === undefined ? `--${name}` : `--${name} <${value}>`,
    summary,
    ...(choices === undefined ? {} : { choices }),
  }),
);

/**
 * Runs until a signal and then exits with 0, so that a supervisor sees no failure. The running action goes on and the
 * next agent with the same directory adopts it. Exits with 2 for wrong options, 1 if it cannot start.
 */
export const agentCommand = command<object>({
  name: "agent",
  args: [],
  summary: "Run Tinkerbell workflows on this machine",
  group: "Control plane",
  examples: [
    "slipway agent --server provision.example:42113",
    "slipway agent --server provision.example:42113 --id 52:54:00:12:34:56 --tls",
    "slipway agent --id node-7 --runtime host",
  ],
  options,
  async action({ options: given, environment, clock, signal, process: own, host }) {
    const { defaultAgentId } = await import("../agent/default-id.ts");
    const { openAgent } = await import("../agent/open-agent.ts");
    const path = await import("node:path");
    const { readFile } = await import("node:fs/promises");
    const { variable, home } = environment;
    const flags = new Map<string, unknown>(Object.entries(given));
    const read = await readAgentOptions(
      {
        flag: (option) => {
          const value = flags.get(memberOf(option));
          return typeof value === "string" || typeof value === "boolean" ? value : undefined;
        },
        variable,
      },
      {
        id: await defaultAgentId(),
        directory: path.join(defaultDataDirectory(environment), "agent"),
        resolve: (file) => path.resolve(environment.directory, file),
        readText: (file) => readFile(file, "utf8"),
      },
    );
    if (!read.ok) throw new UsageError(read.error.message, read.error.hint);
    const { isTerminal } = environment.err;
    own.outliveOutputs();
    const { noteDirectories } = await import("#kernel/command/index.node.ts");
    const notes = noteDirectories(environment);
    const log = await host.openLog(read.value.logLevel, isTerminal);
    const surroundings = {
      version: host.version,
      runnerPath: await host.runnerPath(),
      notes,
      variable,
      home,
      clock,
      log,
    };
    await openAgent(read.value, surroundings, signal);
    // Replaces the exit code of interrupted commands.
    process.exitCode = exitCode.succeeded;
    return exitCode.succeeded;
  },
});
