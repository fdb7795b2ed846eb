import { type FieldPath, formatFieldPath, type JsonObject } from "#lib/base/index.ts";
import { compileJsonPath } from "#lib/json/index.ts";
import { type CompileRule, fieldError, readStructuralSchema, rulesOf, type Schema } from "#lib/schema/index.ts";
import type { Findings } from "../kinds/built-in.ts";
import { isTrueAt, objectAt, objectsAt, textAt } from "../kinds/read.ts";
import { columnTypes } from "./definition.ts";

const mostSelectableFields = 8;
const columnFormats = ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];
/** `.spec.replicas`: nothing but plain member names. */
const plainPath = /^(?:\.[A-Za-z0-9_-]+)+$/;

/** Rules of one version of a definition. */
export function checkVersion(
  version: JsonObject,
  at: FieldPath,
  found: Findings,
  compileRule: CompileRule | undefined,
): void {
  const schema = checkSchema(version, at, found, compileRule);
  checkScale(version, at, found);
  checkColumns(version, at, found);
  checkSelectableFields(version, schema, at, found);
  if (textAt(version, "deprecationWarning") !== undefined && !isTrueAt(version, "deprecated")) {
    found.errors.push(
      fieldError.invalid(
        [...at, "deprecationWarning"],
        version["deprecationWarning"],
        "can only be set for deprecated versions",
      ),
    );
  }
}

function checkSchema(
  version: JsonObject,
  at: FieldPath,
  found: Findings,
  compileRule: CompileRule | undefined,
): Schema | undefined {
  const here = [...at, "schema", "openAPIV3Schema"];
  const json = objectAt(version, "schema", "openAPIV3Schema");
  if (json === undefined) {
    found.errors.push(fieldError.required(here, "schemas are required"));
    return undefined;
  }
  const read = readStructuralSchema(json, here);
  if (!read.ok) {
    found.errors.push(...read.error);
    return undefined;
  }
  checkRules(read.value, here, found, compileRule);
  return read.value;
}

/** Rules that cannot be evaluated here are kept, and whoever relies on them is told; rules that nobody can read are refused. */
function checkRules(
  schema: Schema,
  at: FieldPath,
  { errors, warnings }: Findings,
  compileRule: CompileRule | undefined,
) {
  for (const { path, rule } of rulesOf(schema, at)) {
    const compiled = compileRule?.(rule);
    if (compiled?.ok === true) continue;
    const { kind, message } = compiled?.error ?? {
      kind: "unsupported",
      message: "rules are not evaluated by this server",
    };
    if (kind === "invalid") errors.push(fieldError.invalid([...path, "rule"], rule.rule, message));
    else warnings.push(`${formatFieldPath(path)}: the rule is stored and not evaluated: ${message}`);
  }
}

function checkScale(version: JsonObject, at: FieldPath, { errors }: Findings) {
  const scale = objectAt(version, "subresources", "scale");
  if (scale === undefined) return;
  const here = [...at, "subresources", "scale"];
  const roots = {
    specReplicasPath: [".spec."],
    statusReplicasPath: [".status."],
    labelSelectorPath: [".status.", ".spec."],
  };
  for (const [name, prefixes] of Object.entries(roots)) {
    const path = textAt(scale, name);
    if (path === undefined) {
      if (name !== "labelSelectorPath") errors.push(fieldError.required([...here, name]));
    } else if (!plainPath.test(path) || !prefixes.some((prefix) => path.startsWith(prefix))) {
      errors.push(
        fieldError.invalid([...here, name], path, `must be a path of plain names under ${prefixes.join(" or ")}`),
      );
    }
  }
}

function checkColumns(version: JsonObject, at: FieldPath, { errors }: Findings) {
  for (const [index, column] of objectsAt(version, "additionalPrinterColumns").entries()) {
    const here = [...at, "additionalPrinterColumns", index];
    if (textAt(column, "name") === undefined) errors.push(fieldError.required([...here, "name"]));
    const type = textAt(column, "type");
    if (!columnTypes.some((known) => known === type))
      errors.push(fieldError.notSupported([...here, "type"], type ?? "", columnTypes));
    const format = textAt(column, "format");
    if (format !== undefined && !columnFormats.includes(format))
      errors.push(fieldError.notSupported([...here, "format"], format, columnFormats));
    const path = textAt(column, "jsonPath");
    if (path === undefined) errors.push(fieldError.required([...here, "jsonPath"]));
    else {
      const compiled = compileJsonPath(path);
      if (!compiled.ok) errors.push(fieldError.invalid([...here, "jsonPath"], path, compiled.error.message));
    }
  }
}

function checkSelectableFields(version: JsonObject, schema: Schema | undefined, at: FieldPath, { errors }: Findings) {
  const fields = objectsAt(version, "selectableFields");
  if (fields.length > mostSelectableFields)
    errors.push(fieldError.tooMany([...at, "selectableFields"], fields.length, mostSelectableFields));
  const seen = new Set<string>();
  for (const [index, field] of fields.entries()) {
    const here = [...at, "selectableFields", index, "jsonPath"];
    const path = textAt(field, "jsonPath") ?? "";
    const problem = schema === undefined ? undefined : selectableProblem(path, schema);
    if (path === "") errors.push(fieldError.required(here));
    else if (problem !== undefined) errors.push(fieldError.invalid(here, path, problem));
    if (seen.has(path)) errors.push(fieldError.duplicate(here, path));
    seen.add(path);
  }
}

function selectableProblem(path: string, schema: Schema): string | undefined {
  if (!plainPath.test(path)) return "must be a path of plain names such as .spec.color";
  if (path.startsWith(".metadata.")) return "must not point into metadata";
  let node: Schema | undefined = schema;
  for (const name of path.slice(1).split(".")) {
    const properties: Readonly<Record<string, Schema>> = node?.properties ?? {};
    node = Object.hasOwn(properties, name) ? properties[name] : undefined;
  }
  if (node === undefined) return "must point to a field of the schema";
  return ["string", "boolean", "integer"].includes(node.type ?? "")
    ? undefined
    : "must point to a string, boolean or integer";
}
