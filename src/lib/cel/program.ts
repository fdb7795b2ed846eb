import { err, type Result } from "#lib/base/index.ts";
import { compileSource, placeAt } from "./compile.ts";
import type { CelEnvironment, CelProblem, CelProgram } from "./types.ts";

/**
 * Parses and type-checks an expression once, for any number of evaluations. Use one environment object for many
 * expressions: preparing one is the expensive part. Never throws for a wrong expression; throws for an environment
 * whose types or signatures are malformed.
 */
export function compileExpression(source: string, environment: CelEnvironment): Result<CelProgram, CelProblem> {
  const compiled = compileSource(source, environment);
  if (compiled.ok) return compiled;
  const { kind, message, offset } = compiled.error;
  return err({ kind, message, ...placeAt(source, offset) });
}
