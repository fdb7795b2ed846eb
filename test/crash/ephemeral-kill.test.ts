import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identityOf, isAlive } from "#lib/base/index.node.ts";
import { cleanEnvironment, removeDirectory, root, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";

let directory = "";
let child: ChildProcess | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  await removeDirectory(directory);
});

/** Steps that print nothing, so that no broken pipe ends them: one replaces its shell, one has a child, one hears no signal. */
const document = () => `
apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: doomed}
spec:
  steps:
    quiet: {container: {image: none, command: [sh, -c, "echo $$$$ > ${directory}/quiet; exec sleep 3600"]}}
    family: {container: {image: none, command: [sh, -c, "sleep 3600 & echo $! > ${directory}/family; wait"]}}
    deaf: {container: {image: none, command: [sh, -c, "trap '' TERM HUP INT PIPE; echo $$$$ > ${directory}/deaf; while :; do sleep 1; done"]}}
    past: {container: {image: none, command: [sh, -c, "echo $$$$ > ${directory}/past"]}}
`;

/** The identity of the process whose number stands in a file, once it does. */
async function written(name: string): Promise<ReturnType<typeof identityOf>> {
  const path = join(directory, name);
  await expect.poll(() => readFile(path, "utf8").catch(() => ""), { timeout: 60_000 }).toMatch(/^[1-9]\d*\n$/);
  return identityOf(Number(await readFile(path, "utf8")));
}

function run(text: string): ChildProcess {
  const started = spawn(process.execPath, [slipwayBin, "run", "--ephemeral", "-"], {
    cwd: root,
    env: cleanEnvironment({ TMPDIR: directory }),
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  started.stdin.end(text);
  child = started;
  return started;
}

test.each([
  ["the run alone", 1],
  ["the whole process group of the run", -1],
])("killing %s with SIGKILL leaves no step running", async (_name, sign) => {
  const doomed = run(document());
  const steps = await Promise.all(["quiet", "family", "deaf"].map(written));
  await written("past");
  expect(steps.map(isAlive)).toEqual([true, true, true]);
  const gone = once(doomed, "exit");
  if (doomed.pid !== undefined) process.kill(sign * doomed.pid, "SIGKILL");
  await gone;
  await expect.poll(() => steps.filter(isAlive), { timeout: 60_000 }).toEqual([]);
});

test("a run that ends by itself leaves nothing that watches over it", async () => {
  // The parent of the step's supervisor is the run, and the run's other child is the shell that watches over it.
  const script = `read -r _ _ _ run _ < /proc/$PPID/stat; cat /proc/$run/task/$run/children > ${directory}/children`;
  const brief = run(`
apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: brief}
spec: {steps: {look: {container: {image: none, command: [sh, -c, "${script}"]}}}}
`);
  const [code] = (await within(60_000, "the run ends", once(brief, "exit"))) as [number];
  expect(code).toBe(0);
  const children = (await readFile(join(directory, "children"), "utf8")).trim().split(" ").map(Number);
  expect(children.length).toBeGreaterThanOrEqual(2);
  await expect.poll(() => children.map(identityOf).filter(isAlive), { timeout: 60_000 }).toEqual([]);
});
