import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseArgument } from "./compile/params.ts";
import type { Param } from "./kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";

// Arguments given beside a document, as texts of a command line.

/** The document with these arguments, each read by the type of its parameter; they win over those it holds. */
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

/**
 * The value of an argument given as text, or what its parameter expected. Texts become what their parameter is;
 * nothing is guessed from how they look: `7` is a text for a parameter of type string.
 */
function readArgument(name: string, text: string, params: readonly Param[]): Result<JsonValue, string> {
  const param = params.find((candidate) => candidate.name === name);
  // An unknown name is reported with all others when the document is checked; here it only has to get there.
  if (param === undefined) return ok(text);
  const value = parseArgument(param, text);
  return value.ok ? value : err(value.error);
}

const paramTypes: readonly NonNullable<Param["type"]>[] = ["string", "integer", "number", "boolean", "array", "object"];

/** Names, types and which are secret, as far as they can be read before the document is checked. */
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
