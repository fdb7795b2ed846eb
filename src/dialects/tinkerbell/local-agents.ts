import type { Agents, LocalAgent } from "#kernel/dialect/index.ts";
import { usualTinkListen } from "./options.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";
import type { AgentSettings } from "./agent/agent-options.ts";

/** Agents for the runs of one command; only their settings differ from those of machines. */
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
    // Tasks end with this process, however it ends: no later agent would adopt them.
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

/** Fewer rights than on a machine that is being provisioned. */
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
