import { expect, test } from "vitest";
import { agentName } from "./agent-name.ts";

test.each([
  ["02:00:00:00:00:0A", "02-00-00-00-00-0a"],
  ["02-00-00-00-00-0a", "02-00-00-00-00-0a"],
  [" /dev/sda ", "dev-sda"],
  ["Node__7", "node-7"],
  ["a".repeat(100), "a".repeat(63)],
])("agent %s is named %s", (agentID, name) => {
  expect(agentName(agentID)).toBe(name);
});

test("an id of which no name can be made has one all the same", () => {
  expect(agentName("::")).toMatch(/^[a-z2-7]{8}$/);
});
