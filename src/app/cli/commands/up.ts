import { resolve } from "node:path";
import { aborted, type Clock } from "#lib/base/index.ts";
import { dialects } from "#dialects/index.ts";
import {
  command,
  dataDirectoryOf,
  defaultDataDirectory,
  type Environment,
  exitCode,
  hostEnvironment,
  type Invocation,
  UsageError,
} from "#kernel/command/index.ts";
import { expectPort, parseListenAddress, parseServerName, parseSize } from "../up-options.ts";
import { readDialectOptions } from "../dialect-options.ts";
import type { Served } from "../output/greeting.ts";

/** Absent flags were not given; options of dialects are read separately. Paths are as typed. */
interface UpOptions {
  readonly detach?: boolean;
  readonly dataDir?: string;
  /** On loopback; when absent, the first free port. */
  readonly port?: number;
  readonly listen?: readonly string[];
  readonly name?: readonly string[];
  readonly kubeconfig?: string;
  /** When absent, Secrets are stored unencrypted. */
  readonly encryptionKeyFile?: string;
  readonly hideLogsFromViewers?: boolean;
  /** For containers; host processes are never privileged. */
  readonly allowPrivileged?: boolean;
  /** Quantities of bytes, as for resources of a Pod. */
  readonly maxArtifactSize: string;
  readonly maxArtifactsSize: string;
  readonly maxEvents: number;
  readonly runtime: "process" | "docker";
  readonly logLevel: "error" | "warn" | "info" | "debug";
  /** For the line on stdout; does not change the log on stderr. */
  readonly output?: "json";
}

/** The port of Kubernetes' API server. If it is taken, the next hundred are tried, unless a port was named. */
const firstPort = 6443;

/**
 * Serves until interrupted; running steps continue, and the next `up` on the directory adopts them. Exits with 0 after
 * a signal, with 4 for a corrupt store, with 5 when the disk failed, and with 1 for everything else.
 */
export const upCommand = command<UpOptions>({
  name: "up",
  args: [],
  summary: "Start a control plane that kubectl can use",
  group: "Control plane",
  examples: [
    "slipway up",
    "slipway up --data-dir ./state --port 7443 --kubeconfig ./kubeconfig",
    "slipway up --listen 192.0.2.7 --name build.example",
    "slipway up --detach",
  ],
  options: [
    { flags: "--detach", summary: "return when the server is ready; slipway down stops it" },
    { flags: "--data-dir <folder>", summary: "data directory (default: $SLIPWAY_DATA_DIR or ~/.slipway)" },
    {
      flags: "--port <number>",
      summary: `port on 127.0.0.1; 0 for any (default: ${firstPort} or the next free one)`,
      integer: true,
    },
    {
      flags: "--listen <address>",
      summary: "also listen at ADDRESS[:PORT], such as 0.0.0.0; may be repeated",
      repeatable: true,
    },
    { flags: "--name <name>", summary: "name or address for the certificate; may be repeated", repeatable: true },
    { flags: "--kubeconfig <file>", summary: "kubeconfig to write (default: in the data directory)" },
    {
      flags: "--encryption-key-file <file>",
      summary: "encrypt Secrets with this key: 32 bytes as base64, then older keys",
    },
    { flags: "--hide-logs-from-viewers", summary: "hide logs from members of slipway:viewers" },
    {
      flags: "--runtime <name>",
      summary: "where steps run: as host processes or in containers ($DOCKER_HOST)",
      choices: ["process", "docker"],
      initial: "process",
    },
    { flags: "--max-artifact-size <size>", summary: "maximum size of one artifact, as stored", initial: "2Gi" },
    { flags: "--max-artifacts-size <size>", summary: "maximum size of the artifacts of all runs", initial: "20Gi" },
    {
      flags: "--max-events <count>",
      summary: "maximum number of Events, which are deleted after an hour",
      integer: true,
      initial: 10_000,
    },
    { flags: "--allow-privileged", summary: "allow privileged containers; users who can create Pods become root" },
    {
      flags: "--log-level <level>",
      summary: "log level",
      choices: ["error", "warn", "info", "debug"],
      initial: "info",
    },
    {
      flags: "-o, --output <format>",
      summary: "print the address and paths of the server as one line of JSON",
      choices: ["json"],
    },
    ...dialects.flatMap(({ serverOptions }) => serverOptions?.specs ?? []),
  ],
  async action({ options, environment, clock, signal, process: own }) {
    const { port } = options;
    if (port !== undefined) expectPort(port);
    if (options.maxEvents < 1) throw new UsageError("--max-events must be 1 or more");
    const listen = (options.listen ?? []).map(parseListenAddress);
    const names = (options.name ?? []).map(parseServerName);
    const artifactLimits = {
      each: parseSize("--max-artifact-size", options.maxArtifactSize),
      total: parseSize("--max-artifacts-size", options.maxArtifactsSize),
    };
    const absolute = (file: string) => resolve(environment.directory, file);
    const { noteDirectories } = await import("#kernel/command/index.node.ts");
    const { variable } = environment;
    const { runtime, logLevel: level } = options;
    const dialectOptions = await readDialectOptions(
      { options, variable, resolve: absolute, environment, runtime },
      "up",
    );
    const directory = dataDirectoryOf(environment, options.dataDir);
    const kubeconfig = absolute(options.kubeconfig ?? `${directory}/kubeconfig`);
    const isFound = kubeconfig === `${defaultDataDirectory(environment)}/kubeconfig`;
    if (options.detach === true) {
      const { startDetached } = await import("../detached-server.ts");
      const { facts, log } = await startDetached(directory, environment, signal);
      await greet({ ...facts, isFound, log }, options, { environment, clock, signal });
      return exitCode.succeeded;
    }
    own.outliveOutputs();
    const { serve } = await import("#app/server/index.ts");
    const { version } = await import("../version.ts");
    const serving = serve({
      directory,
      ports: port === undefined ? { first: firstPort, tries: 100 } : { first: port, tries: 1 },
      listen,
      names,
      kubeconfig,
      ...(options.encryptionKeyFile === undefined ? {} : { encryptionKeyFile: absolute(options.encryptionKeyFile) }),
      hideLogsFromViewers: options.hideLogsFromViewers === true,
      allowPrivileged: options.allowPrivileged === true,
      artifactLimits,
      notes: noteDirectories(environment),
      maxEvents: options.maxEvents,
      dialectOptions,
      clock,
      version,
      level,
      isTerminal: environment.err.isTerminal,
      environment: hostEnvironment(environment),
      signal,
      ...(runtime === "docker" ? { docker: environment } : {}),
    });
    const server = await serving.catch((thrown: unknown) => {
      if (thrown !== signal.reason) throw thrown;
      return undefined;
    });
    if (server === undefined) return asAsked();
    const { url, listening, ports } = server;
    const facts = { version, url, listening, ports, directory, kubeconfig, runtime: server.runtime, pid: process.pid };
    await greet({ ...facts, isFound }, options, { environment, clock, signal });
    const failure = await untilStopped(server, signal, () =>
      environment.err.write("slipway: stopping; running steps continue\n"),
    );
    return failure?.code ?? asAsked();
  },
});

/** Prints the server on stdout, and next steps on a terminal. */
async function greet(
  served: Served,
  { output }: UpOptions,
  { environment, clock, signal }: Pick<Invocation<UpOptions>, "environment" | "clock" | "signal">,
): Promise<void> {
  const { out, err } = environment;
  const { isFound: _isFound, ...facts } = served;
  if (output === "json") return out.write(`${JSON.stringify(facts)}\n`);
  const { greeting, nextSteps } = await import("../output/greeting.ts");
  const { paintFor } = await import("#kernel/command/index.node.ts");
  out.write(greeting(served, paintFor(out.color)));
  if (!err.isTerminal) return;
  // The server works without the link, and `slipway ui` says what is wrong.
  const link = await uiLink(served, environment, clock, signal).catch(() => undefined);
  err.write(nextSteps(served, paintFor(err.color), link));
}

async function uiLink({ kubeconfig }: Served, environment: Environment, clock: Clock, signal: AbortSignal) {
  const [{ findConnection }, { requestLink }] = await Promise.all([import("../connect.ts"), import("../ui-link.ts")]);
  const connection = await findConnection({ kubeconfig }, environment, clock, signal);
  return (await requestLink(connection, "/", { clock, signal })).link;
}

type Server = Awaited<ReturnType<typeof import("#app/server/index.ts").serve>>;

/**
 * Waits for the signal or a failure of the server, and closes it; running steps continue. Returns the failure, if any.
 */
async function untilStopped(server: Server, signal: AbortSignal, say: () => void) {
  const failure = await Promise.race([aborted(signal).then(() => undefined), server.failed]);
  if (failure === undefined) say();
  await server.close();
  return failure;
}

/** A server that stopped as requested succeeded: its exit code is 0, not the signal's. */
function asAsked(): number {
  process.exitCode = exitCode.succeeded;
  return exitCode.succeeded;
}
