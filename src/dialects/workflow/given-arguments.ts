import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseArgument } from "./compile/params.ts";
import type { Param } from "./kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";

/** The document with arguments of the command line, read by parameter type; they override its own. */
export function withArguments(
  document: JsonObject,
  given: Readonly<Record<string, string>>,
  params: readonly Param[],
  report: Report,
): JsonObject {
  const names = Object.keys(given);
  const spec = document["spec"];
  if (names.length === 0 || !isJsonObject(spec)) return document;
  const values = names.flatMap((name): [string, JsonValue][] => {
    const value = readArgument(name, given[name] ?? "", params);
    if (value.ok) return [[name, value.value]];
    report(["spec", "arguments", name], "invalid-argument", value.error);
    return [];
  });
  const before = isJsonObject(spec["arguments"]) ? spec["arguments"] : {};
  return { ...document, spec: { ...spec, arguments: { ...before, ...Object.fromEntries(values) } } };
}

/** Read by the parameter's type, not guessed: `7` is a text for type string. */
function readArgument(name: string, text: string, params: readonly Param[]): Result<JsonValue, string> {
  const param = params.find((candidate) => candidate.name === name);
  // Reported when the document is checked.
  if (param === undefined) return ok(text);
  const value = parseArgument(param, text);
  return value.ok ? value : err(value.error);
}

const paramTypes: readonly NonNullable<Param["type"]>[] = ["string", "integer", "number", "boolean", "array", "object"];

export function readParams(params: JsonValue | undefined): readonly Param[] {
  if (!Array.isArray(params)) return [];
  const list: readonly JsonValue[] = params;
  return list.flatMap((param): Param[] => {
    if (!isJsonObject(param) || typeof param["name"] !== "string") return [];
    const type = paramTypes.find((known) => known === param["type"]);
    const secret = param["secret"] === true ? { secret: true } : {};
    return [{ name: param["name"], ...(type === undefined ? {} : { type }), ...secret }];
  });
}
