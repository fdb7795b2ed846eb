import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Effects } from "./effects.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "effects-"));
  path = join(dir, "effects");
});
afterEach(() => rmSync(dir, { recursive: true }));

const steps = (...lines: readonly string[]) => appendFileSync(path, lines.map((line) => `${line}\n`).join(""));

test("steps of this window are waited for and counted, those of others are not", async () => {
  const effects = new Effects(path, "b-");
  expect(await effects.settled()).toBe(0);
  const reached = effects.reach(2);
  steps("a-0 0", "b-0 0", "a-0 1", "b-0 1");
  await reached;
  expect(await effects.settled()).toBe(2);
});

test("what began twice is counted, and what never began is an error", () => {
  const effects = new Effects(path, "b-");
  steps("b-0 0", "b-0 1", "b-1 0", "b-0 1");
  expect(() => effects.repeatsOf(2, 2)).toThrow("3 of 4 steps have ever begun");
  steps("b-1 1");
  expect(effects.repeatsOf(2, 2)).toBe(1);
});
