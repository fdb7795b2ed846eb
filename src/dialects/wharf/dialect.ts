import type { KubeObject } from "#kernel/model/index.ts";
import { type ControllerParts, type Dialect, graphOfView } from "#kernel/dialect/index.ts";
import { admission } from "./admission.ts";
import { resubmission, runCommands } from "./run-commands.ts";
import { describeBuild } from "./describe.ts";
import { documents } from "./document.ts";
import { Build, kinds } from "./kinds.ts";
import type { WharfOptions } from "./options.ts";
import { viewBuild } from "./view.ts";

const typed = (object: KubeObject): Build => object as unknown as Build;

/**
 * A Build runs the definition of a Project on a worker. `slipway run` and `slipway wharf` run definitions without these
 * resources.
 */
export const dialect: Dialect = {
  name: "wharf",
  kinds,
  documents,
  admission,
  runs: {
    kinds: [{ group: Build.group, kind: Build.kind }],
    view: (object) => viewBuild(typed(object)),
    describe: (object, options) => describeBuild(typed(object), options),
    accepts: runCommands,
    resubmission: (object) => resubmission(typed(object)),
    graph: (object) => graphOfView(viewBuild(typed(object))),
    logs: { parameter: "step" },
  },
  described: [],
  addControllers: async (manager, parts) =>
    (await import("./controller.ts")).addControllers(manager, parts as ControllerParts<WharfOptions>),
};
