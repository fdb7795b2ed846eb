import type { KubeObject } from "#kernel/model/index.ts";
import type { RunCommands } from "#kernel/dialect/index.ts";
import type { Build } from "./kinds.ts";

/** A build can only be canceled. */
export const runCommands: RunCommands = {
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
