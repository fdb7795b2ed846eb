import type { DialectFace } from "#kernel/dialect/index.ts";
import { commands } from "./commands.ts";
import { serverOptions } from "./options.ts";

/** Tinkerbell: machines provisioned by agents. */
export const tinkerbell: DialectFace = {
  name: "tinkerbell",
  commands,
  serverOptions,
  load: async () => (await import("./dialect.ts")).dialect,
};
