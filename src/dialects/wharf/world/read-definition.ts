import { ok, type Result } from "#lib/base/index.ts";
import { createReporter, type Diagnostic } from "../definition/diagnostics.ts";
import { prepare, type Prepared, type PrepareRequest } from "../prepare.ts";
import { type DefinitionFile, type DefinitionPlace, type NotFound, readDefinitionFile } from "./definition-file.ts";
import { checkLinks } from "./links.ts";
import { observeSurroundings, type World } from "./surroundings.ts";

/** What is chosen for a build; everything else is found in the world. */
export type Choice = Omit<PrepareRequest, "bytes" | "file" | "surroundings">;

/** A definition with everything that is known of it before it is run. */
export interface ReadDefinition {
  readonly file: DefinitionFile;
  /** How problems call the file. */
  readonly name: string;
  /** What it means here; without the problems of files and links. */
  readonly prepared: Prepared;
  /** Of the definition, of its files, and of what variables come from. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Finds a definition and the world around it, and prepares it. The error is that there is none. */
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
