import { type ControllerParts, type Dialect, graphOfView, sourceAt } from "#kernel/dialect/index.ts";
import { admission } from "./admission.ts";
import { describeRun } from "./describe.ts";
import { documents } from "./document.ts";
import { Application, kinds, WorkflowRun } from "./kinds.ts";
import type { VelaOptions } from "./options.ts";
import { runCommands } from "./run-commands.ts";
import { refusalOf, viewRun } from "./view.ts";

/** Applications made of components, policies and a workflow of CUE steps. */
export const dialect: Dialect = {
  name: "vela",
  kinds,
  documents,
  admission,
  runs: {
    kinds: [
      { group: Application.group, kind: Application.kind },
      { group: WorkflowRun.group, kind: WorkflowRun.kind },
    ],
    aliases: ["app", "wr"],
    source: (object) =>
      object.kind === Application.kind
        ? sourceAt(object, Application.kind, "metadata", "name")
        : sourceAt(object, "Workflow", "spec", "workflowRef"),
    declared: [{ group: Application.group, kind: Application.kind }],
    view: viewRun,
    describe: describeRun,
    accepts: runCommands,
    refusal: refusalOf,
    preview: async (written, parts) => (await import("./preview.ts")).previewRuns(written, parts),
    logs: {
      parameter: "step",
      open: async (place, run, step, request) =>
        (await import("./logs/step-logs.ts")).openStepLog(place, run, step, request),
    },
    graph: (object) => graphOfView(viewRun(object)),
  },
  described: [],
  addControllers: async (manager, parts) =>
    (await import("./controller.ts")).addControllers(manager, parts as ControllerParts<VelaOptions>),
};
