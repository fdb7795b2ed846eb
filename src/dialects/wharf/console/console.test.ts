import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { createResults, type ResultsStore } from "../results/results-store.ts";
import { newBuild } from "../results/testing/new-build.ts";
import { showBuild } from "./console.ts";
import type { Look } from "./look.ts";
import { spanOf } from "./look.ts";

const paint = {
  good: (text: string) => `<good ${text}>`,
  bad: (text: string) => `<bad ${text}>`,
  waiting: (text: string) => text,
  dim: (text: string) => text,
  bold: (text: string) => text,
  label: (index: number, text: string) => `${index}:${text}`,
};
const plain: Look = { form: "plain", paint, unicode: false, hasTimestamps: false, isQuiet: false };

let home: string;
let results: ResultsStore;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "slipway-console-"));
  results = await createResults(join(home, "results"), newBuild(2), { clock: systemClock });
});
afterEach(async () => {
  await results.close();
  await rm(home, { recursive: true, force: true });
});

/** An output whose reader takes everything, or nothing. */
const output = (backlog = 0) => {
  const texts: string[] = [];
  return { backlog, write: (text: string) => void texts.push(text), text: () => texts.join("") };
};

/** The second step prints and fails. */
async function fail(lines: readonly string[]): Promise<void> {
  await results.setStatus(2, "Running");
  const log = await results.openLog(2);
  for (const line of lines) log.append("stdout", Buffer.from(`${line}\n`));
  await results.setStatus(2, "Failed", 3, { reason: "ExitCode", message: "exit code 3" });
  await results.finish({ status: "Failed", message: "step build/step2 has failed" });
  await results.freeze();
}

describe("a build that is shown", () => {
  test("has the end of a step behind its last line, and a last block", async () => {
    const shown = output();
    const ended = showBuild(results, plain, shown, systemClock);
    await fail(["one", "two"]);
    expect(await ended).toBe(true);
    const text = shown.text().replaceAll(/\d+\.\ds/g, "T");
    expect(text).toContain(
      "1:build/step2 | * Running\n1:build/step2 | one\n1:build/step2 | two\n1:build/step2 | * <bad Failed>: exit code 3 (T)\n",
    );
    expect(text).toContain(
      "STAGE  STEP   STATUS  DURATION  EXIT CODE\nbuild  step1  None    -         -\nbuild  step2  <bad Failed>  T      3\n",
    );
    expect(text).toContain("\nlast lines of build/step2:\n  one\n  two\n");
    expect(
      text.endsWith(`build 7 <bad Failed> in T: step build/step2 has failed\nresults: ${results.directory}\n`),
    ).toBe(true);
  });

  test("quietly has the last block alone", async () => {
    const shown = output();
    const ended = showBuild(results, { ...plain, isQuiet: true }, shown, systemClock);
    await fail(["one"]);
    await ended;
    expect(shown.text()).toMatch(/^\nSTAGE/);
  });

  test("has times if they are wanted", async () => {
    const shown = output();
    const ended = showBuild(results, { ...plain, hasTimestamps: true }, shown, systemClock);
    await fail(["one"]);
    await ended;
    expect(shown.text()).toMatch(/\| \d{4}-\d\d-\d\dT[\d:.]+Z one\n/);
  });

  test("does not wait for a reader that is behind: what it misses is told once", async () => {
    const [shown, clock] = [output(9 * 1024 * 1024), new FakeClock()];
    const ended = showBuild(results, plain, shown, clock);
    await fail(["one", "two"]);
    let isTaken: boolean | undefined;
    void ended.then((taken) => (isTaken = taken));
    await expect.poll(() => (clock.advance(1_000), isTaken)).toBe(false);
    const text = shown.text();
    expect(text).not.toContain("| one");
    expect(text.split("output is read too slowly")).toHaveLength(2);
    expect(text).toContain(`results: ${results.directory}`);
  });
});

test.each([
  [0, "0.0s"],
  [1_250, "1.3s"],
  [59_900, "59.9s"],
  [65_000, "1m05s"],
  [3_725_000, "1h02m"],
])("%s ms are %s", (ms, text) => {
  expect(spanOf("2026-01-01T00:00:00Z", new Date(Date.UTC(2026, 0, 1) + ms).toISOString())).toBe(text);
});
