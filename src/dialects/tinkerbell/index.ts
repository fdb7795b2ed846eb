import type { DialectFace } from "#kernel/dialect/index.ts";
import { commands } from "./commands.ts";
import { runExamples, runOptions, serverOptions } from "./options.ts";

export const tinkerbell: DialectFace = {
  name: "tinkerbell",
  commands,
  serverOptions,
  run: { options: runOptions, examples: runExamples },
  load: async () => (await import("./dialect.ts")).dialect,
};
