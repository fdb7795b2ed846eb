import { join } from "node:path";
import type { ModuleFiles } from "#kernel/template/index.ts";

/** The runner's bundle lies beside ours. */
export const runnerPath: string = join(import.meta.dirname, "runner.cjs");

/** So does that of the thread that reads large YAML bodies. */
export const yamlReaderPath: string = join(import.meta.dirname, "yaml-reader.cjs");

/** The thread that renders templates, and the module it does so with. */
export const templateFiles: ModuleFiles = {
  program: join(import.meta.dirname, "template-thread.cjs"),
  artifact: join(import.meta.dirname, "template.wasm.br"),
};
