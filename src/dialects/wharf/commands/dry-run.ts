import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { tell } from "./reading.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { isTold } from "./settings.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import type { StepRuntime } from "../worker/step-runtime.ts";
import { planData, planText } from "../dry-run.ts";

type RunInvocation = Invocation<WharfRunOptions>;

export async function printPlan(
  { prepared }: ReadDefinition,
  { options, environment }: RunInvocation,
): Promise<number> {
  const { plan = { stages: [] }, variables } = prepared;
  const isJson = options.output === "json";
  const json = () => `${JSON.stringify(planData(plan, variables), null, 2)}\n`;
  environment.out.write(isJson ? json() : planText(plan, variables));
  return exitCode.succeeded;
}

export async function tryOut(
  definition: ReadDefinition,
  runtime: StepRuntime,
  invocation: RunInvocation,
): Promise<number> {
  const { environment, signal } = invocation;
  try {
    await printPlan(definition, invocation);
    const steps = definition.prepared.plan?.stages.flatMap((stage) => stage.steps) ?? [];
    const found = (await runtime.preview(steps, signal)).filter(isTold(invocation.options.loglevel ?? "info"));
    const isRefused = tell(found, definition, environment.err);
    return isRefused ? exitCode.failed : exitCode.succeeded;
  } finally {
    await runtime.close();
  }
}
