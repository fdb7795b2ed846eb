import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Definition, Step } from "../definition/definition.ts";
import { createReporter, type Diagnostic, type Reporter } from "../definition/diagnostics.ts";
import { fieldSpot, isForeign, reportEscape } from "../definition/step-rules.ts";
import { ok, type Result } from "#lib/base/index.ts";
import { prepare, type Prepared, type PrepareRequest } from "../prepare.ts";
import { type DefinitionFile, type DefinitionPlace, type NotFound, readDefinitionFile } from "./definition-file.ts";
import { observeSurroundings, type World } from "./surroundings.ts";

type Choice = Omit<PrepareRequest, "bytes" | "file" | "surroundings">;

export interface ReadDefinition {
  readonly file: DefinitionFile;
  readonly name: string;
  readonly prepared: Prepared;
  readonly diagnostics: readonly Diagnostic[];
}

export async function readDefinition(
  place: DefinitionPlace,
  choice: Choice,
  world: Omit<World, "projectDirectory">,
): Promise<Result<ReadDefinition, NotFound>> {
  const found = await readDefinitionFile(place);
  if (!found.ok) return found;
  const { projectDirectory, bytes, path } = found.value;
  const name = path.startsWith(`${place.directory}/`) ? path.slice(place.directory.length + 1) : path;
  const given = [...(choice.inputs?.values() ?? [])].map((input) => (typeof input === "string" ? input : input.text));
  const texts = [Buffer.from(bytes).toString("latin1"), ...given];
  const around = await observeSurroundings({ ...world, projectDirectory }, texts);
  const prepared = prepare({ ...choice, bytes, file: name, surroundings: around.variables });
  const links = createReporter(name);
  if (prepared.definition !== undefined) await checkLinks(prepared.definition, projectDirectory, links);
  const diagnostics = [...around.diagnostics, ...prepared.diagnostics, ...links.diagnostics()];
  return ok({ file: found.value, name, prepared, diagnostics });
}

// Symbolic links may lead out of the project: a repository could otherwise have files of this machine applied.

/** Missing files are left to their readers; paths with `..` were reported before. */
async function checkLinks(definition: Definition, projectDirectory: string, reporter: Reporter): Promise<void> {
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
