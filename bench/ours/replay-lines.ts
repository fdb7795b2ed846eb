// What the programs of B9c have in common.

import { sized } from "../harness/sizes.ts";

export const replayLines = sized(500_000);
/** With its newline, and without what is written before it. */
export const replayLine = `${"x".repeat(99)}\n`;

export const replayBuild = {
  buildId: 1,
  projectId: 1,
  instance: "local",
  runtime: "host",
  definitionSha256: "00",
  stages: [{ stageId: 1, name: "build", runsIf: "success" }],
  steps: [{ stepId: 1, stageId: 1, name: "print", type: "container", image: "" }],
} as const;
