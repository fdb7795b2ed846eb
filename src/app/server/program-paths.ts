import { join } from "node:path";

/** The runner's bundle lies beside ours. */
export const runnerPath: string = join(import.meta.dirname, "runner.cjs");

/** So does that of the thread that reads large YAML bodies. */
export const yamlReaderPath: string = join(import.meta.dirname, "yaml-reader.cjs");
