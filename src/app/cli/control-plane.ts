import type { EphemeralControlPlane, EphemeralOptions } from "#app/server/index.ts";
import type { Dialect } from "#kernel/dialect/index.ts";
import { type Environment, hostEnvironment, type Invocation, type Session } from "#kernel/command/index.ts";
import type { RunOptions } from "./run-options.ts";
import { findRunning } from "./connect.ts";
import { noteDirectories } from "#kernel/command/index.node.ts";
import type { UiPlace } from "./ui-link.ts";
import { version } from "./version.ts";

/** The control plane of a run: the running one, or an ephemeral one of this command. */
export interface ControlPlaneSession extends Session {
  /** Ends with this command, and so do its unfinished runs. */
  readonly isEphemeral: boolean;
  /** Where steps run and why, as text. */
  readonly note: string;
  /** Whether steps run in containers of the images that documents name; undefined when the control plane decides. */
  readonly usesImages?: boolean;
  /** The web UI of the control plane; the caller closes it. */
  readonly openUi: () => Promise<UiPlace>;
  /** Starts the agents that a run needs; absent where agents connect from outside. */
  readonly agentsFor?: EphemeralControlPlane["agentsFor"];
}

/**
 * Connects to the running or named control plane; without one, or with `--ephemeral`, starts one in this process for
 * runs of `dialects`. The caller closes it.
 */
export async function openControlPlane(
  invocation: Invocation<RunOptions>,
  dialects: readonly Dialect[],
): Promise<ControlPlaneSession> {
  const { options, environment, clock, signal, connect } = invocation;
  const running = options.ephemeral === true ? undefined : await findRunning(options, environment);
  if (running !== undefined) {
    const session = await connect();
    return {
      ...session,
      openUi: async () => await (await import("./ui-place.ts")).placeOf(invocation),
      isEphemeral: false,
      note: `using the control plane of ${running}; its runtime runs the steps`,
    };
  }
  const { startEphemeral } = await import("#app/server/index.ts");
  const plane = await startEphemeral({
    clock,
    version,
    level: options.verbose > 1 ? "debug" : options.verbose > 0 ? "info" : "error",
    workingDirectory: environment.directory,
    environment: hostEnvironment(environment),
    signal,
    ...(options.runtime === "docker" ? { docker: environment } : {}),
    ...agentsOf(dialects, options.agent, environment),
  });
  const [waiting] = options.agent === undefined ? [] : plane.ports;
  if (waiting !== undefined)
    environment.err.write(`slipway: waiting for agent ${options.agent ?? ""} at ${waiting.address}\n`);
  const usesImages = options.runtime === "docker";
  return {
    client: plane.client,
    namespace: options.namespace ?? "default",
    isEphemeral: true,
    note: usesImages
      ? `runtime docker: steps run ${plane.runtime}`
      : "runtime process: steps run on this machine as you; --runtime docker runs them in containers",
    usesImages,
    openUi: async () => {
      const { ownPlace, uiDirectory } = await import("./ui-link.ts");
      return ownPlace(await plane.openUi({ directory: uiDirectory(environment) }));
    },
    agentsFor: (...asked) => plane.agentsFor(...asked),
    close: () => plane.close(),
  };
}

/** Own agents connect to any free port; an awaited agent knows the usual or configured address. */
function agentsOf(
  dialects: readonly Dialect[],
  awaited: string | undefined,
  environment: Environment,
): Pick<EphemeralOptions, "agents"> {
  const agents = dialects.find((dialect) => dialect.agents !== undefined)?.agents;
  if (agents === undefined) return {};
  if (awaited === undefined)
    return { agents: { listening: agents.listeningAt("127.0.0.1:0"), surroundings: environment } };
  const listening = agents.listeningAt(agents.awaitedAt(environment.variable));
  return { agents: { listening, notes: noteDirectories(environment) } };
}
