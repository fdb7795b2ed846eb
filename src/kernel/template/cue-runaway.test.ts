import { afterAll, beforeAll, expect, test } from "vitest";
import { createCue } from "./cue-host.ts";
import type { TemplateHost } from "./template-host.ts";
import { realHost } from "./testing/index.ts";

let host: TemplateHost;

beforeAll(async () => {
  host = await realHost({ limits: { maxThreads: 1 } });
});

afterAll(() => host.close());

const good = { text: "parameter: name: string\noutput: kind: parameter.name", parameter: { name: "A" } };

test.each([
  [
    "17.22 a template without end",
    'import "list"\noutput: a: [for x in list.Range(0, 1000, 1) for y in list.Range(0, 1000, 1) for z in list.Range(0, 1000, 1) if x+y+z < 0 {x}]',
  ],
  ["17.22 a template that grows without bound", 'import "list"\noutput: a: list.Range(0, 10000000, 1)'],
  [
    "17.22 a text that doubles itself",
    `${Array.from({ length: 60 }, (_, at) => `a${at + 1}: "\\(a${at})\\(a${at})"`).join("\n")}\na0: "xxxxxxxx"\noutput: a: a60`,
  ],
])("%s ends in time or memory, and the next question is answered", { timeout: 60_000 }, async (_what, text) => {
  const cue = createCue({ templates: host, packages: {}, budgetMs: 2500 });
  const before = host.replaced.time + host.replaced.memory;
  const [runaway, behind] = await Promise.all([cue.render({ text }), cue.render(good)]);
  if (runaway.ok) return expect.fail("it has ended");
  expect(["time", "memory"]).toContain(runaway.error.kind);
  expect(host.replaced.time + host.replaced.memory).toBe(before + 1);
  expect(behind).toMatchObject({ ok: true, value: { output: { kind: "A" } } });
});

test.each([
  ["brackets", `output: a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`],
  ["structs", `output: ${"{a: ".repeat(20_000)}1${"}".repeat(20_000)}`],
  ["parentheses", `output: a: ${"(".repeat(20_000)}1${")".repeat(20_000)}`],
  ["a template in itself", "#A: {a: #A}\noutput: #A"],
])("17.22 %s that are thousands deep end in a failure", { timeout: 60_000 }, async (_what, text) => {
  const cue = createCue({ templates: host, packages: {}, budgetMs: 2500 });
  const [deep, behind] = await Promise.all([cue.render({ text }), cue.render(good)]);
  expect(deep.ok).toBe(false);
  expect(behind).toMatchObject({ ok: true, value: { output: { kind: "A" } } });
});
