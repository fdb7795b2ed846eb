import { expect, test } from "vitest";
import { type Clock, err, FakeClock, ok, systemClock } from "#lib/base/index.ts";
import type { TemplateFailure } from "#kernel/template/index.ts";
import type { Templates } from "./ask.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { createRenderer } from "./renderer.ts";

const world = new MemoryWorld({ tasks: [{ Name: "t", Templates: [{ Name: "a", Contents: "x" }] }] });

const rendererOver = (templates: Templates, clock: Clock = systemClock) =>
  createRenderer({
    templates,
    clock,
    place: {
      provisionerUrl: "",
      apiUrl: "",
      machineToken: () => "",
      profileToken: () => "",
      open: (_owner, sealed) => Promise.resolve(sealed),
    },
  });

const subject = { collection: "tasks", name: "t", machine: undefined, os: "" } as const;

const failing = (kind: TemplateFailure["kind"]) =>
  rendererOver({ ask: () => Promise.resolve(err({ kind, message: `it is ${kind}`, problems: [] })) });

test.each([
  ["time", 422],
  ["memory", 422],
  ["crashed", 422],
  ["busy", 503],
  ["closed", 503],
] as const)("a module that fails for %s is answered with %i", async (kind, Code) => {
  expect(await failing(kind).actions(world, subject)).toMatchObject({
    ok: false,
    error: { Code, Messages: [`it is ${kind}`] },
  });
});

test.each([
  [0, 500],
  [1000, 30],
])("a module that never has enough is not asked for ever: %i ms a question", async (ms, questions) => {
  let asked = 0;
  const clock = new FakeClock();
  const ask: Templates["ask"] = async () => {
    if (ms > 0) await clock.advance(ms);
    return ok(JSON.stringify({ value: { needs: { params: [`p${asked++}`] } } }));
  };
  expect((await rendererOver({ ask }, clock).actions(world, subject)).ok).toBe(false);
  expect(asked).toBe(questions);
});
