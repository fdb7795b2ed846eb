// Everything that can be known is checked before the build, so that a missing tool does not waste the first stages.

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { createReporter, type Diagnostic, type Reporter } from "../../definition/diagnostics.ts";
import type { StepType } from "../../definition/step-fields.ts";
import type { StepPlan } from "../../plan/step-plan.ts";

const toolsByType: Readonly<Partial<Record<StepType, string>>> = { "helm-package": "helm", "nuget-package": "dotnet" };

const hint = "install it, or use --runtime docker or kubernetes";

export async function checkSteps(steps: readonly StepPlan[], path: readonly string[]): Promise<readonly Diagnostic[]> {
  const present = new Map<string, Promise<boolean>>();
  const isPresent = (program: string): Promise<boolean> => {
    const known = present.get(program) ?? isProgram(program, path);
    present.set(program, known);
    return known;
  };
  const reporter = createReporter("");
  const named = steps.find(({ type }) => type === "container");
  const ignored = "steps run unconfined on this machine as you; images are ignored";
  if (named !== undefined) reporter.warn({ scope: scopeOf(named) }, "image-ignored", ignored);
  for (const step of steps) await checkStep(step, isPresent, reporter);
  return reporter.diagnostics();
}

const scopeOf = ({ stage, step, type }: StepPlan): string => `${stage}/${step}/${type}`;

async function checkStep(
  step: StepPlan,
  isPresent: (program: string) => Promise<boolean>,
  reporter: Reporter,
): Promise<void> {
  const refuse = (message: string, advice: string): void =>
    reporter.error({ scope: scopeOf(step) }, "runtime-unsupported", message, { hint: advice });
  if (step.type === "docker")
    return refuse("the host runtime cannot build images", "use another runtime, such as --runtime docker");
  if (step.os === "windows") return refuse("a step for windows cannot run here", "leave its stage out with --stage");
  const tool = toolsByType[step.type];
  const needed = [...(step.entry?.slice(0, 1) ?? []), ...(tool === undefined ? [] : [tool])];
  for (const program of needed) if (!(await isPresent(program))) refuse(`program ${program} is not installed`, hint);
}

async function isProgram(program: string, path: readonly string[]): Promise<boolean> {
  const places = isAbsolute(program) ? [program] : path.map((directory) => join(directory, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
