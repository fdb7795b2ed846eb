import { Agent } from "#kernel/agents/index.ts";
import { type ControllerParts, type Dialect, graphOfView } from "#kernel/dialect/index.ts";
import { admission } from "./admission.ts";
import { describeMachine } from "./describe.ts";
import { documents } from "./document.ts";
import { kindOf, kinds } from "./kinds.ts";
import { agents } from "./local-agents.ts";
import type { RebarOptions } from "./options.ts";
import { runCommands } from "./run-actions.ts";
import { refusalOf, viewMachine } from "./view.ts";

const machine = { group: kindOf.machines.group, kind: kindOf.machines.kind };

/** Machines that agents drive through lists of tasks. */
export const dialect: Dialect = {
  name: "rebar",
  kinds: [...kinds, Agent],
  documents,
  admission,
  runs: {
    kinds: [machine],
    areMachines: true,
    declared: [machine],
    view: viewMachine,
    describe: describeMachine,
    accepts: runCommands,
    refusal: refusalOf,
    logs: { parameter: "step", numbersLines: true },
    graph: (object) => graphOfView(viewMachine(object)),
  },
  described: [],
  agents,
  addControllers: async (manager, parts) =>
    (await import("./services.ts")).addControllers(manager, parts as ControllerParts<RebarOptions>),
};
