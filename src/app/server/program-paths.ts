import { join } from "node:path";
import type { ModuleFiles } from "#kernel/template/index.ts";

export const runnerPath: string = join(import.meta.dirname, "runner.cjs");
export const yamlReaderPath: string = join(import.meta.dirname, "yaml-reader.cjs");
/** The built page of the web UI. */
export const uiDirectory: string = join(import.meta.dirname, "ui");

export const templateFiles: ModuleFiles = {
  program: join(import.meta.dirname, "template-thread.cjs"),
  artifact: join(import.meta.dirname, "template.wasm"),
};
