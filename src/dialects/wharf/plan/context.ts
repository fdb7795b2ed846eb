// Defaults that depend on variables. They are asked for only where they are needed: a step that says where its image goes needs no registry,
// and must not be refused on a machine that has none.

import type { Report, Reporter, Spot } from "../definition/diagnostics.ts";
import type { Step } from "../definition/definition.ts";
import { fieldSpot } from "../definition/step-rules.ts";
import { isFailure, reportFailure, type Substituter } from "../variables/substitute.ts";
import type { PlanSettings } from "./settings.ts";

/** What steps are planned with. */
export interface PlanContext {
  readonly substituter: Substituter;
  readonly settings: PlanSettings;
  readonly reporter: Reporter;
  /** Whether the stage will run: of one that will not, a missing variable is no more than worth knowing. */
  readonly isSelected: boolean;
}

/** The text of a variable, substituted; undefined when there is none. Loops are reported at the spot. */
export function variableText(context: PlanContext, name: string, spot: Spot): string | undefined {
  const result = context.substituter.substitute(`\${${name}}`);
  if (!isFailure(result)) return result.unknown.has(name) ? undefined : result.scalar.text;
  reportFailure(result, spot, context.reporter);
  return undefined;
}

/** As `variableText`, of a variable that a default needs; undefined, reported at the field, when there is none. */
export function neededText(context: PlanContext, name: string, step: Step, field: string): string | undefined {
  const spot = fieldSpot(step, field);
  const text = variableText(context, name, spot);
  if (text === undefined) reportMissing(context, name, spot);
  return text;
}

/** Texts of all of several variables, or undefined when one is missing; each that is missing is reported. */
export function neededTexts(
  context: PlanContext,
  names: readonly string[],
  step: Step,
  field: string,
): readonly string[] | undefined {
  const texts = names.map((name) => neededText(context, name, step, field));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** Says that a variable is missing, and where variables can be set. */
function reportMissing({ reporter, isSelected }: PlanContext, name: string, spot: Spot): void {
  const report: Report = isSelected ? reporter.error : reporter.warn;
  const hint = hints[name] ?? `set it in .wharf-vars.yml, or as WHARF_VAR_${name}`;
  report(spot, "var-missing", `the variable ${name} is needed here and not set`, { hint });
}

/** Variables that are set by options, which is simpler than by files. */
const hints: Readonly<Record<string, string>> = {
  PROJECT_ID: "set it with --project-id",
  BUILD_REF: "set it with --build-id",
};

/** The Secret of the project that a step names; undefined, reported, without a project. */
export function projectSecret(context: PlanContext, secretName: string, step: Step): string | undefined {
  const project = neededText(context, "PROJECT_ID", step, "secretName");
  return project && `wharf-${context.settings.instance}-project-${project}-secretname-${secretName}`;
}
