import { ok, type Result } from "#lib/base/index.ts";
import { createReporter, type Diagnostic } from "../definition/diagnostics.ts";
import { prepare, type Prepared, type PrepareRequest } from "../prepare.ts";
import { type DefinitionFile, type DefinitionPlace, type NotFound, readDefinitionFile } from "./definition-file.ts";
import { checkLinks } from "./links.ts";
import { observeSurroundings, type World } from "./surroundings.ts";

export type Choice = Omit<PrepareRequest, "bytes" | "file" | "surroundings">;

export interface ReadDefinition {
  readonly file: DefinitionFile;
  readonly name: string;
  /** Without problems of files and links. */
  readonly prepared: Prepared;
  readonly diagnostics: readonly Diagnostic[];
}

/** The error says why there is no definition. */
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
