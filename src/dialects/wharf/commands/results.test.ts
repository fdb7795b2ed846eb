import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  line = await commandLine({});
});
afterAll(() => line.close());

/** Results of builds that ended on these days of January. */
async function builds(folder: string, days: readonly number[]): Promise<string> {
  for (const [at, day] of days.entries()) {
    const directory = join(line.directory, folder, `${at + 1}`);
    await mkdir(join(directory, "steps"), { recursive: true });
    const build = {
      version: 1,
      buildId: at + 1,
      frozen: true,
      status: "Success",
      finishedAt: `2026-01-${String(day).padStart(2, "0")}T00:00:00Z`,
      stages: [],
      steps: [],
    };
    await writeFile(join(directory, "build.json"), JSON.stringify(build));
  }
  return join(line.directory, folder);
}

test("of results those that are neither young nor among the youngest go", async () => {
  const folder = await builds("a", [1, 3, 2]);
  const pruned = await line.run("wharf", "results", "prune", "--keep", "1", "--results-dir", "a");
  expect(pruned).toMatchObject({ code: 0, out: `${folder}/3\n${folder}/1\n` });
  expect(pruned.err).toContain("2 builds were removed");
  expect(await readdir(folder)).toEqual(["2"]);
  // A hundred years.
  const young = await line.run("wharf", "results", "prune", "--older-than", "876000h", "--results-dir", folder);
  expect(young).toMatchObject({ code: 0, out: "" });
});

test("nobody removes all by saying nothing", async () => {
  const { code, err } = await line.run("wharf", "results", "prune");
  expect(code).toBe(2);
  expect(err).toContain("expected --keep NUMBER, --older-than DURATION, or both");
});

test.each([
  [["prune", "--keep", "x"], 2, "expected a whole number"],
  [["prune", "--older-than", "1 week"], 2, "--older-than"],
  [["prune", "--keep", "1", "there"], 2, "expected --results-dir there"],
  [["prunee"], 2, "did you mean prune?"],
  [["serve"], 2, "expected the directory of the results"],
  [["serve", "nowhere"], 1, "expected the results of a build, found neither build.json nor steps"],
])("%j ends with %i", async (words, code, message) => {
  const told = await line.run("wharf", "results", ...words);
  expect([told.code, told.err]).toEqual([code, expect.stringContaining(message) as string]);
});

test("a token that cannot be read, and an address that is none, keep results from being served", async () => {
  await builds("b", [1]);
  await writeFile(join(line.directory, "empty"), "\n");
  const open = await line.run("wharf", "results", "serve", "b/1", "--auth-token-file", "empty");
  expect([open.code, open.err]).toEqual([2, expect.stringContaining("expected a token, found nothing") as string]);
  const nowhere = await line.run("wharf", "results", "serve", "b/1", "--address", "here");
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining("cannot listen on here") as string]);
});
