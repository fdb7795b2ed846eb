import type { DialectFace } from "#kernel/dialect/index.ts";
import { commands } from "./commands.ts";
import { serverOptions } from "./options.ts";

export const vela: DialectFace = {
  name: "vela",
  commands,
  serverOptions,
  load: async () => (await import("./dialect.ts")).dialect,
};
