import type { DialectFace } from "#kernel/dialect/index.ts";
import { commands } from "./commands.ts";
import { projects } from "./projects.ts";
import { serverOptions } from "./options.ts";

export const wharf: DialectFace = {
  name: "wharf",
  commands,
  serverOptions,
  projects,
  load: async () => (await import("./dialect.ts")).dialect,
};
