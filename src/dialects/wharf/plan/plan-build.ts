// Stages run one after another and their steps together. Conditions are evaluated during the build and are part of
// the plan.

// A plan is data that describes steps independently of the runtime.

// As in the original, variables are substituted only in files that the step names.

// Commands see only the variables of their step; Wharf's variables are substituted in the texts and visible in the
// plan.

import type { Definition, Stage, Step, StepOfType } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import type { Substituter } from "../variables/substitute.ts";
import { type Selection, selectStages } from "./select.ts";
import type { PlanSettings } from "./settings.ts";
import type { BuildPlan, StagePlan, StepPlan, EnvEntry, PlannedParts } from "./step-plan.ts";
import { type PlanContext, variableText, projectSecret } from "./context.ts";
import { planDocker } from "./docker.ts";
import { planHelm, planHelmPackage, substituted } from "./helm.ts";
import { kubeconfig, certificates } from "./mounts.ts";
import { parseDuration } from "#lib/base/index.ts";

export interface PlanRequest extends Selection {
  readonly substituter: Substituter;
  readonly settings: PlanSettings;
}

/** Numbers are assigned to selected stages and steps in order, also to steps that cannot be planned. Unselected stages
 * are checked too. */
export function planBuild(definition: Definition, request: PlanRequest, reporter: Reporter): BuildPlan {
  const selected = selectStages(definition, request, reporter);
  for (const stage of definition.stages) if (!selected.includes(stage)) planSteps(stage, 1, false, request, reporter);
  let stepId = 1;
  const stages = selected.map((stage, index): StagePlan => {
    const steps = planSteps(stage, stepId, true, request, reporter);
    stepId += stage.steps.length;
    return { stageId: index + 1, name: stage.name, runsIf: stage.runsIf, steps };
  });
  return { stages };
}

function planSteps(
  { name, steps }: Stage,
  firstId: number,
  isSelected: boolean,
  { substituter, settings }: PlanRequest,
  reporter: Reporter,
): readonly StepPlan[] {
  const context = { substituter, settings, reporter, isSelected };
  return steps.flatMap((step, index) => planStep(step, name, firstId + index, context) ?? []);
}

/** Undefined, after reporting, if required variables are missing. */
function planStep(step: Step, stage: string, stepId: number, context: PlanContext): StepPlan | undefined {
  const parts = partsOf(step, context);
  if (parts === undefined) return undefined;
  const { overlay = [], env = [], ...more } = parts;
  return {
    stepId,
    stage,
    step: step.name,
    type: step.type,
    workdir: "/mnt/repo",
    envFrom: [],
    mounts: [],
    pullPolicy: "IfNotPresent",
    os: "linux",
    artifacts: [],
    testResults: [],
    ...more,
    env: [...env, ...commonEnv(step, stage, context)],
    repo: { overlay },
  };
}

function partsOf(step: Step, context: PlanContext): PlannedParts | undefined {
  switch (step.type) {
    case "container":
      return planContainer(step, context);
    case "docker":
      return planDocker(step, context);
    case "helm":
      return planHelm(step, context);
    case "helm-package":
      return planHelmPackage(step, context);
    case "kubectl":
      return planKubectl(step, context);
    case "nuget-package":
      return planNuget(step, context);
  }
}

/** Variables of every step; the build's number is left out if it has none. */
function commonEnv(step: Step, stage: string, context: PlanContext): readonly EnvEntry[] {
  const build = variableText(context, "BUILD_REF", { scope: step.scope, at: step.at });
  return [
    { name: "CI", value: "true" },
    { name: "WHARF_ARTIFACTS_DIR", value: "/mnt/artifacts" },
    ...(build === undefined ? [] : [{ name: "WHARF_BUILD_ID", value: build }]),
    { name: "WHARF_STAGE", value: stage },
    { name: "WHARF_STEP", value: step.name },
  ];
}

function planKubectl(step: StepOfType<"kubectl">, { settings }: PlanContext): PlannedParts {
  const { file, files = [], namespace, action, force, cluster } = step.values;
  const all = [...files, ...(file === undefined || file === "" ? [] : [file])];
  return {
    image: settings.kubectlImage,
    entry: ["kubectl"],
    args: [
      action,
      ...(namespace === undefined || namespace === "" ? [] : ["--namespace", namespace]),
      ...all.flatMap((path) => ["--filename", path]),
      ...(force ? ["--force"] : []),
    ],
    mounts: kubeconfig(cluster),
    overlay: substituted(all),
  };
}

const windowsEntry = ["powershell.exe", "-C"];

function planContainer(step: StepOfType<"container">, context: PlanContext): PlannedParts | undefined {
  const { image, cmds, os, shell, secretName, serviceAccount, certificatesMountPath, env, timeout } = step.values;
  const { artifacts = [], testResults = [] } = step.values;
  const secret = secretName === undefined || secretName === "" ? "" : projectSecret(context, secretName, step);
  if (secret === undefined) return undefined;
  const isWindows = os === "windows";
  const duration = timeout === undefined ? undefined : parseDuration(timeout);
  return {
    image,
    entry: isWindows && shell === "/bin/sh" ? windowsEntry : [shell, "-c"],
    args: [cmds.join("\n")],
    env: [...(env ?? [])].map(([name, value]) => ({ name, value })),
    envFrom: secret === "" ? [] : [secret],
    mounts: certificates(certificatesMountPath),
    serviceAccount,
    pullPolicy: "Always",
    os: isWindows ? "windows" : "linux",
    artifacts,
    testResults,
    ...(duration?.ok ? { timeoutMs: duration.value } : {}),
  };
}

// Exit codes are the original's: 1 not packed, 2 the version exists, 3 not pushed.
const script = [
  'dotnet pack "$NUGET_PROJECT_PATH" --output nugets/ -p:Version="$NUGET_VERSION" || exit 1',
  "for package in nugets/*.nupkg; do",
  '  output=$(dotnet nuget push "$package" --source "$NUGET_REPO" --api-key "$NUGET_TOKEN" 2>&1)',
  "  code=$?",
  "  printf '%s\\n' \"$output\"",
  '  [ "$code" -eq 0 ] && continue',
  '  case "$output" in',
  '    *"not allow overwriting packages that already exist"*|*409*)',
  '      [ "$NUGET_SKIP_DUP" = true ] || exit 2 ;;',
  "    *) exit 3 ;;",
  "  esac",
  "done",
].join("\n");

function planNuget(step: StepOfType<"nuget-package">, { settings }: PlanContext): PlannedParts {
  const { version, repo, certificatesMountPath } = step.values;
  return {
    image: settings.nugetImage,
    entry: ["/bin/sh", "-c"],
    args: [script],
    env: [
      { name: "NUGET_REPO", value: repo },
      { name: "NUGET_PROJECT_PATH", value: step.values["project-path"] },
      { name: "NUGET_VERSION", value: version },
      { name: "NUGET_SKIP_DUP", value: String(step.values["skip-duplicate"]) },
      { name: "NUGET_TOKEN", secretRef: { name: "wharf-nuget-api-token", key: "token" } },
    ],
    mounts: certificates(certificatesMountPath),
  };
}
