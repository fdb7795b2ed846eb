// Commands see only the variables of their step; Wharf's variables are substituted in the texts and visible in the
// plan.

import { parseDuration } from "#lib/base/index.ts";
import type { StepOfType } from "../definition/definition.ts";
import { type PlanContext, projectSecret } from "./context.ts";
import { certificates } from "./mounts.ts";
import type { PlannedParts } from "./step-plan.ts";

const windowsEntry = ["powershell.exe", "-C"];

export function planContainer(step: StepOfType<"container">, context: PlanContext): PlannedParts | undefined {
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
