import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ok, systemClock } from "#lib/base/index.ts";
import type { BuildPlan } from "../../plan/step-plan.ts";
import { createResults } from "../../results/results-store.ts";
import { type BuildRequest, runBuild } from "../run-build.ts";
import type { StepRuntime } from "../step-runtime.ts";
import { repositoryOf, shellStep } from "./step-job.ts";

type RunsIf = BuildPlan["stages"][number]["runsIf"];

/** `[["build", "success", ["one", "two"]], …]` as a plan. */
export function planOf(stages: readonly (readonly [string, RunsIf, readonly string[]])[]): BuildPlan {
  let stepId = 0;
  return {
    stages: stages.map(([name, runsIf, steps], index) => ({
      stageId: index + 1,
      name,
      runsIf,
      steps: steps.map((step) => shellStep("true", { stepId: ++stepId, stage: name, step })),
    })),
  };
}

export async function built(plan: BuildPlan, runtime: StepRuntime, more: Partial<BuildRequest> = {}) {
  const directory = await mkdtemp(join(tmpdir(), "slipway-build-"));
  try {
    const results = await createResults(
      join(directory, "results"),
      {
        buildId: 7,
        projectId: 1,
        instance: "local",
        runtime: "host",
        definitionSha256: "00",
        stages: plan.stages.map(({ stageId, name, runsIf }) => ({ stageId, name, runsIf })),
        steps: plan.stages.flatMap(({ stageId, steps }) =>
          steps.map(({ stepId, step, type, image }) => ({ stepId, stageId, name: step, type, image })),
        ),
      },
      { clock: systemClock },
    );
    const end = await runBuild({
      plan,
      results,
      runtime,
      repository: repositoryOf(),
      materialOf: () => Promise.resolve(ok({ env: {}, overlay: [], mounts: [], masked: [] })),
      masked: [],
      graceMs: 1000,
      clock: systemClock,
      signal: new AbortController().signal,
      ...more,
    });
    const { build } = results;
    const texts = results.logs.map(({ path }) => readFile(path, "utf8").catch(() => ""));
    return {
      end,
      build,
      steps: Object.fromEntries(build.steps.map(({ name, status }) => [name, status])),
      stages: Object.fromEntries(build.stages.map(({ name, status }) => [name, status])),
      artifacts: results.steps.flatMap(({ artifacts }) => artifacts.map(({ name }) => name)),
      logs: (await Promise.all(texts)).map((text) =>
        text
          .split("\n")
          .slice(0, -1)
          .map((line) => line.replace(/^\S+ /, "")),
      ),
      updates: results.steps.map(({ updates }) => updates.map(({ status }) => status)),
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
