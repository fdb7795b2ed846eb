import { fileURLToPath } from "node:url";

/** The runner's bundle: it lies beside ours, or beside the folder of chunks that ours is in. */
export const runnerPath: string = fileURLToPath(
  new URL(import.meta.url.includes("/chunks/") ? "../runner.mjs" : "./runner.mjs", import.meta.url),
);
