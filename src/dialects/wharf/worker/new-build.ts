import { createHash } from "node:crypto";
import { withoutValues } from "#kernel/logs/index.ts";
import type { BuildPlan } from "../plan/step-plan.ts";
import type { NewBuild } from "../results/results-store.ts";
import { secretTexts } from "../variables/secret-texts.ts";
import type { ReadDefinition } from "../world/read-definition.ts";

/** Names and images may contain secrets, which are masked because results are shown to others. */
export function newBuild(
  plan: BuildPlan,
  {
    file,
    prepared,
  }: {
    readonly file: Pick<ReadDefinition["file"], "bytes">;
    readonly prepared: Pick<ReadDefinition["prepared"], "variables">;
  },
  { buildId, projectId, instance, runtime }: Pick<NewBuild, "buildId" | "projectId" | "instance" | "runtime">,
): NewBuild {
  const secrets = secretTexts(prepared.variables);
  const shown = (text: string): string => withoutValues(text, secrets);
  return {
    buildId,
    projectId,
    instance,
    runtime,
    definitionSha256: createHash("sha256").update(file.bytes).digest("hex"),
    stages: plan.stages.map(({ stageId, name, runsIf }) => ({ stageId, name: shown(name), runsIf })),
    steps: plan.stages.flatMap(({ stageId, steps }) =>
      steps.map(({ stepId, step, type, image }) => ({ stepId, stageId, name: shown(step), type, image: shown(image) })),
    ),
  };
}
