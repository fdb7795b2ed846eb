import type { KubeObject } from "#kernel/model/index.ts";
import {
  type ControllerParts,
  type Dialect,
  graphOfView,
  guardStatus,
  sourceAt,
  type Agents,
  type LocalAgent,
} from "#kernel/dialect/index.ts";
import { describeWorkflow } from "./describe.ts";
import { runCommands } from "./run-commands.ts";
import { documents } from "./document.ts";
import { kinds, Workflow } from "./kinds.ts";
import { neighboursOf } from "./queue-place.ts";
import { type TinkerbellOptions, usualTinkListen } from "./options.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";
import { renderProblem, viewWorkflow } from "./view.ts";
import type { AgentSettings } from "./agent/agent-options.ts";

/** Agents for the runs of one command; only their settings differ from those of machines. */
const agents: Agents = {
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

/** The server or the document reader has validated it. */
const typed = (object: KubeObject): AnyWorkflow => object as AnyWorkflow;

/** Machines are provisioned by agents: a Workflow runs the actions of a Template on a Hardware. */
export const dialect: Dialect = {
  name: "tinkerbell",
  kinds,
  documents,
  admission: [guardStatus(Workflow)],
  runs: {
    kinds: [{ group: Workflow.group, kind: Workflow.kind }],
    aliases: ["wf"],
    source: (object) => sourceAt(object, "Template", "spec", "templateRef"),
    view: (object) => viewWorkflow(typed(object)),
    describe: (object, options) => describeWorkflow(typed(object), options),
    neighbours: (object) => neighboursOf(typed(object)),
    accepts: runCommands,
    refusal: (object) => renderProblem(typed(object))?.message,
    graph: (object) => graphOfView(viewWorkflow(typed(object))),
    preview: async (written, parts) => (await import("./preview/run-preview.ts")).previewRuns(written, parts),
    logs: {
      parameter: "action",
      open: async (place, run, action, request) =>
        (await import("./logs/run-logs.ts")).openActionLog(place, typed(run), action, request),
    },
  },
  described: [],
  agents,
  addControllers: async (manager, parts) =>
    (await import("./services.ts")).addControllers(manager, parts as ControllerParts<TinkerbellOptions>),
};
