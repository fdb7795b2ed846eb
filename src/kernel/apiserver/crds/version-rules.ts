import {
  type FieldPath,
  formatFieldPath,
  type JsonObject,
  isTrueAt,
  objectAt,
  objectsAt,
  textAt,
} from "#lib/base/index.ts";
import { compileJsonPath } from "#lib/json/index.ts";
import { type CompileRule, fieldError, readStructuralSchema, rulesOf, type Schema } from "#lib/schema/index.ts";
import { type Findings } from "#kernel/specs/index.ts";
import { columnTypes } from "./definition.ts";

// Rules of one version: its schema and paths. Bad paths are refused here, never while serving.

/** KEP-4358. */
const mostSelectableFields = 8;
/** As in Kubernetes. */
const longestWarning = 256;
/** OpenAPI's formats that fit a cell. */
const columnFormats = ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];
/** `.spec.replicas`: member names only, because such a path is also written to. */
const plainPath = /^(?:\.[A-Za-z0-9_-]+)+$/;

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
  const warning = version["deprecationWarning"];
  if (typeof warning !== "string") return;
  for (const problem of warningProblems(warning, isTrueAt(version, "deprecated")))
    found.errors.push(fieldError.invalid([...at, "deprecationWarning"], warning, problem));
}

/** The warning becomes a header. */
function* warningProblems(warning: string, isDeprecated: boolean): Generator<string> {
  if (!isDeprecated) yield "can only be set for deprecated versions";
  if (warning === "") yield "must not be empty; leave it out for the usual warning";
  if (warning.length > longestWarning) yield `must be no more than ${longestWarning} characters`;
  if (/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(warning)) yield "must only contain printable characters";
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
  const read = readStructuralSchema(json, here, compileRule);
  if (!read.ok) {
    found.errors.push(...read.error);
    return undefined;
  }
  checkRules(read.value, here, found, compileRule);
  checkRoot(version, json, here, found);
  return read.value;
}

/** Rules that cannot be evaluated here cause a warning: real definitions use newer libraries. */
function checkRules(
  schema: Schema,
  at: FieldPath,
  { errors, warnings }: Findings,
  compileRule: CompileRule | undefined,
) {
  for (const { path, rule, replacedWith } of rulesOf(schema, at)) {
    const compiled = compileRule?.(rule);
    if (compiled?.ok === true) {
      if (!compiled.value.usesOldSelf || replacedWith === undefined) continue;
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${formatFieldPath(replacedWith)}`;
      errors.push(fieldError.invalid([...path, "rule"], rule.rule, detail));
      continue;
    }
    const { kind, message, part } = compiled?.error ?? {
      kind: "unsupported",
      message: "rules are not evaluated by this server",
      part: undefined,
    };
    if (kind === "invalid") errors.push(fieldError.invalid([...path, part ?? "rule"], rule[part ?? "rule"], message));
    else warnings.push(`${formatFieldPath(path)}: the rule is stored and not evaluated: ${message}`);
  }
}

/** Allowed at the root with a status subresource, whose schema is judged alone. */
const besideStatus = new Set(
  "description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems multipleOf required items properties externalDocs example x-kubernetes-preserve-unknown-fields x-kubernetes-validations".split(
    " ",
  ),
);

function checkRoot(version: JsonObject, schema: JsonObject, at: FieldPath, { errors }: Findings): void {
  if (objectAt(version, "subresources", "status") === undefined) return;
  for (const keyword of Object.keys(schema).filter((name) => !besideStatus.has(name))) {
    const detail = "must not be set at the root of the schema if the status subresource is enabled";
    errors.push(fieldError.invalid([...at, keyword], schema[keyword], detail));
  }
}

/** For `kubectl scale`: desired replicas in spec, current ones in status. */
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
      if (!path.startsWith("."))
        errors.push(fieldError.invalid([...here, "jsonPath"], path, "must be a simple json path starting with ."));
      else if (!compiled.ok) errors.push(fieldError.invalid([...here, "jsonPath"], path, compiled.error.message));
      else if (/^[{}$@.\s]*$/.test(path))
        errors.push(
          fieldError.invalid([...here, "jsonPath"], path, "must lead to a member, and not to the object itself"),
        );
    }
  }
}

/** Without a valid schema only the paths are checked. */
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

/** Only scalars outside metadata can be selected. */
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
