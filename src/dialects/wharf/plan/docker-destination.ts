// In the original images have names of three or four parts: registry/group/repository, and the name of the step where a repository builds
// several. People who want another name give `destination`, and then none of the four has to be known.

import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot } from "../definition/step-rules.ts";
import { neededText, type PlanContext, variableText } from "./context.ts";

/** The group an image belongs to, if anything says. */
export const dockerGroup = (step: StepOfType<"docker">, context: PlanContext): string | undefined =>
  step.values.group ?? variableText(context, "REPO_GROUP", fieldSpot(step, "group"));

/**
 * Where an image is pushed, without its tag: what the step says, or else made of registry, group and repository, and of the name of the step
 * when that is another. Undefined when variables are missing, each of which is reported.
 */
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

/** Names of images have no scheme, which people leave in the address of their registry. */
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
