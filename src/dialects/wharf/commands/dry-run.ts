import { withoutValues } from "#kernel/streams/index.ts";
import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import type { BuildPlan, EnvEntry, Mount, Overlay, StagePlan, StepPlan } from "../plan/step-plan.ts";
import { secretTexts } from "../variables/secret-texts.ts";
import { masked, type Variables } from "../variables/variable.ts";
import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { tell } from "./reading.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { isTold } from "./settings.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import type { StepRuntime } from "../worker/step-runtime.ts";

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

export const planData = (plan: BuildPlan, variables: Variables): JsonValue =>
  withoutSecrets(JSON.parse(JSON.stringify(plan)) as JsonValue, secretTexts(variables));

function withoutSecrets(value: JsonValue, secrets: readonly string[]): JsonValue {
  if (typeof value === "string") return withoutValues(value, secrets);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => withoutSecrets(item, secrets));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecrets(item ?? null, secrets)]));
}

export function planText(plan: BuildPlan, variables: Variables): string {
  const shown = planData(plan, variables) as unknown as BuildPlan;
  return shown.stages.map(stageText).join("\n");
}

const stageText = ({ stageId, name, runsIf, steps }: StagePlan): string =>
  `stage ${stageId} ${name}${runsIf === "success" ? "" : ` (runs if: ${runsIf})`}\n${steps.map(stepText).join("")}`;

function stepText(step: StepPlan): string {
  const { entry = ["(entry of the image)"], args, env, envFrom, mounts, repo, timeoutMs } = step;
  const rows = [
    ["image", [step.image]],
    ["command", [[...entry.map(quoted), ...args.map(quoted)].join(" ")]],
    ["variables", [...env.map(envText), ...envFrom.map((name) => `all keys of secret ${name}`)]],
    ["mounts", mounts.map(mountText)],
    ["files", repo.overlay.map(overlayText)],
    ["artifacts", step.artifacts],
    ["test results", step.testResults],
    ["account", step.serviceAccount === undefined ? [] : [step.serviceAccount]],
    ["timeout", timeoutMs === undefined ? [] : [`${timeoutMs / 1000}s`]],
  ] as const;
  const lines = rows.flatMap(([title, values]) =>
    values.map((value, index) => `    ${(index === 0 ? title : "").padEnd(13)}${indented(value)}\n`),
  );
  return `  step ${step.stepId} ${step.step}: ${step.type}\n${lines.join("")}`;
}

const indented = (value: string): string => value.replaceAll("\n", `\n${" ".repeat(17)}`);

const quoted = (word: string): string =>
  /^[\w@%+=:,./()-]+$/.test(word) || word === "(entry of the image)" ? word : `'${word.replaceAll("'", "'\\''")}'`;

const envText = (entry: EnvEntry): string =>
  "value" in entry
    ? `${entry.name}=${quoted(entry.value)}`
    : `${entry.name}=${masked} (key ${entry.secretRef.key} of secret ${entry.secretRef.name})`;

const mountText = ({ kind, name, items, path }: Mount): string => {
  const picked = Object.entries(items ?? {}).map(([key, file]) => (key === file ? key : `${key} as ${file}`));
  const what = kind === "secret" ? "secret" : "config map";
  return `${what} ${name} at ${path}${picked.length === 0 ? "" : ` (${picked.join(", ")})`}`;
};

const overlayText = ({ path, change }: Overlay): string =>
  `${path} (${change === "substitute" ? "with its variables" : "with lines at its end"})`;
