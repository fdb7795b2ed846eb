import type { KubeObject } from "#kernel/model/index.ts";
import { type ControllerParts, type Dialect, graphOfView, type RunCommands, sourceAt } from "#kernel/dialect/index.ts";
import { Build, kinds } from "./kinds.ts";
import { admission } from "./admission.ts";
import { describeBuild } from "./describe.ts";
import { documents } from "./document.ts";
import type { WharfOptions } from "./options.ts";
import { viewBuild } from "./view.ts";

const typed = (object: KubeObject): Build => object as unknown as Build;

/** A build can only be canceled. */
const runCommands: RunCommands = {
  actions: ["cancel"],
  check({ step, force }, report) {
    if (step !== undefined) report(["spec", "step"], "forbidden", "cancel is for the whole build");
    if (force !== undefined) report(["spec", "force"], "forbidden", "there are no final steps to leave out");
  },
};

const resubmittedFrom = "slipway.dev/resubmitted-from";

export function resubmission({ apiVersion, kind, metadata, spec }: Build): KubeObject {
  const { buildId: _number, cancel: _wish, ...same } = spec;
  const { name = "build", namespace } = metadata;
  const place = namespace === undefined ? {} : { namespace };
  const annotations = { [resubmittedFrom]: name };
  const build = { apiVersion, kind, metadata: { generateName: `${name}-`, ...place, annotations }, spec: same };
  return build;
}

/** A Build runs the definition of a Project on a worker. `slipway run` and `slipway wharf` run definitions without
 * these resources. */
export const dialect: Dialect = {
  name: "wharf",
  kinds,
  documents,
  admission,
  runs: {
    kinds: [{ group: Build.group, kind: Build.kind }],
    source: (object) => sourceAt(object, "Project", "spec", "project"),
    view: (object) => viewBuild(typed(object)),
    describe: (object, options) => describeBuild(typed(object), options),
    accepts: runCommands,
    resubmission: (object) => resubmission(typed(object)),
    graph: (object) => graphOfView(viewBuild(typed(object))),
    logs: { parameter: "step", numbersLines: true },
  },
  described: [],
  addControllers: async (manager, parts) =>
    (await import("./controller.ts")).addControllers(manager, parts as ControllerParts<WharfOptions>),
};
