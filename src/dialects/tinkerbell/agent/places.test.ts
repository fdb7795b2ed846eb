import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileName } from "#kernel/streams/index.ts";
import { keyOf, logPathOf, removeWork, uidOf, workDirectoryOf } from "./places.ts";
import { agentWorkflow, execution } from "./testing/executions.ts";

test("logs and executions are found by the workflow's uid", () => {
  const one = execution(agentWorkflow("w", "one"), 0, 2);
  expect(logPathOf("/state", one)).toBe("/state/logs/uid-w/id-one.log");
  expect(keyOf(one)).toBe("uid-w/id-one/2");
  expect(uidOf("opaque")).toBe("opaque");
});

test("an id never leads out of its directory, and two ids never to one file", () => {
  const names = ["..", ".", "", "a/b", "a_b", "a\0b", "x".repeat(300), "x".repeat(301), ".hidden"].map(fileName);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,119}$/);
  expect(new Set(names).size).toBe(names.length);
});

test("what earlier executions have left goes, but for the one that is kept", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-work-"));
  const workflow = agentWorkflow("w", "one", "two");
  await removeWork(directory, undefined);
  await mkdir(join(directory, "work"));
  for (const index of [0, 1]) await mkdir(workDirectoryOf(directory, execution(workflow, index)));
  await removeWork(directory, execution(workflow, 1));
  expect(await readdir(join(directory, "work"))).toEqual(["uid-w+id-two+1"]);
  await removeWork(directory, undefined);
  expect(await readdir(join(directory, "work"))).toEqual([]);
  await rm(directory, { recursive: true });
});
