import type { DialectFace } from "#kernel/dialect/index.ts";

/** Slipway's own language: graphs of Jobs and of any other resource. Its verbs are the ones all dialects share. */
export const workflow: DialectFace = {
  name: "workflow",
  commands: [],
  load: async () => (await import("./dialect.ts")).dialect,
};
