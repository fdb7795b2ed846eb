import { expect, test } from "vitest";
import type { Definition } from "./definition.ts";
import { remembered } from "./remembered.ts";

test("attack: a definition that changes during a pass has the writers of the version that runs", async () => {
  let version = 0;
  const found = (name: string): Definition => ({
    type: "workflow-step",
    name,
    template: `version ${++version}`,
    spec: {},
    annotations: {},
    writers: [{ user: `writer ${version}`, groups: [] }],
  });
  const definitions = remembered({
    find: (_type, name) => Promise.resolve(found(name)),
    names: () => Promise.resolve([]),
  });
  const asked = await Promise.all([
    definitions.find("workflow-step", "a", "default"),
    definitions.find("workflow-step", "a", "default"),
    definitions.find("workflow-step", "a", "other"),
  ]);
  expect(asked.map((one) => one?.template)).toEqual(["version 1", "version 1", "version 2"]);
  expect(await definitions.find("workflow-step", "a", "default")).toMatchObject({ writers: [{ user: "writer 1" }] });
});
