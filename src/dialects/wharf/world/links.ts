// Symbolic links may lead out of the project: a repository could otherwise have files of this machine applied.

import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Definition, Step } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { fieldSpot, isForeign, reportEscape } from "../definition/step-rules.ts";

/** Missing files are left to their readers; paths with `..` were reported before. */
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

function filesOf(step: Step): readonly { readonly field: string; readonly index?: number; readonly path: string }[] {
  if (step.type !== "kubectl" && step.type !== "helm") return [];
  const files = (step.values.files ?? []).map((path, index) => ({ field: "files", index, path }));
  const file = step.type === "kubectl" ? step.values.file : undefined;
  return file === undefined || file === "" ? files : [...files, { field: "file", path: file }];
}
