// Image names are registry/group/repository, plus the name of the step if a repository builds several. With
// `destination` none of these is needed.

import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot } from "../definition/step-rules.ts";
import { neededText, type PlanContext, variableText } from "./context.ts";

export const dockerGroup = (step: StepOfType<"docker">, context: PlanContext): string | undefined =>
  step.values.group ?? variableText(context, "REPO_GROUP", fieldSpot(step, "group"));

/** Destination without a tag; undefined after reporting missing variables. */
export function dockerDestination(step: StepOfType<"docker">, context: PlanContext): string | undefined {
  const { destination, name = step.name } = step.values;
  if (destination !== undefined && destination !== "") return withoutScheme(destination, step, context);
  const registry = step.values.registry ?? neededText(context, "REG_URL", step, "registry");
  const group = step.values.group ?? neededText(context, "REPO_GROUP", step, "group");
  const repository = neededText(context, "REPO_NAME", step, "destination");
  if (registry === undefined || group === undefined || repository === undefined) return undefined;
  const parts = [registry.replace(/\/+$/, ""), group, repository, ...(name === repository ? [] : [name])];
  return withoutScheme(parts.join("/"), step, context);
}

function withoutScheme(destination: string, step: StepOfType<"docker">, { reporter }: PlanContext): string {
  const bare = destination.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\//, "");
  if (bare !== destination)
    reporter.warn(
      fieldSpot(step, "destination"),
      "scheme-stripped",
      `names of images have no scheme; taken as ${bare}`,
    );
  return bare;
}
