import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, type Logger, messageOf, type Millis, SlipwayError, sleep } from "#lib/base/index.ts";
import { makeDirectories, systemRandom, acquireLock, isHeld } from "#lib/base/index.node.ts";
import { present } from "../members.ts";
import type { RpcChannelOptions } from "#kernel/rpc/index.ts";
import { createProcessRuntime, openContainerEngine, type Runtime } from "#kernel/runtimes/index.ts";
import type { AgentSettings } from "./agent-options.ts";
import type { ActionRuntime } from "./action-runtime.ts";
import { retryDelay } from "./backoff.ts";
import { DockerRuntime } from "./docker-runtime.ts";
import { HostRuntime } from "./host-runtime.ts";
import { findServer, type ServerPlace } from "./find-server.ts";
import { fileJournal } from "./journal.ts";
import { LogPusher } from "./log-pusher.ts";
import { describeMachine } from "./machine.ts";
import { runAgent } from "./run-agent.ts";
import { streamClient } from "./stream-client.ts";

export interface AgentSurroundings {
  readonly version?: string;
  /** The runner's bundle, for actions as processes. */
  readonly runnerPath: string;
  /** Replaces that runner: its processes end with this one. Closed by the agent. */
  readonly processes?: Runtime;
  readonly notes: readonly string[];
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Detects an unplugged server in half a minute and keeps idle streams open through firewalls. */
const keepalive = { time: 20_000, timeout: 10_000 } as const;
/** Longer than DNS and a slow handshake, short enough to try the next address. */
const connectLimit: Millis = 10_000;

/** Runs an agent until the signal aborts. Rejects if another agent has the directory or the journal is unreadable. */
export async function openAgent(
  settings: AgentSettings,
  around: AgentSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { directory, id, server = "of this user" } = settings;
  const { clock, log } = around;
  const lock = await makeDirectories(directory, 0o700)
    .then(() => acquireLock(join(directory, "agent.lock")))
    .catch((thrown: unknown) => {
      throw directoryUnusable(directory, thrown);
    });
  if (!isHeld(lock)) throw agentRunning(directory);

  try {
    log.info("agent", { id, server, runtime: settings.runtime, directory });
    const opened =
      settings.runtime === "docker"
        ? await openDocker(settings, around, systemRandom, signal)
        : openHost(settings, around);
    // Aborted before the engine answered; nothing was started.
    if (opened === undefined) return;
    const { stopGrace, killsOnExit } = settings;
    const journal = fileJournal(directory);
    let place: ServerPlace | undefined;
    const client = streamClient({
      agentId: id,
      instance: randomUUID(),
      ...present({ version: around.version }),
      runtime: settings.runtime,
      attributes: describeMachine,
      async channel(until) {
        place = await findServer(settings, around, until);
        return await channelTo(place.address, settings, clock);
      },
      token: () => tokenIn(place?.tokenFile),
    });
    const logs = new LogPusher({ directory, clock, random: systemRandom, log });
    await runAgent(
      {
        server: client,
        runtime: opened.runtime,
        logs,
        journal,
        stopGrace,
        killsOnExit,
        clock,
        random: systemRandom,
        log,
      },
      signal,
    );
    await opened.close();
  } finally {
    await lock.release();
  }
}

/** Two agents with one journal would run everything twice. */
const agentRunning = (directory: string): SlipwayError =>
  new SlipwayError("agent-running", `another agent is running on ${directory}`, {
    hint: "stop it first, or use another directory with --state-dir",
  });

/** A supervisor retries: a full disk may have room then, and the running action goes on. */
const directoryUnusable = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("agent-directory", `cannot keep the agent's journal in ${directory}: ${messageOf(cause)}`, {
    hint: "name a directory that this user may write to with --state-dir",
    cause,
  });

interface Opened {
  readonly runtime: ActionRuntime;
  /** Running actions go on. */
  readonly close: () => Promise<void>;
}

/** Waits for the engine, which may still be starting after a boot. */
async function openDocker(
  { id, directory, pull, isPrivileged, registry }: AgentSettings,
  { variable, home, clock, log }: AgentSurroundings,
  random: () => number,
  signal: AbortSignal,
): Promise<Opened | undefined> {
  const engine = await openContainerEngine({ variable, home }, clock);
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      log.info("actions run in containers", { engine: engine.address, version: await engine.version() });
      const login = registry === undefined ? {} : { login: registry };
      const runtime = new DockerRuntime({ engine, agentId: id, directory, pull, isPrivileged, ...login, clock, log });
      return { runtime, close: async () => engine.close() };
    } catch (thrown) {
      const hint = thrown instanceof SlipwayError && thrown.hint !== undefined ? { hint: thrown.hint } : {};
      log.error("the container engine does not answer, waiting for it", { error: messageOf(thrown), ...hint });
      await sleep(clock, retryDelay(failures, random), signal).catch(() => undefined);
    }
  }
  engine.close();
  return undefined;
}

/** The runner starts with the first action, or is adopted from an earlier agent. */
function openHost({ directory }: AgentSettings, around: AgentSurroundings): Opened {
  const { runnerPath, variable, home, clock, log } = around;
  log.warn("actions run as processes of this machine, and their images are not looked at");
  const place = join(directory, "runner");
  const processes =
    around.processes ?? createProcessRuntime({ directory: place, runnerPath, nodePath: process.execPath, clock, log });
  const inherited = {
    PATH: variable("PATH") ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: home,
  };
  const runtime = new HostRuntime({ processes, directory, inherited, clock });
  return { runtime, close: () => processes.close() };
}

/** Read again for each connection, so that certificates can be replaced. A missing file fails the connection. */
async function channelTo(address: string, { tls }: AgentSettings, clock: Clock): Promise<RpcChannelOptions> {
  const plain = { address, keepalive, connectLimit, clock };
  if (tls === undefined) return plain;
  const { ca, identity, isVerified } = tls;
  return {
    ...plain,
    tls: {
      isVerified,
      ...(ca === undefined ? {} : { ca: await readFile(ca) }),
      ...(identity === undefined
        ? {}
        : { identity: { certificate: await readFile(identity.certificate), key: await readFile(identity.key) } }),
    },
  };
}

const tokenIn = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined ? undefined : (await readFile(file, "utf8")).trim();
