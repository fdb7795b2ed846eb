import { command, type CommandSpec, defaultDataDirectory, exitCode, UsageError } from "#kernel/command/index.ts";

interface AgentFlags {
  readonly machine?: string;
  readonly context?: string;
  readonly endpoint?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly fingerprint?: string;
  readonly oneshot?: boolean;
  readonly exitOnFailure?: boolean;
  readonly power: "off" | "real";
  readonly stateDir?: string;
  readonly markRunnable?: boolean;
  /** False with --no-shims. */
  readonly shims?: boolean;
}

/** Exits with 0, with 1 if the agent ends with an error, with 2 for wrong options. */
export const agentCommand: CommandSpec = command<AgentFlags>({
  name: "rebar agent",
  args: [],
  summary: "Run the jobs of a machine on this host, or in one of its contexts",
  group: "Control plane",
  examples: [
    "slipway rebar agent --machine 3e7031fe-5555-45f1-835c-92541bc9cbd3 --mark-runnable",
    "slipway rebar agent --machine 3e7031fe-5555-45f1-835c-92541bc9cbd3 --context build --oneshot",
  ],
  options: [
    { flags: "--machine <uuid>", summary: "machine to serve (default: $RS_UUID)" },
    { flags: "--context <name>", summary: "context whose jobs to run (default: $RS_CONTEXT, else the host's)" },
    { flags: "--endpoint <url>", summary: "server (default: $RS_ENDPOINT, else https://127.0.0.1:8092)" },
    { flags: "--token-file <file>", summary: "file with the token to present (default: $RS_TOKEN or $RS_KEY)" },
    { flags: "--ca <file>", summary: "authority that signs the server's certificate" },
    { flags: "--fingerprint <sha256>", summary: "fingerprint of the server's certificate" },
    { flags: "--oneshot", summary: "exit when there is nothing to run" },
    { flags: "--exit-on-failure", summary: "exit when a task or a request fails" },
    {
      flags: "--power <how>",
      summary: "off: exit instead of rebooting or powering off this host; real: do it",
      choices: ["off", "real"],
      initial: "off",
    },
    { flags: "--state-dir <folder>", summary: "the agent's own state (default: rebar-agent in the data directory)" },
    { flags: "--mark-runnable", summary: "make the machine runnable at the start" },
    { flags: "--no-shims", summary: "do not add drpcli, drpjq and jq to the PATH of scripts" },
  ],
  async action({ options, environment, clock, signal, process: own, host }) {
    const path = await import("node:path");
    const { readFile } = await import("node:fs/promises");
    const { readConnection } = await import("./connection.ts");
    const { openHostAgent } = await import("./open-agent.ts");
    const { variable, directory } = environment;
    const inFolder = (file: string) => path.resolve(directory, file);
    const machine = options.machine ?? variable("RS_UUID");
    if (machine === undefined || machine === "")
      throw new UsageError("--machine is required", "or set RS_UUID to the machine's UUID");
    const { endpoint, ca, fingerprint, tokenFile, stateDir } = options;
    const token = tokenFile === undefined ? undefined : (await readFile(inFolder(tokenFile), "utf8")).trim();
    const flags = defined({ endpoint, token, ca: ca === undefined ? undefined : inFolder(ca), fingerprint });
    const connection = await readConnection(flags, variable, (file) => readFile(file, "utf8"));
    if (!connection.ok) throw new UsageError(connection.error);
    const runnerDirectory = variable("RS_RUNNER_DIR");
    own.outliveOutputs();
    const error = await openHostAgent(
      {
        machine,
        context: options.context ?? variable("RS_CONTEXT") ?? "",
        isOneShot: options.oneshot === true,
        exitsOnFailure: options.exitOnFailure === true,
        marksRunnable: options.markRunnable === true,
        power: options.power,
        connection: connection.value,
        stateDirectory: inFolder(stateDir ?? path.join(defaultDataDirectory(environment), "rebar-agent")),
        ...(runnerDirectory === undefined ? {} : { runnerDirectory: inFolder(runnerDirectory) }),
        ...(options.shims === false ? {} : { shims: [process.execPath, process.argv[1] ?? "slipway"] }),
      },
      {
        environment: defined(environment.all),
        clock,
        log: await host.openLog("warn", environment.err.isTerminal),
        tell: (line) => environment.err.write(`${line}\n`),
        echo: (bytes) => environment.out.write(Buffer.from(bytes).toString("utf8")),
      },
      signal,
    );
    // Replaces the exit code of interrupted commands: supervisors stop agents.
    process.exitCode = error === undefined ? exitCode.succeeded : exitCode.failed;
    return process.exitCode;
  },
});

function defined<T>(members: Readonly<Record<string, T | undefined>>): Record<string, T> {
  const known: Record<string, T> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) known[name] = value;
  return known;
}
