import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deferred, FakeClock, systemClock } from "#lib/base/index.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import type { StepJob, StepRuntime } from "../step-runtime.ts";
import { newJob, repositoryOf, shellStep } from "../testing/step-job.ts";
import { stepRuntimeContract } from "../step-runtime.contract.ts";
import { createHostRuntime } from "./host-runtime.ts";
import { killLeftovers } from "./leftovers.ts";

let work: string;
let runtime: StepRuntime;

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "slipway-host-"));
  runtime = createHostRuntime({
    clock: systemClock,
    variables: { PATH: process.env["PATH"], SECRET: "no", LANG: "C" },
  });
});
afterEach(async () => {
  await runtime.close();
  await rm(work, { recursive: true, force: true });
});

const run = async (script: string, more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) => {
  const { job, output, remarks } = await newJob(work, shellStep(script, step), more);
  return { end: await runtime.run(job), output, remarks };
};

/** Whether anything with this word in its command line lives. */
const isThere = async (mark: string): Promise<boolean> => {
  const { readFile } = await import("node:fs/promises");
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.some((line) => line.includes(mark));
};

/** A number of seconds to sleep that no other test sleeps for. */
let marks = 0;
const newMark = (): string => `${70_000 + process.pid}.${++marks}`;

describe("a step", () => {
  test("finds its copy of the repository, few variables, and nothing to read", async () => {
    const script = 'cat file; env | sort | cut -d= -f1 | grep -v -e "^_$" -e OLDPWD; cat; echo "$GIVEN"';
    const { end, output } = await run(script, {
      repository: repositoryOf({ file: "old\n" }),
      overlay: [{ path: "file", bytes: Buffer.from("new\n"), mode: 0o644 }],
      env: { GIVEN: "given", WHARF_ARTIFACTS_DIR: "/mnt/artifacts" },
    });
    expect(end).toMatchObject({ status: "Success", exitCode: 0 });
    expect(output()).toBe("new\nGIVEN\nLANG\nPATH\nPWD\nWHARF_ARTIFACTS_DIR\ngiven\n");
  });

  test("prints in the order in which it has written, to either stream, and to its devices", async () => {
    const { output } = await run("for i in 1 2 3; do echo out $i; echo err $i >&2; echo dev $i > /dev/stderr; done");
    expect(output()).toBe([1, 2, 3].map((n) => `out ${n}\nerr ${n}\ndev ${n}\n`).join(""));
  });

  test.each([
    ["exit 42", { status: "Failed", exitCode: 42, reason: "ExitCode", message: "exit code 42" }],
    ["no-such-command", { status: "Failed", exitCode: 127, reason: "NotFound" }],
    ["./file", { status: "Failed", exitCode: 126, reason: "NotExecutable" }],
    ["kill -9 $$", { status: "Failed", exitCode: 137, reason: "Signal", message: "killed by SIGKILL" }],
  ])("that ends with %j has failed for a reason", async (script, expected) => {
    const { end } = await run(script, { repository: repositoryOf({ file: "text" }) });
    expect(end).toMatchObject(expected);
  });

  test("whose program is not there has failed", async () => {
    const { end } = await run("true", {}, { entry: ["/no/such/shell", "-c"] });
    expect(end).toMatchObject({ status: "Failed", exitCode: 127, reason: "NotFound" });
  });

  test("whose repository cannot be copied has failed", async () => {
    const repository = { ...repositoryOf(), copyTo: () => Promise.reject(new Error("no room")) };
    const { end } = await run("true", { repository });
    expect(end).toMatchObject({ status: "Failed", exitCode: null, reason: "Transfer", message: "no room" });
  });

  test("that has no place to work in has failed, and the next one finds its own", async () => {
    const nowhere = join(work, "missing");
    const { job } = await newJob(work, shellStep("true"));
    // Often, so that whatever is made for all steps has failed by then.
    for (let at = 0; at < 20; at++) {
      const end = await runtime.run({ ...job, directory: join(nowhere, `${at}`) });
      expect(end).toMatchObject({ status: "Failed", exitCode: null, reason: "Transfer" });
    }
    await mkdir(nowhere);
    const next = await newJob(nowhere, shellStep("echo there", { stepId: 2 }));
    expect(await runtime.run(next.job)).toMatchObject({ status: "Success" });
    expect(next.output()).toBe("there\n");
  });

  test("leaves what its globs mean, and is told of those that mean nothing", async () => {
    const script = "mkdir -p out .git; echo x > out/app; echo y > r.xml; ln -s /etc/passwd out/link; echo z > .git/app";
    const { end, remarks } = await run(
      script,
      {},
      { artifacts: ["**/app", "out", "nothing/*"], testResults: ["*.xml"] },
    );
    const kept: unknown[] = [];
    for await (const { name, testResults = false } of end.artifacts ?? []) kept.push([name, testResults]);
    expect(kept).toEqual([
      ["out/app", false],
      ["r.xml", true],
    ]);
    expect(remarks).toEqual(['[slipway] artifacts[2] "nothing/*" matches no file\n']);
  });

  test("leaves artifacts", async () => {
    const { end } = await run('mkdir "$WHARF_ARTIFACTS_DIR/a"; echo text > "$WHARF_ARTIFACTS_DIR/a/b.txt"; exit 1');
    const names: string[] = [];
    for await (const { name } of end.artifacts ?? []) names.push(name);
    expect(names).toEqual(["a/b.txt"]);
  });

  test("finds mounted files where its variables say", async () => {
    const mounts = [{ path: "/etc/tool", files: new Map([["config.json", Buffer.from("{}\n")]]) }];
    const { output } = await run('cat "$CONFIG"', { mounts, env: { CONFIG: "/etc/tool/config.json" } });
    expect(output()).toBe("{}\n");
  });

  test("takes with it what it has left in the background", async () => {
    const mark = newMark();
    const { end } = await run(`sleep ${mark} & echo started`);
    expect(end.status).toBe("Success");
    await expect.poll(() => isThere(mark)).toBe(false);
  });

  test("takes with it what has left its group and its session, also when that holds none of its output", async () => {
    const [quiet, loud] = [newMark(), newMark()];
    const { end } = await run(`setsid sleep ${quiet} >/dev/null 2>&1 & setsid sleep ${loud} & echo started`);
    expect(end.status).toBe("Success");
    await expect.poll(async () => (await isThere(quiet)) || (await isThere(loud))).toBe(false);
  });

  test("leaves alone what is of another step", async () => {
    const mark = newMark();
    const other = await newJob(work, shellStep(`setsid sleep ${mark} >/dev/null 2>&1; true`));
    const ended = runtime.run(other.job);
    await expect.poll(() => isThere(mark)).toBe(true);
    await run("true", {}, { stepId: 11 });
    expect(await isThere(mark)).toBe(true);
    await runtime.close();
    expect(await ended).toMatchObject({ exitCode: 137 });
    await expect.poll(() => isThere(mark)).toBe(false);
  });
});

describe("a step that is cancelled", () => {
  test("may end politely, and so may what it has started", async () => {
    const cancel = new AbortController();
    const script = `(trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.05; done) & wait`;
    const { job, output } = await newJob(work, shellStep(script), { signal: cancel.signal });
    const ended = runtime.run(job);
    await expect.poll(output).toContain("ready");
    cancel.abort();
    expect(await ended).toMatchObject({ status: "Cancelled" });
    expect(output()).toMatch(/^ready\n.*inner\n$/s);
  });

  test("is killed after its grace, all of it", async () => {
    const [mark, cancel] = [newMark(), new AbortController()];
    const script = `trap '' TERM; sleep ${mark} & echo ready; while :; do sleep ${mark}; done`;
    const { job, output } = await newJob(work, shellStep(script), { signal: cancel.signal, graceMs: 50 });
    const ended = runtime.run(job);
    await expect.poll(output).toContain("ready");
    cancel.abort();
    expect(await ended).toMatchObject({ status: "Cancelled", exitCode: 137 });
    await expect.poll(() => isThere(mark)).toBe(false);
  });

  test("is killed after its grace also when it has closed its output", async () => {
    const [mark, cancel] = [newMark(), new AbortController()];
    const script = `trap '' TERM; echo ready; exec >/dev/null 2>&1; while :; do sleep ${mark}; done`;
    const { job, output } = await newJob(work, shellStep(script), { signal: cancel.signal, graceMs: 50 });
    const ended = runtime.run(job);
    await expect.poll(output).toContain("ready");
    await expect.poll(() => isThere(mark)).toBe(true);
    cancel.abort();
    expect(await ended).toMatchObject({ status: "Cancelled", exitCode: 137 });
    await expect.poll(() => isThere(mark)).toBe(false);
  });

  test("before it has begun does not begin", async () => {
    const { end, output } = await run("echo begun", { signal: AbortSignal.abort() });
    expect(end).toMatchObject({ status: "Cancelled", exitCode: null });
    expect(output()).toBe("");
  });

  test("when everything has been closed does not begin, and nothing is made for it", async () => {
    await Promise.all([runtime.close(), runtime.close()]);
    const { end, output } = await run("echo begun");
    expect(end).toMatchObject({ status: "Cancelled", exitCode: null });
    expect(output()).toBe("");
    expect(await readdir(work)).not.toContain("pipes");
  });

  test("while it is prepared leaves nothing open for the step that comes next", async () => {
    // Nobody moves it: output that has no end of its own is waited for.
    const steady = createHostRuntime({ clock: new FakeClock(), variables: { PATH: process.env["PATH"] } });
    const cancel = new AbortController();
    const repository = { ...repositoryOf(), copyTo: async () => cancel.abort() };
    const first = await newJob(work, shellStep("true"), { repository, signal: cancel.signal });
    expect(await steady.run(first.job)).toMatchObject({ status: "Cancelled", exitCode: null });
    const second = await newJob(work, shellStep("echo second", { stepId: 2 }));
    expect(await steady.run(second.job)).toMatchObject({ status: "Success" });
    expect(second.output()).toBe("second\n");
    await steady.close();
  });

  test("has been cancelled when everything is closed at once", async () => {
    const mark = newMark();
    const { job, output } = await newJob(work, shellStep(`echo ready; sleep ${mark}`));
    const ended = runtime.run(job);
    await expect.poll(output).toContain("ready");
    await runtime.close();
    expect(await ended).toMatchObject({ exitCode: 137 });
    await expect.poll(() => isThere(mark)).toBe(false);
  });
});

test("output waits while the log is behind", async () => {
  const behind = deferred<void>();
  let taken = 0;
  const log: StepJob["log"] = {
    append(_stream, chunk) {
      taken += chunk.length;
      return false;
    },
    drained: () => behind.promise,
  };
  const { job } = await newJob(work, shellStep("head -c 4000000 /dev/zero"), { log });
  const ended = runtime.run(job);
  await expect.poll(() => taken).toBeGreaterThan(0);
  // One pipe and what was read at once; the program waits for the rest.
  expect(taken).toBeLessThan(1_000_000);
  behind.resolve();
  expect(await ended).toMatchObject({ status: "Success" });
  expect(taken).toBe(4_000_000);
});

test("what stands against steps is told before any of them starts, all at once", async () => {
  const steps = [
    shellStep("true"),
    shellStep("true", { step: "shell", entry: ["/no/such/shell", "-c"] }),
    shellStep("true", { step: "image", type: "docker", entry: [] }),
    shellStep("true", { step: "windows", os: "windows" }),
    shellStep("", { step: "pack", type: "nuget-package" }),
  ];
  const bare = createHostRuntime({ clock: systemClock, variables: { PATH: "/no/such/directory" } });
  const found = await bare.check(steps, new AbortController().signal);
  expect(found.map(({ severity, code, path }) => `${severity} ${code} ${path}`)).toEqual([
    "warning image-ignored build/only/container",
    "error runtime-unsupported build/shell/container",
    "error runtime-unsupported build/image/docker",
    "error runtime-unsupported build/windows/container",
    "error runtime-unsupported build/pack/nuget-package",
  ]);
});

test("processes of a worker that has died are found by their number and by their variables", async () => {
  const [leader, hidden] = [newMark(), newMark()];
  // The first hides its variables, the second leaves its group and its session.
  const script = `setsid sleep ${hidden} & echo ready; exec env -i /bin/sleep ${leader}`;
  const { job, output } = await newJob(work, shellStep(script));
  const ended = runtime.run(job);
  await expect.poll(output).toContain("ready");
  await expect.poll(async () => (await isThere(leader)) && (await isThere(hidden))).toBe(true);
  await killLeftovers(work);
  await ended;
  await expect.poll(async () => (await isThere(leader)) || (await isThere(hidden))).toBe(false);
});

describe("as every runtime", () => {
  stepRuntimeContract(() =>
    Promise.resolve({
      runtime: createHostRuntime({ clock: systemClock, variables: { PATH: process.env["PATH"] } }),
      image: "any",
    }),
  );
});
