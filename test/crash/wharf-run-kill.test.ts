import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeDirectory } from "../support/slipway.ts";
import {
  messagesOf,
  processesBelow,
  readBuildFile,
  resultsOf,
  startWharf,
  type WharfProject,
  wharfProject,
} from "../support/wharf.ts";
import { rounds } from "#test/support/rounds.ts";

// A worker that is killed with SIGKILL at a random moment leaves processes, scratch and results that nobody ends. The next build of the same user
// ends all of it, whatever it is a build of.

const kills = rounds(2, 50);

// One step with a process that leaves its group, one that ignores what it is asked, one that is quick.
const definition = `s:
  talk: {container: {image: any, cmds: ["setsid sleep 1000 & n=0; while :; do n=$((n+1)); echo line $n; done"]}}
  deaf: {container: {image: any, cmds: ["trap '' TERM; while :; do sleep 1000; done"]}}
t:
  late: {container: {image: any, cmds: ["true"]}}
`;

let broken: WharfProject;
let next: WharfProject;
beforeAll(async () => {
  broken = await wharfProject(definition);
  next = { ...(await wharfProject(`s:\n  a: {container: {image: any, cmds: ["true"]}}\n`)), env: broken.env };
});
afterAll(async () => {
  await removeDirectory(broken.home);
  await removeDirectory(next.home);
});

test.each(Array.from({ length: kills }, (_, at) => at + 1))("a worker that is killed, %s", async (round) => {
  const id = round * 2;
  const build = startWharf(broken, ["--build-id", `${id}`, "--quiet"]);
  const directory = resultsOf(broken, id);
  await expect.poll(() => readdir(directory).catch(() => []), { interval: 5 }).toContain("build.json");
  // From before the first step until both have been running for a while.
  const delay = Math.random() * 400;
  await new Promise((resolve) => setTimeout(resolve, delay));
  build.child.kill("SIGKILL");
  expect(await build.ended).toEqual({ code: null, signal: "SIGKILL" });

  const after = startWharf(next, ["--build-id", `${id + 1}`, "--quiet"]);
  expect(await after.ended).toEqual({ code: 0, signal: null });
  await expect.poll(() => processesBelow(join(broken.home, "tmp"))).toEqual([]);
  const running = await readdir(join(broken.home, "tmp/iver-wharf/running"));
  expect(running).toEqual([]);
  const left = await readBuildFile(directory);
  // Killed between its first file and its note it has run nothing, and is for its readers to end.
  if (!left.frozen) return expect(left.steps.map(({ status }) => status)).toEqual(["None", "None", "None"]);
  expect(left).toMatchObject({ status: "Failed", reason: "WorkerCrashed", frozen: true });
  for (const { status } of left.steps) expect(["Failed", "None"]).toContain(status);
  expect(left.steps[2]?.status).toBe("None");
  expect(await readdir(directory)).not.toContain("work");
  const lines = await messagesOf(directory, 1).catch(() => []);
  expect(lines.every((line, at) => line === `line ${at + 1}`)).toBe(true);
});
