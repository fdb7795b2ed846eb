import { defined, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { cueSources } from "../cue-sources.ts";
import { readAuthored } from "./authoring.ts";
import type { Definition, DefinitionType } from "./definition.ts";

let definitions: Promise<readonly Definition[]> | undefined;

/** The definitions that come with Slipway, by type and name. Read once, when they are first asked for. */
export const shippedDefinitions = (): Promise<readonly Definition[]> =>
  (definitions ??= readAll().catch((thrown: unknown) => {
    definitions = undefined;
    throw thrown;
  }));

async function readAll(): Promise<readonly Definition[]> {
  const texts = (await cueSources()).definitions;
  return Object.entries(texts).map(([path, text]) => readShipped(text, path));
}

/** The definition in a file `<type>/<name>`. */
export function readShipped(text: string, path: string): Definition {
  const { name, header, template } = readAuthored(text, path);
  const type = textAt(header, "type");
  if (path !== `${type}/${name}`) throw new Error(`${path} holds the definition ${type}/${name}`);
  return {
    // Files are sorted into folders of the four types.
    type: type as DefinitionType,
    name,
    template,
    spec: objectAt(header, "attributes") ?? {},
    annotations: { ...described(header), ...custom(objectAt(header, "annotations")) },
    labels: custom(objectAt(header, "labels")),
  };
}

const described = (header: JsonObject): Readonly<Record<string, string>> =>
  defined({
    "definition.oam.dev/description": textAt(header, "description"),
    "definition.oam.dev/alias": textAt(header, "alias"),
  });

const custom = (given: JsonObject = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(given).map((key) => [`custom.definition.oam.dev/${key}`, textAt(given, key) ?? ""] as const),
  );
