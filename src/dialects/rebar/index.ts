import type { DialectFace } from "#kernel/dialect/index.ts";
import { commands } from "./commands.ts";
import { runExamples, serverOptions } from "./options.ts";

export const rebar: DialectFace = {
  name: "rebar",
  commands,
  serverOptions,
  run: { options: [], examples: runExamples },
  load: async () => (await import("./dialect.ts")).dialect,
};
