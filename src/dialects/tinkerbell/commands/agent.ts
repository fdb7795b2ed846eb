import { command, defaultDataDirectory, exitCode, UsageError } from "#kernel/command/index.ts";

/**
 * Absent flags were not given: then a variable may say it, ours or one of released agents. That is why no flag has a value of its own
 * here: what was said by nobody is decided where variables are known, and there all of it is checked.
 */
interface AgentOptions {
  /** Opaque to servers and to us. */
  readonly id?: string;
  /** With its port. */
  readonly server?: string;
  /** Containers where nobody says otherwise: an action is written for its image. */
  readonly runtime?: string;
  readonly tls?: boolean;
  readonly tlsCa?: string;
  readonly tlsInsecure?: boolean;
  /** Both or neither. */
  readonly cert?: string;
  readonly key?: string;
  /** A file, and not the token: command lines are seen by everybody on the machine. */
  readonly tokenFile?: string;
  readonly stateDir?: string;
  readonly pull?: string;
  /** With a value, because it is on by itself: provisioning a machine takes all of it. */
  readonly privileged?: string;
  /** In Go's syntax. */
  readonly stopGrace?: string;
  /** The login is told to this registry and to no other. */
  readonly registry?: string;
  readonly registryUser?: string;
  readonly registryPasswordFile?: string;
  readonly killOnExit?: boolean;
  /** Of the agent's own log on stderr. What actions print is not in it. */
  readonly logLevel?: string;
}

/** `tls-ca` is `tlsCa`, as commander has it. */
const memberOf = (option: string): string => option.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/**
 * Carries out workflows until a signal, which is how an agent ends: with 0, so that a supervisor does not take it for a failure. The action
 * that runs goes on, and the next `agent` on the directory takes it up. Ends with 2 for wrong options, and with 1 when it cannot begin.
 */
export const agentCommand = command<AgentOptions>({
  name: "agent",
  args: [],
  summary: "Carry out Tinkerbell workflows on this machine",
  group: "Control plane",
  examples: [
    "slipway agent --server provision.example:42113",
    "slipway agent --server provision.example:42113 --id 52:54:00:12:34:56 --tls",
    "slipway agent --id node-7 --runtime host",
  ],
  options: [
    { flags: "--server <host:port>", summary: "the server (default: your own on this machine)" },
    {
      flags: "--id <id>",
      summary: "the name of this machine to templates (default: the MAC address that leads to the default route)",
    },
    {
      flags: "--runtime <name>",
      summary: "where actions run: in containers (default), or as processes of this machine, for trying workflows out",
      choices: ["docker", "host"],
    },
    { flags: "--tls", summary: "speak TLS to the server" },
    { flags: "--tls-ca <file>", summary: "who signs the server's certificate (default: the authorities of Node.js)" },
    { flags: "--tls-insecure", summary: "take any certificate of the server" },
    { flags: "--cert <file>", summary: "the certificate to show to the server" },
    { flags: "--key <file>", summary: "its key" },
    { flags: "--token-file <file>", summary: "file of the token for the server (default: your own server's)" },
    {
      flags: "--state-dir <folder>",
      summary: "journal and logs of actions (default: agent in $SLIPWAY_DATA_DIR or ~/.slipway)",
    },
    {
      flags: "--pull <when>",
      summary: "when images are fetched: always (default), missing or never",
      choices: ["always", "missing", "never"],
    },
    {
      flags: "--privileged <bool>",
      summary: "give containers the rights of root on this machine (default: true)",
      choices: ["true", "false"],
    },
    { flags: "--stop-grace <duration>", summary: "time to end in, of an action that is stopped (default: 10s)" },
    { flags: "--registry <host>", summary: "the registry that the login is for" },
    { flags: "--registry-user <name>", summary: "who logs in there" },
    { flags: "--registry-password-file <file>", summary: "and the password" },
    { flags: "--kill-on-exit", summary: "end the action that runs with the agent; otherwise it goes on" },
    {
      flags: "--log-level <level>",
      summary: "what is logged: error, warn, info (default) or debug",
      choices: ["error", "warn", "info", "debug"],
    },
  ],
  async action({ options, environment, clock, signal, process: own, host }) {
    const { loadAgent } = await import("../dialect.ts");
    const { readAgentOptions, defaultAgentId, openAgent } = await loadAgent();
    const path = await import("node:path");
    const { readFile } = await import("node:fs/promises");
    const { variable, home } = environment;
    // Options are looked up by the names that the agent has for them, of which variables are made, too.
    const flags = new Map<string, unknown>(Object.entries(options));
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
    // The signal has set a code of its own, which is right for commands that were interrupted.
    process.exitCode = exitCode.succeeded;
    return exitCode.succeeded;
  },
});
