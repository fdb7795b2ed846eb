import type { Projects } from "#kernel/dialect/index.ts";
import {
  definitionOptions,
  onePath,
  outputForms,
  runtimeNames,
  type WharfRunOptions,
  wharfRunOptions,
} from "./commands/run-options.ts";

export const projects: Projects = {
  definition: ".wharf-ci.yml",
  noun: "build",
  options: [...definitionOptions, ...wharfRunOptions],
  runtimes: runtimeNames,
  outputs: outputForms,
  nearest: async (directory) => await (await import("./world/definition-file.ts")).nearestDefinition(directory),
  async run(invocation) {
    const { runWharfBuild } = await import("./commands/run.ts");
    const options = invocation.options as WharfRunOptions & typeof invocation.options;
    return await runWharfBuild({ ...invocation, options }, onePath(invocation.rest));
  },
};
