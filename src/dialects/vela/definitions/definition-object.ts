import { defined, err, ok, type Result, textAt } from "#lib/base/index.ts";
import { apiVersionOf, asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { CueDefinition } from "#kernel/template/index.ts";
import { WorkloadDefinition } from "../kinds.ts";
import { definitionOf } from "./find.ts";
import { definitionTypes, isDefinitionType, typeFacts } from "./types.ts";

// A definition as its author writes it in CUE, and as an object.

const prefix = "custom.definition.oam.dev/";
const descriptionKey = "definition.oam.dev/description";
const aliasKey = "definition.oam.dev/alias";

/** The error says what is wrong, for people. */
export function objectOfAuthored(definition: CueDefinition, namespace: string): Result<KubeObject, string> {
  const { name, type, alias, description, attributes, template } = definition;
  const kind = isDefinitionType(type) ? typeFacts[type].kind : type === "workload" ? WorkloadDefinition : undefined;
  if (kind === undefined)
    return err(`definition "${name}": expected type ${[...definitionTypes, "workload"].join(", ")}; found "${type}"`);
  const annotations = {
    ...prefixed(definition.annotations),
    ...(description === undefined || description === "" ? {} : { [descriptionKey]: description }),
    ...(alias === undefined || alias === "" ? {} : { [aliasKey]: alias }),
  };
  const labels = prefixed(definition.labels);
  return ok({
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name,
      namespace,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
    spec: { ...attributes, schematic: { cue: { template } } },
  });
}

const prefixed = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [`${prefix}${key}`, value]));

/** Members that the server or other programs added are left out. */
const ownOf = (map: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [])),
  );

/** The reverse of `objectOfAuthored`. */
export function authoredOf(object: Stored): Result<CueDefinition, string> {
  const type = definitionTypes.find((candidate) => typeFacts[candidate].kind.kind === object.kind);
  if (type === undefined && object.kind !== WorkloadDefinition.kind) return err(`${object.kind} is not a definition`);
  const { template, spec, annotations } = definitionOf(type ?? "component", object);
  if (template === "") return err(`${object.kind} "${object.metadata.name}" has no CUE template`);
  const [description, alias] = [annotations[descriptionKey], annotations[aliasKey]];
  return ok({
    name: object.metadata.name,
    type: type ?? "workload",
    ...defined({ alias, description }),
    labels: ownOf(object.metadata.labels),
    annotations: ownOf(object.metadata.annotations),
    attributes: spec,
    template,
  });
}

/** The template of a stored object or of one in a file. */
export const templateOf = (object: KubeObject): string =>
  textAt(asJson(object), "spec", "schematic", "cue", "template") ?? "";
