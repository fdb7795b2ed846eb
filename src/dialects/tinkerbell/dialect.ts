import type { KubeObject } from "#kernel/model/index.ts";
import { type ControllerParts, type Dialect, graphOfView, guardStatus, sourceAt } from "#kernel/dialect/index.ts";
import { describeWorkflow } from "./describe.ts";
import { runCommands } from "./run-commands.ts";
import { documents } from "./document.ts";
import { agents } from "./local-agents.ts";
import { kinds, Workflow } from "./kinds.ts";
import { neighboursOf } from "./queue-place.ts";
import type { TinkerbellOptions } from "./options.ts";
import type { AnyWorkflow } from "./stored.ts";
import { renderProblem, viewWorkflow } from "./view.ts";

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
