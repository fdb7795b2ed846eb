import type { KubeObject } from "#kernel/model/index.ts";
import { type ControllerParts, type Dialect, graphOfView, guardStatus } from "#kernel/dialect/index.ts";
import { describeWorkflow } from "./describe.ts";
import { runCommands } from "./run-commands.ts";
import { documents } from "./document.ts";
import { agents } from "./local-agents.ts";
import { kinds, Workflow } from "./kinds.ts";
import { neighboursOf } from "./queue-place.ts";
import type { TinkerbellOptions } from "./given-options.ts";
import type { AnyWorkflow } from "./stored.ts";
import { renderProblem, viewWorkflow } from "./view.ts";

export type { AgentOption } from "./agent/agent-options.ts";
export type { AgentSettings, AgentSurroundings } from "./agent/open-agent.ts";
export type { TinkerbellOptions } from "./given-options.ts";
export type { Preview } from "./preview/preview.ts";
export type { PreviewRequest } from "./preview/request.ts";

/** Callers ask by kind; a server has stored what they bring, or the reader of documents has checked it. */
const typed = (object: KubeObject): AnyWorkflow => object as AnyWorkflow;

/** Machines are provisioned by agents: a Workflow carries out the actions of a Template on a Hardware. */
export const dialect: Dialect = {
  name: "tinkerbell",
  kinds,
  documents,
  admission: [guardStatus(Workflow)],
  runs: {
    kinds: [{ group: Workflow.group, kind: Workflow.kind }],
    aliases: ["wf"],
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
        (await import("./run-logs.ts")).openActionLog(place, typed(run), action, request),
    },
  },
  described: [],
  agents,
  addControllers: async (manager, parts) =>
    (await import("./add-controllers.ts")).addControllers(manager, parts as ControllerParts<TinkerbellOptions>),
};

/** The agent, which runs on machines and not in the server. Loaded when it is asked for. */
export async function loadAgent() {
  const [options, id, agent] = await Promise.all([
    import("./agent/agent-options.ts"),
    import("./agent/default-id.ts"),
    import("./agent/open-agent.ts"),
  ]);
  const { readAgentOptions } = options;
  return { readAgentOptions, defaultAgentId: id.defaultAgentId, openAgent: agent.openAgent };
}

/** What `slipway tink` does. Loaded when it is asked for. */
export async function loadTink() {
  const [request, text, { rerender }] = await Promise.all([
    import("./preview/request.ts"),
    import("./preview/text.ts"),
    import("./rerender.ts"),
  ]);
  return { previewTemplates: request.previewTemplates, ...text, rerender };
}
