import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { testImage } from "#test/support/docker-engine.ts";
import { removeDirectory, slipway } from "#test/support/slipway.ts";
import {
  messagesOf,
  readBuildFile,
  resultsOf,
  startWharf,
  type WharfProject,
  wharfProject,
} from "#test/support/wharf.ts";
import { engine } from "./engine.ts";

// Builds by the built command, as people start them.

const homes: string[] = [];
async function project(definition: string, files: Readonly<Record<string, string>> = {}): Promise<WharfProject> {
  const made = await wharfProject(definition, files);
  homes.push(made.home);
  return { ...made, env: { ...made.env, DOCKER_HOST: engine.host } };
}
afterEach(async () => {
  for (const home of homes.splice(0)) await removeDirectory(home);
});

const step = (cmds: readonly string[], more: object = {}): string =>
  JSON.stringify({ container: { image: testImage, cmds, ...more } });
const containers = async () =>
  (await engine.docker("ps", "-a", "--filter", "label=app=wharf-cmd-worker-step", "-q")).out
    .split("\n")
    .filter(Boolean);
const running = ["--runtime", "docker", "--build-id", "12"];

test("a build takes the engine that answers: stages in order, steps that see nothing of each other, artifacts and globs", async () => {
  const write = (own: string): string =>
    step([`echo ${own} > mine`, "sleep 0.2", "ls", "git status 2>/dev/null; cat kept.txt"]);
  const last = step(
    [
      'echo file > "$WHARF_ARTIFACTS_DIR/a.txt"',
      "mkdir -p out/deep",
      "echo glob > out/deep/b.txt",
      "echo no > out/c.log",
    ],
    {
      artifacts: ["out/**/*.txt"],
    },
  );
  const at = await project(`first:\n  a: ${write("a")}\n  b: ${write("b")}\nsecond:\n  c: ${last}\n`, {
    "kept.txt": "kept\n",
  });
  const { code, out } = await slipway(["run", "--build-id", "12"], { cwd: at.directory, env: at.env });
  expect([code, out]).toEqual([0, expect.stringContaining("first/a  │ kept\n")]);
  for (const id of [1, 2]) expect(await messagesOf(resultsOf(at, 12), id)).toEqual(["kept.txt", "mine", "kept"]);
  const { artifacts } = JSON.parse(await readFile(join(resultsOf(at, 12), "steps/3/artifacts.json"), "utf8")) as {
    readonly artifacts: readonly { readonly name: string }[];
  };
  expect(artifacts.map(({ name }) => name)).toEqual(["a.txt", "out/deep/b.txt"]);
  expect(await readBuildFile(resultsOf(at, 12))).toMatchObject({ status: "Success", runtime: "docker" });
  expect(await containers()).toEqual([]);
});

test("a step that fails ends its siblings, says why, and nothing is left in the engine", async () => {
  const at = await project(
    `s:\n  bad: ${step(["exit 42"])}\n  long: ${step(["sleep 1000"])}\n  none: {container: {image: "nowhere:1", cmds: [x]}}\n`,
  );
  const { code, out } = await slipway(["run", "--pull", "never", ...running], { cwd: at.directory, env: at.env });
  expect(code).toBe(1);
  expect(out).toMatch(/s +long +Cancelled/);
  const { steps } = await readBuildFile(resultsOf(at, 12));
  // Whichever of the two is first to fail cancels the other.
  expect(steps.filter(({ status }) => status === "Failed")).not.toEqual([]);
  expect(
    steps
      .map(({ reason }) => reason)
      .filter((reason) => reason !== undefined && !["ExitCode", "ImageMissing"].includes(reason)),
  ).toEqual([]);
  expect(await containers()).toEqual([]);
});

test("a cancelled build stops its containers within their grace, and leaves none", async () => {
  const at = await project(
    `s:\n  polite: ${step(["trap 'echo bye; exit 0' TERM", "echo ready", "while :; do sleep 0.1; done"])}\n`,
  );
  const { child, ended, out } = startWharf(at, running);
  await expect.poll(out).toContain("│ ready");
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130 });
  expect(await messagesOf(resultsOf(at, 12), 1)).toEqual(["ready", "bye"]);
  expect(await readBuildFile(resultsOf(at, 12))).toMatchObject({ status: "Cancelled" });
  expect(await containers()).toEqual([]);
});

test("containers of a worker that was killed are removed by the next one", async () => {
  const at = await project(`s:\n  long: ${step(["echo ready", "sleep 1000"])}\n`);
  const { child, ended, out } = startWharf(at, running);
  await expect.poll(out).toContain("│ ready");
  child.kill("SIGKILL");
  await ended;
  expect(await containers()).toHaveLength(1);
  const next = await project(`s:\n  quick: ${step(["echo done"])}\n`);
  expect((await slipway(["run", ...running], { cwd: next.directory, env: next.env })).code).toBe(0);
  expect(await containers()).toEqual([]);
});

test("a password is seen by nobody: neither in the log nor on the console, plain, in base64, or printed in pieces", async () => {
  const cmds = [
    "T='${token}'",
    'echo "plain $T"',
    'printf %s "$T" | base64',
    "printf 'cut hunt'; sleep 0.2; echo er2xyzzy",
  ];
  const at = await project(`inputs: [{name: token, type: password}]\ns:\n  secret: ${step(cmds)}\n`);
  const words = ["run", "--input", "token=hunter2xyzzy", ...running];
  const { code, out } = await slipway(words, { cwd: at.directory, env: at.env });
  expect([code, out]).toEqual([0, expect.stringContaining("plain ***")]);
  const log = await messagesOf(resultsOf(at, 12), 1);
  expect(`${log.join()}${out}`).not.toMatch(/hunter2|aHVudGVyMnh5enp5/);
  expect(log).toEqual(["plain ***", "***", "cut ***"]);
});

test("a secret of the user reaches its step, as a variable, and nobody else sees it", async () => {
  const cmds = ['echo "plain $TOKEN"', 'printf %s "$TOKEN" | base64'];
  const at = await project(`s:\n  secret: ${step(cmds, { secretName: "deploy" })}\n`);
  const place = join(at.home, ".config/slipway/secrets/wharf-local-project-7-secretname-deploy");
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "TOKEN"), "hunter2xyzzy", { mode: 0o600 });
  const { code, out } = await slipway(["run", "--project-id", "7", ...running], { cwd: at.directory, env: at.env });
  expect([code, await messagesOf(resultsOf(at, 12), 1)]).toEqual([0, ["plain ***", "***"]]);
  expect(out).not.toMatch(/hunter2|aHVudGVyMnh5enp5/);
});

test("without an engine every way that there is is told, at once", async () => {
  const at = await project(`s:\n  a: ${step(["true"])}\n`);
  const env = { ...at.env, DOCKER_HOST: "unix:///nowhere/docker.sock" };
  const { code, err } = await slipway(["run"], { cwd: at.directory, env });
  expect(code).toBe(1);
  for (const way of ["docker", "host"]) expect(err).toContain(`--runtime ${way}`);
  const asked = await slipway(["run", "--runtime", "docker"], { cwd: at.directory, env });
  expect([asked.code, asked.err]).toEqual([1, expect.stringContaining("unix:///nowhere/docker.sock")]);
});
