import { isJsonObject, isTrueAt, type JsonObject, type JsonValue, objectAt, textAt, textsAt } from "#lib/base/index.ts";
import type { FormField } from "../../parts/field.tsx";

/** Objects inside of objects further down are written as text. */
const deepest = 3;
const mostFields = 60;

/** Fields for the scalar values of a kind's `spec`, required ones first. */
export function fieldsOf(schema: JsonObject): readonly FormField[] {
  const spec = objectAt(schema, "properties", "spec");
  if (spec === undefined) return [];
  const fields = below(spec, ["spec"], true);
  return [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)].slice(
    0,
    mostFields,
  );
}

function below(schema: JsonObject, path: readonly string[], isNeeded: boolean): readonly FormField[] {
  const required = new Set(textsAt(schema, "required"));
  return Object.entries(objectAt(schema, "properties") ?? {}).flatMap(([name, property]): readonly FormField[] => {
    if (!isJsonObject(property)) return [];
    const here = [...path, name];
    const isRequired = isNeeded && required.has(name);
    if (textAt(property, "type") === "object" && objectAt(property, "properties") !== undefined)
      return here.length < deepest ? below(property, here, isRequired) : [];
    const type = typeOf(property);
    if (type === undefined) return [];
    const initial = property["default"];
    return [
      {
        path: here,
        type,
        description: textAt(property, "description") ?? "",
        options: textsAt(property, "enum"),
        isRequired,
        initial: initial === undefined || typeof initial === "object" ? "" : String(initial),
      },
    ];
  });
}

function typeOf(property: JsonObject): FormField["type"] | undefined {
  if (textsAt(property, "enum").length > 0) return "choice";
  if (isTrueAt(property, "x-kubernetes-int-or-string")) return "text";
  switch (textAt(property, "type")) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return textAt(property, "items", "type") === "string" ? "list" : undefined;
    case undefined:
    default:
      return undefined;
  }
}

/** The value of a field as its text says; undefined if it is left empty. */
export function valueOf({ type }: Pick<FormField, "type">, text: string): JsonValue | undefined {
  if (text.trim() === "") return undefined;
  switch (type) {
    case "number":
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case "boolean":
      return text === "true";
    case "list":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
    case "choice":
    case "text":
      return text;
  }
}

export interface FormHead {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The document that a filled form stands for. */
export function documentOf(
  head: FormHead,
  fields: readonly FormField[],
  texts: Readonly<Record<string, string>>,
): string {
  const name = head.name === "" ? { generateName: `${head.kind.toLowerCase()}-` } : { name: head.name };
  const object: Record<string, JsonValue> = {
    apiVersion: head.apiVersion,
    kind: head.kind,
    metadata: head.namespace === "" ? name : { ...name, namespace: head.namespace },
  };
  let whole: JsonObject = object;
  for (const field of fields) {
    const text = texts[field.path.join(".")] ?? "";
    const value = text === field.initial ? undefined : valueOf(field, text);
    if (value !== undefined) whole = withValue(whole, field.path, value);
  }
  return `${formatYaml(whole).join("\n")}\n`;
}

function withValue(object: JsonObject, [first = "", ...rest]: readonly string[], value: JsonValue): JsonObject {
  return { ...object, [first]: rest.length === 0 ? value : withValue(objectAt(object, first) ?? {}, rest, value) };
}

/** Block style for objects and lists; texts that YAML could read as something else are quoted as in JSON. */
export function formatYaml(value: JsonObject): readonly string[] {
  return Object.entries(value).flatMap(([key, item]) => {
    const name = `${scalar(key)}:`;
    if (Array.isArray(item)) {
      const items = item as readonly JsonValue[];
      return items.length === 0 ? [`${name} []`] : [name, ...items.map((one) => `- ${scalar(one)}`)];
    }
    if (isJsonObject(item) && Object.keys(item).length > 0)
      return [name, ...formatYaml(item).map((line) => `  ${line}`)];
    return [`${name} ${scalar(item ?? null)}`];
  });
}

const isPlain = (text: string): boolean =>
  /^[A-Za-z_/][\w./-]*(?: [\w./-]+)*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);

const scalar = (value: JsonValue): string =>
  typeof value === "string" && isPlain(value) ? value : JSON.stringify(value);
