import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import type { Input } from "../definition/definition.ts";
import { createReporter, formatDiagnostic } from "../definition/diagnostics.ts";
import { readOutline } from "../definition/outline.ts";
import { inputVariables } from "../variables/input-variables.ts";
import { resolveVariables } from "../variables/variable.ts";

// Inputs are resolved before a build is stored, and again when its worker is asked for: in between nothing is lost, and a build that was created
// without looking at the definition is held to it all the same.

/** A value of an input as a client may give it. */
export type InputValue = string | number | boolean;

/** Values of all inputs of a definition, in its order; those that are nobody's to see apart. */
export interface ResolvedInputs {
  readonly plain: Readonly<Record<string, InputValue>>;
  readonly secret: Readonly<Record<string, InputValue>>;
}

/** The inputs that a definition declares; undefined, with everything that is wrong, where it cannot be read. */
export function inputsOf(definition: string): Result<readonly Input[], readonly string[]> {
  const reporter = createReporter(definitionName);
  const outline = readOutline(definition, reporter);
  const errors = reporter.diagnostics().filter(({ severity }) => severity === "error");
  if (outline !== undefined && errors.length === 0) return ok(outline.inputs);
  return err(errors.map((problem) => formatDiagnostic(problem, definitionName)));
}

/** How problems call it. */
const definitionName = ".wharf-ci.yml";

/**
 * The values that a build is run with: those that are given, else defaults. Names that the definition does not have are refused, where the original
 * drops them: who misspells an input would get a build with its default. Without a definition nobody knows them, nor which are
 * passwords: all are passed on as if they were.
 */
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

/** The body of a request that starts a build: a map of scalars. The error is what is wrong with it. */
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
