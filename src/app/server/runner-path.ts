import { join } from "node:path";

/** The runner's bundle lies beside ours. */
export const runnerPath: string = join(import.meta.dirname, "runner.cjs");
