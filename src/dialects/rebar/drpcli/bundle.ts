import { readdir, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue, messageOf, textAt } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";
import { type Collection, keyField } from "../objects.ts";
import { withoutNulls } from "../model/shape.ts";
import { collections } from "./collections.ts";
import { CliError } from "./verb.ts";

// Content bundles as directories: a folder for each collection, a file for each object, `._Name.meta` for the metadata.

/** In the order in which the original writes them. */
const metaFields = `
  Name Version Description Source Documentation RequiredFeatures Type Color Icon Author DisplayName License
  Copyright CodeSource Order Tags DocUrl Prerequisites
`
  .trim()
  .split(/\s+/);

const defaults: Readonly<Record<string, string>> = { Name: "Unspecified", Version: "v0.0.0", Type: "dynamic" };

const known = new Set<string>(collections.map(({ name }) => name));

/** One YAML or JSON document; null if there is none. The error names its place. */
export function readDocument(text: string, name: string): JsonValue {
  // Real content repeats keys here and there.
  const read = readYaml(text, { duplicateKeys: "warning" });
  if (read.ok) return read.value.documents[0]?.value ?? null;
  const [problem] = read.error;
  const place = problem?.position === undefined ? "" : `:${problem.position.line}:${problem.position.column}`;
  throw new CliError(`${name}${place}: ${problem?.message ?? "it is not YAML"}`);
}

/** The bundle that a directory holds. `given` takes the place of missing metadata. */
export async function bundleOf(directory: string, given: Readonly<Record<string, string>>): Promise<JsonObject> {
  const meta: Record<string, string> = {};
  for (const field of metaFields) {
    const file = await readFile(join(directory, `._${field}.meta`), "utf8").catch(() => undefined);
    const value = (file ?? given[field] ?? defaults[field] ?? "").trim();
    if (value !== "") meta[field] = value;
  }
  const sections: Record<string, JsonObject> = {};
  const folders = (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name } of folders.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (known.has(name)) sections[name] = await sectionOf(directory, name);
  return { meta, sections };
}

async function sectionOf(directory: string, collection: string): Promise<JsonObject> {
  const section: Record<string, JsonValue> = {};
  const entries = await readdir(join(directory, collection), { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isFile()).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const text = await readFile(join(directory, collection, name), "utf8");
    const object = objectIn(text, collection, name);
    const field = keyField(collection as Collection);
    const key = textAt(object, field);
    if (key === undefined) throw new CliError(`${collection}/${name} has no ${field}`);
    // Real content has objects twice: as in the original, the file whose name comes last counts.
    section[key] = withoutNulls(object);
  }
  return section;
}

function objectIn(text: string, collection: string, name: string): JsonObject {
  if (!/^\.(?:ya?ml|json)$/.test(extname(name))) {
    if (collection === "templates") return { ID: name, Contents: text };
    throw new CliError(`No idea how to decode ${name} into ${collection}`);
  }
  try {
    const object = readDocument(text, `${collection}/${name}`);
    if (isJsonObject(object)) return object;
  } catch (thrown) {
    throw new CliError(`Cannot parse item ${messageOf(thrown)}`);
  }
  throw new CliError(`Cannot parse item ${collection}/${name}: expected an object`);
}

/** Writes a bundle into a directory as `bundleOf` reads it. */
export async function unbundle(content: JsonValue, directory: string, isJson: boolean): Promise<void> {
  const [meta, sections] = isJsonObject(content) ? [content["meta"], content["sections"]] : [];
  if (!isJsonObject(meta) || !isJsonObject(sections)) throw new CliError("expected a bundle with meta and sections");
  await makeDirectories(directory);
  for (const field of Object.keys(meta)) {
    const value = textAt(meta, field) ?? "";
    if (value !== "" && /^\w+$/.test(field)) await writeFile(join(directory, `._${field}.meta`), value);
  }
  for (const [collection, section] of Object.entries(sections)) {
    if (!known.has(collection))
      throw new CliError(`Store contains model of type ${collection} the we don't know about`);
    await makeDirectories(join(directory, collection));
    for (const [key, object] of Object.entries(isJsonObject(section) ? section : {})) {
      const name = key.replaceAll("/", ".");
      const path = (suffix: string) => join(directory, collection, `${name}${suffix}`);
      if (name.startsWith(".")) throw new CliError(`${collection}:${key} cannot be the name of a file`);
      if (collection === "templates") await writeFile(path(""), textAt(object, "Contents") ?? "");
      else if (isJson) await writeFile(path(".json"), `${JSON.stringify(object, null, 2)}\n`);
      else await writeFile(path(".yaml"), writeYaml(object ?? null));
    }
  }
}

/** By the ending of its name. */
export function formattedBundle(content: JsonObject, file: string): string {
  switch (extname(file)) {
    case ".yaml":
    case ".yml":
      return writeYaml(content);
    case ".json":
      return `${JSON.stringify(content, null, 2)}\n`;
    default:
      throw new CliError(`Unknown store extension ${extname(file)}`);
  }
}
