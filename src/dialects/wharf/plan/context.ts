// Defaults that depend on variables are only looked up where needed, so that a step with a `destination` needs no
// registry.

import type { Report, Reporter, Spot } from "../definition/diagnostics.ts";
import type { Step } from "../definition/definition.ts";
import { fieldSpot } from "../definition/step-rules.ts";
import { isFailure, reportFailure, type Substituter } from "../variables/substitute.ts";
import type { PlanSettings } from "./settings.ts";

export interface PlanContext {
  readonly substituter: Substituter;
  readonly settings: PlanSettings;
  readonly reporter: Reporter;
  /** In stages that are not selected missing variables are only warnings. */
  readonly isSelected: boolean;
}

/** Undefined if the variable is not set; loops are reported. */
export function variableText(context: PlanContext, name: string, spot: Spot): string | undefined {
  const result = context.substituter.substitute(`\${${name}}`);
  if (!isFailure(result)) return result.unknown.has(name) ? undefined : result.scalar.text;
  reportFailure(result, spot, context.reporter);
  return undefined;
}

/** Reports a missing variable at the field. */
export function neededText(context: PlanContext, name: string, step: Step, field: string): string | undefined {
  const spot = fieldSpot(step, field);
  const text = variableText(context, name, spot);
  if (text === undefined) reportMissing(context, name, spot);
  return text;
}

/** Undefined, after reporting each missing variable, unless all are set. */
export function neededTexts(
  context: PlanContext,
  names: readonly string[],
  step: Step,
  field: string,
): readonly string[] | undefined {
  const texts = names.map((name) => neededText(context, name, step, field));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function reportMissing({ reporter, isSelected }: PlanContext, name: string, spot: Spot): void {
  const report: Report = isSelected ? reporter.error : reporter.warn;
  const hint = hints[name] ?? `set it in .wharf-vars.yml, or as WHARF_VAR_${name}`;
  report(spot, "var-missing", `the variable ${name} is needed here and not set`, { hint });
}

const hints: Readonly<Record<string, string>> = {
  PROJECT_ID: "set it with --project-id",
  BUILD_REF: "set it with --build-id",
};

export function projectSecret(context: PlanContext, secretName: string, step: Step): string | undefined {
  const project = neededText(context, "PROJECT_ID", step, "secretName");
  return project && `wharf-${context.settings.instance}-project-${project}-secretname-${secretName}`;
}
