import type { Agents, LocalAgent } from "#kernel/dialect/index.ts";
import { usualTinkListen } from "./options.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";
import type { AgentSettings } from "./agent/agent-options.ts";

/** Agents for the runs of one command, which are the agents of machines but for their settings. */
export const agents: Agents = {
  awaitedAt: (variable) => variable("SLIPWAY_TINK_LISTEN") ?? usualTinkListen,
  listeningAt: (address) => ({ tinkerbell: { listen: { address, isUsual: false } } }),
  neededBy: (run) => [...new Set(stateOf(run as AnyWorkflow).actions.map(({ task }) => task.agentID))],
  async serve({ variable, home, clock, log, ...given }, signal) {
    const [{ openAgent }, { createLocalRuntime }, { makeDirectories }] = await Promise.all([
      import("./agent/open-agent.ts"),
      import("#kernel/runtimes/index.ts"),
      import("#lib/base/index.node.ts"),
    ]);
    const settings = settingsOf(given);
    const around = { runnerPath: "", notes: [], variable, home, clock, log };
    if (settings.runtime === "docker") return await openAgent(settings, around, signal);
    const directory = `${given.directory}/tasks`;
    await makeDirectories(directory, 0o700);
    // Tasks are children of this process, and end with it however it ends: nobody would ever take them up again.
    const processes = createLocalRuntime({ directory, clock, log });
    const kill = (): void => processes.kill();
    process.once("exit", kill);
    try {
      await openAgent(settings, { ...around, processes }, signal);
    } finally {
      process.off("exit", kill);
    }
  },
};

/** Less is allowed than to the agent of a machine that is there to be provisioned: this machine is somebody's. */
const settingsOf = ({
  id,
  server,
  tokenFile,
  directory,
  runtime,
}: Omit<LocalAgent, "variable" | "home" | "clock" | "log">) =>
  ({
    id,
    server,
    ...(tokenFile === undefined ? {} : { tokenFile }),
    directory,
    runtime: runtime === "docker" ? "docker" : "host",
    pull: "missing",
    isPrivileged: false,
    stopGrace: 2000,
    killsOnExit: true,
    logLevel: "error",
  }) satisfies AgentSettings;
