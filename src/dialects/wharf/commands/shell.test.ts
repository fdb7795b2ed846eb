import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  const variables: Record<string, string> = { PATH: process.env["PATH"] ?? "" };
  line = await commandLine({ variables });
  variables["SHELL"] = join(line.directory, "shell");
  variables["TMPDIR"] = line.directory;
  await writeFile(join(line.directory, "shell"), '#!/bin/sh\npwd > "$WHARF_ARTIFACTS_DIR/where"\nexit 7\n');
  await chmod(join(line.directory, "shell"), 0o755);
  const results = join(line.directory, "iver-wharf/build/12");
  for (const part of ["repo", "artifacts"]) await mkdir(join(results, "work/2", part), { recursive: true });
  const steps = ["good", "bad"].map((name, at) => ({ stepId: at + 1, stageId: 1, name, status: "Failed" }));
  const build = { version: 1, buildId: 12, frozen: true, stages: [{ stageId: 1, name: "a" }], steps };
  await writeFile(join(results, "build.json"), JSON.stringify(build));
});
afterAll(() => line.close());

test.each(["12/2", "12/bad", "./iver-wharf/build/12/bad"])(
  "a shell is opened in what %s has worked in",
  async (word) => {
    const { code, err } = await line.run("wharf", "shell", word);
    expect([code, err]).toEqual([7, expect.stringContaining("step bad (Failed) of build ")]);
    const work = join(line.directory, "iver-wharf/build/12/work/2");
    expect(await readFile(join(work, "artifacts/where"), "utf8")).toBe(`${join(work, "repo")}\n`);
  },
);

test("of a container that was kept it is told how it is looked into", async () => {
  const results = join(line.directory, "iver-wharf/build/14");
  await mkdir(results);
  const steps = [{ stepId: 1, stageId: 1, name: "bad", status: "Failed" }];
  const build = {
    version: 1,
    buildId: 14,
    runtime: "docker",
    frozen: true,
    stages: [{ stageId: 1, name: "a" }],
    steps,
  };
  await writeFile(join(results, "build.json"), JSON.stringify(build));
  expect(await line.run("wharf", "shell", "14/bad")).toMatchObject({
    code: 1,
    err: expect.stringContaining("docker ps --all --filter label=slipway.dev/keep"),
  });
});

test("what is not kept, or not there, is told", async () => {
  expect((await line.run("wharf", "shell", "12/good")).err).toContain(
    "no files of step good are kept; use --keep to keep",
  );
  expect((await line.run("wharf", "shell", "12/x")).err).toContain(
    "build 12 has no step x; its steps are 1 (good), 2 (bad)",
  );
  expect((await line.run("wharf", "shell", "13/x")).code).toBe(1);
  expect(await line.run("wharf", "shell", "12")).toMatchObject({
    code: 2,
    err: expect.stringContaining("expected BUILD/STEP"),
  });
});
