import { type Host } from "#kernel/command/index.ts";
import { systemClock } from "#lib/base/index.ts";
import { version } from "./version.ts";

/** Parts of the program for commands of dialects, each loaded when it is first used. */
export const host: Host = {
  version,
  findRunning: async (...asked) => await (await import("./connect.ts")).findRunning(...asked),
  serveCluster: async (...asked) => await (await import("./cluster.ts")).serveCluster(...asked),
  openTemplates: async () => (await import("#app/server/index.ts")).openTemplates(systemClock),
  openLog: async (...asked) => await (await import("#app/server/index.ts")).openLog(...asked),
  runnerPath: async () => (await import("#app/server/index.ts")).runnerPath,
};
