import { expect, test } from "vitest";
import type { Effect } from "#engine/index.ts";
import type { Workflow } from "../kinds.ts";
import type { Stored } from "#kernel/model/index.ts";
import { dueEffects } from "./effects.ts";
import { effectName, Memories, type Memory } from "./memory.ts";

const start: Effect = { kind: "start", step: "a", attempt: 1 };
const workflow = { metadata: { uid: "u" } } as Stored<Workflow>;

/** A controller that has carried out the start at this moment. */
function performedAt(at: number): Memory {
  const memory = new Memories().of("default/wf", workflow);
  memory.performed.set(effectName(start), at);
  return memory;
}

test.each([
  ["a moment later", 1_000, false],
  ["half a minute later", 30_000, true],
  ["when the clock was set back", -3_600_000, true],
])("what was done and is still owed is done again: %s", (_when, later, isDue) => {
  expect(dueEffects([start], performedAt(1e12), 1e12 + later)).toEqual(isDue ? [start] : []);
});

test("what is no longer owed is forgotten", () => {
  const memory = performedAt(0);
  dueEffects([], memory, 0);
  expect(memory.performed.size).toBe(0);
});
