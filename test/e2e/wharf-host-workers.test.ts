import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Observed, WorkerIdentity } from "../../src/dialects/wharf/provisioner/backend.ts";
import { HostBackend, type HostOptions } from "../../src/dialects/wharf/provisioner/host/host-backend.ts";
import { readParameters } from "../../src/dialects/wharf/provisioner/parameters.ts";
import { readResults } from "../../src/dialects/wharf/results/read-results.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { bareRepository, gitOverHttp, type GitServer, plainGit } from "../support/git-servers.ts";

// Workers as processes of this machine: the real launcher and real clones; what builds is a program whose behaviour is a file of the repository.

const token = "t0ken-of-the-project";
let root: string;
let git: GitServer;
let program: string;
let backend: HostBackend;
let count = 0;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "slipway-workers-")));
  program = await bundleProgram(join(import.meta.dirname, "../crash/wharf-worker-program.ts"));
  for (const behaviour of ["quick", "wait", "crash", "refuse"]) bareRepository(root, `${behaviour}.git`, { behaviour });
  git = await gitOverHttp(root, { token });
});
afterAll(async () => {
  await git?.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(() => {
  backend = open();
});
afterEach(async () => {
  for (const worker of workers.splice(0)) {
    await backend.end(worker, "kill");
    await backend.remove(worker);
  }
  await backend.close();
});

const workers: WorkerIdentity[] = [];
const newWorker = (): WorkerIdentity => {
  const worker = { namespace: "default", name: `worker-${++count}`, uid: `${10_000_000 + count}` };
  workers.push(worker);
  return worker;
};

const directoryOf = ({ name, uid }: WorkerIdentity) => `${root}/workers/${name}.${uid}`;

function open(options: Partial<HostOptions> = {}): HostBackend {
  return new HostBackend({
    directory: `${root}/workers`,
    program: { words: [process.execPath, program], environment: plainGit(`${root}/nobody`) },
    runtime: "host",
    serve: async (directory) => ({ address: `served:${directory}`, close: async () => undefined }),
    tokenOf: (uid) => `token-of-${uid}`,
    changed: () => undefined,
    clock: systemClock,
    log: silentLog,
    ...options,
  });
}

function requestFor(repository: string, more: Record<string, string> = {}) {
  const GIT_FULLURL = `http://127.0.0.1:${git.port}/${repository}.git`;
  const read = readParameters(
    { GIT_FULLURL, GIT_TOKEN: token, BUILD_REF: "7", VARS: '{"password": "inpu7-value"}', ...more },
    { instance: "local", allowLocalRepos: false },
  );
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return read.value;
}

const seen = (worker: WorkerIdentity, expected: Partial<Observed>) =>
  expect.poll(() => backend.observe(worker)).toMatchObject(expected);

const logOf = async (worker: WorkerIdentity, stepId: number) =>
  await readFile(`${directoryOf(worker)}/results/steps/${stepId}/output.log`, "utf8");

/** Words of every process that can be seen. */
const commandLines = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return ""; // It has ended meanwhile.
      }
    })
    .filter((line) => line.includes(root) || line.includes("git"));

test("a worker clones, builds, serves, and ends when it is asked to", async () => {
  const worker = newWorker();
  expect(await backend.observe(worker)).toMatchObject({ phase: "absent" });
  await backend.start(worker, requestFor("quick", { ENVIRONMENT: "stage", RUN_STAGES: "a,b", REPO_NAME: "r" }));
  await seen(worker, {
    phase: "finished",
    isAlive: true,
    status: "Success",
    address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
  const { process: owner, address } = await backend.observe(worker);
  expect(owner?.pid).toBeGreaterThan(1);
  const headers = { authorization: `Bearer token-of-${worker.uid}` };
  const answer = await fetch(`http://${address}/`, { headers });
  expect(await answer.json()).toEqual({ message: "pong" });
  const directory = directoryOf(worker);
  const [said = ""] = (await readFile(`${directory}/output.log`, "utf8"))
    .split("\n")
    .filter((line) => line.startsWith("{"));
  expect(JSON.parse(said)).toEqual({
    pid: owner?.pid,
    authTokenFile: `${directory}/access-token`,
    project: `${directory}/repository`,
    resultsDir: `${directory}/results`,
    runtime: "host",
    instance: "local",
    buildId: 7,
    environment: "stage",
    stage: ["a,b"],
    inputFile: `${directory}/inputs.json`,
    address: "127.0.0.1:0",
    variables: { WHARF_VAR_BUILD_REF: "7", WHARF_VAR_REPO_NAME: "r" },
  });
  expect(await logOf(worker, 1)).toContain('inputs {"password":"inpu7-value"}');
  await backend.end(worker, "terminate");
  await seen(worker, { phase: "finished", isAlive: false, status: "Success", address: `served:${directory}/results` });
  await backend.remove(worker);
  await expect(stat(directory)).rejects.toThrow("ENOENT");
});

test("neither token nor inputs are in an argument list, and only owners read the files", async () => {
  const worker = newWorker();
  await backend.start(worker, requestFor("wait"));
  const lines = new Set<string>();
  for (let phase = ""; phase !== "running"; { phase } = await backend.observe(worker)) {
    for (const line of commandLines()) lines.add(line);
    await new Promise(setImmediate);
  }
  const all = [...lines].join("\n");
  expect(all).toContain(`wharf launch ${directoryOf(worker)}`);
  expect(all).not.toMatch(/t0ken-of-the-project|inpu7-value/);
  const directory = directoryOf(worker);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(directory)) {
    const path = `${directory}/${name}`;
    if (!(await stat(path)).isFile()) continue;
    expect(await readFile(path, "utf8")).not.toContain(token);
    if (name === "inputs.json") expect((await stat(path)).mode & 0o777).toBe(0o600);
  }
  expect((await readdir(directory)).filter((name) => name.startsWith("request"))).toEqual([]);
  await backend.end(worker, "cancel");
  await seen(worker, { phase: "finished", isAlive: true, status: "Cancelled" });
});

test("a worker with a token of its own is told it in a file, and is asked with it; its results ask for it, too", async () => {
  const worker = newWorker();
  await backend.close();
  const served: unknown[] = [];
  const serve = async (_: string, access: string | undefined) => {
    served.push(access);
    return { address: "served", close: async () => undefined };
  };
  backend = open({ tokenOf: (uid) => `of-${uid}`, serve });
  await backend.start(worker, requestFor("wait"));
  await seen(worker, { phase: "running", message: undefined });
  const path = `${directoryOf(worker)}/access-token`;
  expect(await readFile(path, "utf8")).toBe(`of-${worker.uid}`);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await fetch(`http://${(await backend.observe(worker)).address}/`)).status).toBe(401);
  await backend.end(worker, "cancel");
  await seen(worker, { phase: "finished", isAlive: true, status: "Cancelled" });
  await expect(stat(`${directoryOf(worker)}/cancel.sent`)).rejects.toThrow("ENOENT");
  await backend.end(worker, "terminate");
  await seen(worker, { isAlive: false, address: "served" });
  expect(served).toEqual([`of-${worker.uid}`]);
});

test("twenty programs for one worker are one worker", async () => {
  const worker = newWorker();
  const request = requestFor("wait");
  // As many provisioners that know nothing of each other, each of which believes that nothing was started.
  const all = Array.from({ length: 20 }, () => open());
  await Promise.all(all.map((each) => each.start(worker, request)));
  await seen(worker, { phase: "running" });
  const own = () => commandLines().filter((line) => line.includes(directoryOf(worker)));
  await expect.poll(own).toHaveLength(1);
  const said = (await readFile(`${directoryOf(worker)}/output.log`, "utf8"))
    .split("\n")
    .filter((line) => line.startsWith("{"));
  expect(said).toHaveLength(1);
  const requests = async () => (await readdir(directoryOf(worker))).filter((name) => name.startsWith("request"));
  await expect.poll(requests).toEqual([]);
  for (const each of all) await each.close();
});

test("a provisioner that begins anew finds what runs, and what has ended meanwhile", async () => {
  const [waiting, crashed] = [newWorker(), newWorker()];
  await backend.start(waiting, requestFor("wait"));
  await seen(waiting, { phase: "running", message: undefined });
  const before = await backend.observe(waiting);
  await backend.close();
  await backend.start(crashed, requestFor("crash"));
  backend = open();
  // It is asked anew whether it answers.
  await expect.poll(() => backend.observe(waiting)).toEqual(before);
  await backend.start(waiting, requestFor("wait"));
  expect((await backend.observe(waiting)).process).toEqual(before.process);
  await seen(crashed, {
    phase: "finished",
    isAlive: false,
    status: "Failed",
    message: "the worker ended before the build",
  });
  const { build } = await readResults(`${directoryOf(crashed)}/results`, systemClock);
  expect(build).toMatchObject({ frozen: true, reason: "WorkerCrashed" });
  expect(await logOf(crashed, 1)).toContain("inputs ");
});

test("what keeps a build from beginning is the log of step 0", async () => {
  const [token403, branch, refused] = [newWorker(), newWorker(), newWorker()];
  await backend.start(token403, requestFor("quick", { GIT_TOKEN: "wr0ng" }));
  await backend.start(branch, requestFor("quick", { GIT_BRANCH: "nope" }));
  await backend.start(refused, requestFor("refuse"));
  await seen(token403, {
    phase: "finished",
    status: "Failed",
    message: "the repository cannot be cloned: its host does not take the credential",
  });
  expect(await logOf(token403, 0)).toMatch(/^\S+ fatal: Authentication failed for 'http/m);
  expect(await logOf(token403, 0)).not.toContain("wr0ng");
  await seen(branch, {
    status: "Failed",
    message: "the repository cannot be cloned: it, or what was asked for in it, does not exist",
  });
  expect(await logOf(branch, 0)).toContain("Remote branch nope not found");
  await seen(refused, { status: "Failed", message: "the build did not begin (exit code 1)" });
  expect(await logOf(refused, 0)).toContain("error: this is no definition");
  const { build, steps } = await readResults(`${directoryOf(refused)}/results`, systemClock);
  expect([build.reason, build.buildId, build.frozen, steps.map(({ stepId }) => stepId)]).toEqual([
    "NotStarted",
    7,
    true,
    [0],
  ]);
});

test("a program that cannot be started is told after three tries", async () => {
  const worker = newWorker();
  await backend.close();
  backend = open({ program: { words: [process.execPath, "/nowhere.mjs"], environment: {} } });
  const request = requestFor("quick");
  await expect
    .poll(async () => {
      await backend.start(worker, request);
      return await backend.observe(worker);
    })
    .toMatchObject({ phase: "finished", status: "Failed", message: "the program of the worker cannot be started" });
  expect(await logOf(worker, 0)).toContain("/nowhere.mjs");
  expect((await readFile(`${directoryOf(worker)}/output.log`, "utf8")).match(/Cannot find module/g)).toHaveLength(3);
});

test("a worker that is cancelled while it clones ends as cancelled", async () => {
  const worker = newWorker();
  const hanging = await gitOverHttp(root, { hangs: true });
  await backend.start(worker, requestFor("quick", { GIT_FULLURL: `http://127.0.0.1:${hanging.port}/quick.git` }));
  await seen(worker, { phase: "starting", status: "Initializing" });
  await expect.poll(() => hanging.requests()).toBeGreaterThan(0);
  await backend.end(worker, "cancel");
  await backend.end(worker, "cancel");
  await seen(worker, { phase: "finished", isAlive: false, status: "Cancelled" });
  await hanging.close();
});

test("directories of workers that nothing is stored of go, with what runs there", async () => {
  const [kept, gone] = [newWorker(), newWorker()];
  for (const worker of [kept, gone]) await backend.start(worker, requestFor("wait"));
  for (const worker of [kept, gone]) await seen(worker, { phase: "running" });
  await backend.sweep(() => [kept]);
  await expect.poll(() => commandLines().filter((line) => line.includes(directoryOf(gone)))).toEqual([]);
  await expect(stat(directoryOf(gone))).rejects.toThrow("ENOENT");
  expect(await backend.observe(kept)).toMatchObject({ phase: "running", isAlive: true });
});
