import type { Projects } from "#kernel/dialect/index.ts";
import {
  definitionOptions,
  onePath,
  outputForms,
  runtimeNames,
  type WharfRunOptions,
  wharfRunOptions,
} from "./commands/run-options.ts";

/** Repositories with a definition: `slipway run DIR` runs their build. */
export const projects: Projects = {
  definition: ".wharf-ci.yml",
  noun: "build",
  options: [...definitionOptions, ...wharfRunOptions],
  runtimes: runtimeNames,
  outputs: outputForms,
  nearest: async (directory) => await (await import("./world/definition-file.ts")).nearestDefinition(directory),
  async run(invocation) {
    const { runWharfBuild } = await import("./commands/run.ts");
    // The command line has parsed these options by the specs above.
    const options = invocation.options as WharfRunOptions & typeof invocation.options;
    return await runWharfBuild({ ...invocation, options }, onePath(invocation.rest));
  },
};
