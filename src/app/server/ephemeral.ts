import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Dialect, DialectOptions, DialectPort, LocalAgent } from "#kernel/dialect/index.ts";
import { type Clock, type Millis, SlipwayError, messageOf } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { admin, memoryStore } from "#kernel/apiserver/index.ts";
import { createLocalRuntime } from "#kernel/runtimes/index.ts";
import { startControlPlane } from "./control-plane.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { type DockerSurroundings, openRuntime } from "./open-runtime.ts";
import { runnerPath, yamlReaderPath } from "./program-paths.ts";
import { openUiDoor, type UiDoor, type UiDoorOptions } from "./ui-door.ts";

export interface EphemeralOptions {
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Of steps that name no directory. */
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly agents?: {
    readonly listening: DialectOptions;
    /** For agents in this process; absent if others are awaited. */
    readonly surroundings?: DockerSurroundings;
    /** See `ControllerParts`: where awaited agents look. */
    readonly notes?: readonly string[];
  };
  /** For steps in containers: where the engine's address is looked up. Otherwise they are children of this process. */
  readonly docker?: DockerSurroundings;
  /** Ends the start. */
  readonly signal: AbortSignal;
}

/** A control plane in memory for one command, which uses it without HTTP; its steps end with it. */
export interface EphemeralControlPlane {
  readonly client: ApiClient;
  /** How steps run, for people; see `ChosenRuntime`. */
  readonly runtime: string;
  readonly ports: readonly DialectPort[];
  /** Starts the agents that a run needs, in this process. */
  agentsFor(dialect: Dialect, run: KubeObject, onFailure: (error: SlipwayError) => void): void;
  /** Serves the web UI over HTTPS. A login requires a code. */
  openUi(options: Pick<UiDoorOptions, "directory">): Promise<UiDoor>;
  close(): Promise<void>;
}

/** Only an interrupted command leaves running steps, and a person waits for it. */
const stopGrace: Millis = 2000;

/** Starts a control plane in memory, with a temporary directory for Pods. Steps are children. */
export async function startEphemeral({
  level,
  agents: wanted,
  ...options
}: EphemeralOptions): Promise<EphemeralControlPlane> {
  const { clock } = options;
  const log = plainLog(level, clock);
  const directory = await mkdtemp(`${tmpdir()}/slipway-run-`);
  const store = memoryStore({ clock, log });
  const local = options.docker === undefined ? createLocalRuntime({ directory, clock, log }) : undefined;
  const onExit = () => local?.kill();
  process.once("exit", onExit);
  const clean = async () => {
    process.off("exit", onExit);
    await store.close();
    // About twenty entries: synchronously is fastest.
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    options.signal.throwIfAborted();
    const chosen = await openRuntime(options.docker, { store: store.clusterUid, isEphemeral: true, clock, log });
    const { runtime = local } = chosen;
    const dialectOptions = wanted?.listening ?? {};
    const notes = wanted?.notes ?? [];
    const parts = {
      ...options,
      notes,
      store,
      log,
      directory,
      runnerPath,
      yamlReaderPath,
      dialectOptions,
      isFresh: true,
    };
    const plane = await startControlPlane(runtime === undefined ? parts : { ...parts, runtime });
    const [port] = plane.ports;
    const around = wanted?.surroundings;
    const isDocker = options.docker !== undefined;
    const agents =
      port === undefined || around === undefined
        ? undefined
        : new LocalAgents({
            server: port.address,
            tokenFile: port.tokenFile,
            directory: `${directory}/agents`,
            runtime: isDocker ? "docker" : "process",
            variable: around.variable,
            home: around.home,
            clock,
            log,
          });
    return {
      client: plane.server.client(),
      runtime: chosen.title,
      ports: plane.ports,
      agentsFor: (dialect, run, onFailure) => agents?.ensure(dialect, dialect.agents?.neededBy(run) ?? [], onFailure),
      openUi: ({ directory: kept }) => openUiDoor(plane.server, { directory: kept, port: 0, identity: admin, clock }),
      async close() {
        await agents?.close();
        await plane.close({ stopTasks: stopGrace });
        await clean();
      },
    };
  } catch (thrown) {
    await clean();
    throw thrown;
  }
}

interface LocalAgentsOptions extends Omit<LocalAgent, "id" | "directory"> {
  readonly directory: string;
}

/** Agents in this process, one for each id that runs need. */
class LocalAgents {
  readonly #options: LocalAgentsOptions;
  readonly #agents = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: LocalAgentsOptions) {
    this.#options = options;
  }

  /** Starts missing agents. `onFailure` reports one that failed: a run that needs it would wait for ever. */
  ensure(dialect: Dialect, ids: readonly string[], onFailure: (error: SlipwayError) => void): void {
    for (const id of ids) {
      if (dialect.agents === undefined || this.#agents.has(id) || this.#stop.signal.aborted) continue;
      const { directory, ...shared } = this.#options;
      // Ids may be any text; numbers make directory names.
      const agent = { ...shared, id, directory: `${directory}/${this.#agents.size}` };
      const serving = dialect.agents.serve(agent, this.#stop.signal).catch((thrown: unknown) => {
        if (this.#stop.signal.aborted) return;
        onFailure(new SlipwayError("agent-failed", `the agent ${id} failed: ${messageOf(thrown)}`, { cause: thrown }));
      });
      this.#agents.set(id, serving);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the command ends"));
    await Promise.all(this.#agents.values());
  }
}
