// As in the original, variables are substituted only in files that the step names.

import type { StepOfType } from "../definition/definition.ts";
import type { PlanContext } from "./context.ts";
import { substituted } from "./helm.ts";
import { kubeconfig } from "./mounts.ts";
import type { PlannedParts } from "./step-plan.ts";

export function planKubectl(step: StepOfType<"kubectl">, { settings }: PlanContext): PlannedParts {
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
