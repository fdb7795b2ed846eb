import { expect, test } from "vitest";
import { prepared } from "../testing/prepared.ts";
import { newBuild } from "./start-build.ts";

const definition = `inputs:
  - {name: pw, type: password, default: hunter2}
  - {name: tag, type: string, default: v1}
s:
  "n-\${pw}": {container: {image: "reg/\${pw}:\${tag}", cmds: [x]}}
`;

test("names and images that are made of passwords are shown with stars", () => {
  const bytes = new TextEncoder().encode(definition);
  const ready = prepared(definition);
  const { plan = { stages: [] } } = ready;
  expect(plan.stages[0]?.steps[0]).toMatchObject({ step: "n-hunter2", image: "reg/hunter2:v1" });
  const identity = { buildId: 1, projectId: 2, instance: "local", runtime: "host" } as const;
  const build = newBuild(plan, { file: { bytes }, prepared: ready }, identity);
  expect(build.steps).toMatchObject([{ name: "n-***", image: "reg/***:v1" }]);
  expect(JSON.stringify(build)).not.toContain("hunter2");
});
