import type { ReadDefinition, StepRuntime } from "../dialect.ts";
import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { tell } from "./reading.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { isTold } from "./settings.ts";

type RunInvocation = Invocation<WharfRunOptions>;

export async function printPlan(
  { prepared }: ReadDefinition,
  { options, environment }: RunInvocation,
): Promise<number> {
  const { loadDryRun } = await import("../dialect.ts");
  const { planData, planText } = await loadDryRun();
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
    const { loadWharf } = await import("../dialect.ts");
    const steps = definition.prepared.plan?.stages.flatMap((stage) => stage.steps) ?? [];
    const found = (await runtime.preview(steps, signal)).filter(isTold(invocation.options.loglevel ?? "info"));
    const isRefused = tell(found, definition, await loadWharf(), environment.err);
    return isRefused ? exitCode.failed : exitCode.succeeded;
  } finally {
    await runtime.close();
  }
}
