import { messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ContainerEngine } from "#kernel/runtimes/index.ts";
import type { Diagnostic } from "../../definition/diagnostics.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import type { PullPolicy } from "./images.ts";

export async function checkSteps(
  steps: readonly StepPlan[],
  engine: ContainerEngine,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  let system: string;
  try {
    system = await engine.system(signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const hint = thrown instanceof SlipwayError ? thrown.hint : undefined;
    return [problem(messageOf(thrown), "", hint ?? "start the engine, or use another runtime with --runtime")];
  }
  return steps
    .filter(({ os }) => os !== system)
    .map(({ stage, step, type, os }) =>
      problem(
        `a step for ${os} cannot run on an engine for ${system}`,
        `${stage}/${step}/${type}`,
        "leave its stage out with --stage",
      ),
    );
}

export async function missingImages(
  steps: readonly StepPlan[],
  engine: ContainerEngine,
  pull: PullPolicy,
): Promise<readonly Diagnostic[]> {
  const asked = new Map<string, Promise<unknown>>();
  for (const { image } of steps) if (!asked.has(image)) asked.set(image, engine.findImage(image));
  const found: Diagnostic[] = [];
  for (const { stage, step, type, image } of steps) {
    if ((await asked.get(image)) !== undefined) continue;
    const severity = pull === "never" ? "error" : "warning";
    const then = pull === "never" ? "--pull=never forbids pulling it" : "would be pulled";
    const message = `image ${JSON.stringify(image)} is not present and ${then}`;
    found.push({ severity, code: "image-missing", message, path: `${stage}/${step}/${type}`, related: [] });
  }
  return found;
}

const problem = (message: string, path: string, hint: string): Diagnostic => ({
  severity: "error",
  code: "runtime-unsupported",
  message,
  path,
  hint,
  related: [],
});
