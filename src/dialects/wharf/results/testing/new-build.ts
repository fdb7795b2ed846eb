import type { NewBuild } from "../results-store.ts";

export const newBuild = (steps: number): NewBuild => ({
  buildId: 7,
  projectId: 1,
  instance: "local",
  runtime: "host",
  definitionSha256: "00",
  stages: [{ stageId: 1, name: "build", runsIf: "success" }],
  steps: Array.from({ length: steps }, (_, at) => ({
    stepId: at + 1,
    stageId: 1,
    name: `step${at + 1}`,
    type: "container",
    image: "busybox",
  })),
});
