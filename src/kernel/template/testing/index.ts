import { join } from "node:path";
import { systemClock } from "#lib/base/index.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { root } from "#test/support/slipway.ts";
import { TemplateHost, type TemplateHostOptions } from "../template-host.ts";
import type { ModuleFiles } from "../thread.ts";

/** The committed module, and the thread's program as bundled now. */
export const moduleFiles = async (): Promise<ModuleFiles> => ({
  program: await bundleProgram(join(import.meta.dirname, "../thread-program.ts")),
  artifact: join(root, "go/built/template.wasm.br"),
});

/** A host over the real module. Whoever makes it closes it. */
export const realHost = async (options: Partial<TemplateHostOptions> = {}): Promise<TemplateHost> =>
  new TemplateHost({ ...(await moduleFiles()), clock: systemClock, ...options });
