// A path that stays in the project by its letters may still lead out of it: somebody who may change the repository, but not the machine that
// builds it, could have files of the machine substituted and applied.

import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Definition, Step } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { fieldSpot, isForeign, reportEscape } from "../definition/step-rules.ts";

/**
 * Reports files of steps that symbolic links lead out of the project. Files that are not there are left to whoever reads them, and those whose path
 * leaves the project by itself were reported when it was read.
 */
export async function checkLinks(definition: Definition, projectDirectory: string, reporter: Reporter): Promise<void> {
  const root = await realpath(projectDirectory);
  for (const { steps } of definition.stages) {
    for (const step of steps) {
      for (const { field, index, path } of filesOf(step)) {
        if (isForeign(path)) continue;
        const real = await realpath(join(projectDirectory, path)).catch(() => undefined);
        const isLexicallyOutside = !join(root, path).startsWith(root + sep);
        if (real === undefined || isLexicallyOutside || real === root || real.startsWith(root + sep)) continue;
        reportEscape(fieldSpot(step, field, index), path, reporter);
      }
    }
  }
}

/** Files of the project that are read for a step, and where the definition names them. */
function filesOf(step: Step): readonly { readonly field: string; readonly index?: number; readonly path: string }[] {
  if (step.type !== "kubectl" && step.type !== "helm") return [];
  const files = (step.values.files ?? []).map((path, index) => ({ field: "files", index, path }));
  const file = step.type === "kubectl" ? step.values.file : undefined;
  return file === undefined || file === "" ? files : [...files, { field: "file", path: file }];
}
