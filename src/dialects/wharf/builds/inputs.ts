import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import type { Input } from "../definition/definition.ts";
import { createReporter, formatDiagnostic } from "../definition/diagnostics.ts";
import { readOutline } from "../definition/outline.ts";
import { inputVariables } from "../variables/input-variables.ts";
import { resolveVariables } from "../variables/variable.ts";

// Inputs are resolved when a build is created and again when its worker is requested, for builds created without
// looking at the definition.

export type InputValue = string | number | boolean;

export interface ResolvedInputs {
  readonly plain: Readonly<Record<string, InputValue>>;
  readonly secret: Readonly<Record<string, InputValue>>;
}

export function inputsOf(definition: string): Result<readonly Input[], readonly string[]> {
  const reporter = createReporter(definitionName);
  const outline = readOutline(definition, reporter);
  const errors = reporter.diagnostics().filter(({ severity }) => severity === "error");
  if (outline !== undefined && errors.length === 0) return ok(outline.inputs);
  return err(errors.map((problem) => formatDiagnostic(problem, definitionName)));
}

const definitionName = ".wharf-ci.yml";

/** Unknown names are errors, which the original ignores. Without a definition all inputs are treated as secret. */
export function resolveInputs(
  definition: string | undefined,
  given: Readonly<Record<string, InputValue>>,
): Result<ResolvedInputs, readonly string[]> {
  if (definition === undefined || definition === "") return ok({ plain: {}, secret: given });
  const declared = inputsOf(definition);
  if (!declared.ok) return declared;
  const reporter = createReporter(definitionName);
  const texts = new Map(Object.entries(given).map(([name, value]) => [name, String(value)]));
  const variables = resolveVariables(inputVariables(declared.value, texts, reporter));
  const problems = reporter.diagnostics().filter(({ severity }) => severity === "error");
  if (problems.length > 0)
    return err(problems.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`)));
  const plain: Record<string, InputValue> = {};
  const secret: Record<string, string> = {};
  for (const { name } of declared.value) {
    const { isSecret, value = null, text = "" } = variables.get(name) ?? {};
    if (isSecret === true) secret[name] = text;
    else plain[name] = typeof value === "number" && Number.isFinite(value) ? value : text;
  }
  return ok({ plain, secret });
}

export function readInputs(
  body: JsonValue | undefined,
): Result<Readonly<Record<string, InputValue>>, readonly string[]> {
  if (body === undefined || body === null) return ok({});
  if (!isJsonObject(body)) return err(["expected a map of inputs"]);
  const values: Record<string, InputValue> = {};
  const problems: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    if (typeof value === "object") problems.push(`${name}: expected a text, number or boolean`);
    else values[name] = value;
  }
  return problems.length > 0 ? err(problems) : ok(values);
}
