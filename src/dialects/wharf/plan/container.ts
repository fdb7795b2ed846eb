// The type that all others could be written with. Nothing of the build is in the environment of the commands but what the step gives them:
// variables of Wharf are substituted in the texts, where they are visible in the plan.

import { parseDuration } from "#lib/base/index.ts";
import type { StepOfType } from "../definition/definition.ts";
import { type PlanContext, projectSecret } from "./context.ts";
import { certificates } from "./mounts.ts";
import type { PlannedParts } from "./plan-step.ts";

/** There is no `/bin/sh` on Windows; a shell that was chosen is taken as it is. */
const windowsEntry = ["powershell.exe", "-C"];

/** Commands in an image of the user's choice; all of them are one text, so that a line may go on in the next. */
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
