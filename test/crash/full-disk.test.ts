import { execFile, spawn } from "node:child_process";
import { mkdir, readdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ArtifactStore, asArtifactError } from "#kernel/artifacts/index.ts";
import { followLogs } from "#dialects/wharf/results/follow-logs.ts";
import { linesOf } from "#dialects/wharf/results/log-line.ts";
import { readResults } from "#dialects/wharf/results/read-results.ts";
import { createResults } from "#dialects/wharf/results/results-store.ts";
import { newBuild } from "#dialects/wharf/results/testing/new-build.ts";
import { openStore } from "#kernel/apiserver/index.ts";
import { readLogs } from "#kernel/streams/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { isAlive, lockOwner } from "#lib/base/index.node.ts";
import { outcomeOf } from "#kernel/runtimes/runtime.contract.ts";
import { shellTask, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import {
  cleanEnvironment,
  exec,
  logsTo,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { eventually } from "#test/support/within.ts";
import { messagesOf, readBuildFile, startWharf, wharfProject } from "#test/support/wharf.ts";

const run = promisify(execFile);

// A disk of one megabyte, which only root can make.
describe.skipIf(process.getuid?.() !== 0 || process.platform !== "linux")("on a disk that fills up", () => {
  let directory = "";
  let disk = "";
  let runtime: Runtime | undefined;
  beforeEach(async () => {
    directory = await temporaryDirectory();
    disk = join(directory, "disk");
    await mkdir(disk);
    await run("mount", ["-t", "tmpfs", "-o", "size=1m,nr_inodes=200,mode=700", "tmpfs", disk]);
  });
  afterEach(async () => {
    await runtime?.close({ stopTasks: 0 });
    runtime = undefined;
    await run("umount", ["-l", disk]);
    await removeDirectory(directory);
  });

  /** Takes all the room that is left. */
  async function fill(): Promise<void> {
    const { bavail, bsize } = await statfs(disk);
    await writeFile(join(disk, "filler"), Buffer.alloc(bavail * bsize)).catch(() => undefined);
    expect((await statfs(disk)).bavail).toBe(0);
  }

  /** Leaves room for this many files and directories. */
  async function leaveNodes(count: number): Promise<void> {
    const { ffree } = await statfs(disk);
    await mkdir(join(disk, "nodes"));
    const names = Array.from({ length: ffree - 1 - count }, (_, index) => join(disk, "nodes", `${index}`));
    await Promise.all(names.map((name) => writeFile(name, "")));
    expect((await statfs(disk)).ffree).toBe(count);
  }

  test("a build whose results find no room ends as failed, whatever its steps have said", async () => {
    const at = await wharfProject(
      `s:\n  talk: {container: {image: any, cmds: ["seq 1 100", "sleep 0.3", "head -c 3000000 /dev/zero | tr '\\\\0' 'x' | fold -w 99", "echo over"]}}\n`,
    );
    try {
      const build = startWharf(at, ["--build-id", "1", "--quiet", "--results-dir", join(disk, "results")]);
      expect(await build.ended).toEqual({ code: 1, signal: null });
      expect(build.err().match(/no space left/gi)?.length).toBe(1);
      expect(await readBuildFile(join(disk, "results"))).toMatchObject({
        status: "Failed",
        reason: "ResultsLost",
        frozen: true,
        steps: [{ status: "Success", exitCode: 0 }],
      });
      const lines = await messagesOf(join(disk, "results"), 1);
      expect(lines.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => `${index + 1}`));
    } finally {
      await removeDirectory(at.home);
    }
  });

  test("results of a build that find no room fail it, once and aloud; what was written before is whole", async () => {
    const losses: string[] = [];
    const onLoss = ({ message }: Error): void => void losses.push(message);
    const store = await createResults(join(disk, "7"), newBuild(2), { clock: systemClock, onLoss });
    for (const stepId of [1, 2]) await store.setStatus(stepId, "Running");
    const writers = await Promise.all([1, 2].map((stepId) => store.openLog(stepId)));
    for (let line = 1; losses.length === 0; line++) {
      for (const writer of writers)
        writer.append("stdout", Buffer.from(`line ${line}\n`.padStart(50_000, `line ${line}\n`)));
      await new Promise(setImmediate);
    }
    const bytes = async function* () {
      yield Buffer.alloc(2 * 1024 * 1024);
    };
    await expect(store.addArtifacts(2, [{ name: "large", open: bytes }])).rejects.toMatchObject({ code: "ENOSPC" });
    for (const stepId of [1, 2]) await store.setStatus(stepId, "Success", 0);
    expect(await store.finish({ status: "Success" })).toMatchObject({ status: "Failed", reason: "ResultsLost" });
    await store.close();
    expect(losses).toEqual([expect.stringContaining("ENOSPC")]);
    const read = await readResults(store.directory, systemClock);
    expect(read.build).toMatchObject({ status: "Failed", reason: "ResultsLost", frozen: true });
    expect(read.build.steps.map(({ status }) => status)).toEqual(["Success", "Success"]);
    let count = 0;
    for await (const batch of followLogs(read)) {
      expect(batch.bytes.at(-1)).toBe(10);
      for (const { time } of linesOf(batch)) expect([time === undefined, ++count]).toEqual([false, count]);
    }
    expect(count).toBeGreaterThan(1000);
  });

  test("an artifact that finds no room is refused as that, leaves nothing, and is stored when there is room", async () => {
    const store = new ArtifactStore({ directory: join(disk, "artifacts"), clock: systemClock });
    const bytes = async function* () {
      for (let count = 0; count < 16; count++) yield Buffer.alloc(64 * 1024, count);
    };
    const small = async function* () {
      yield Buffer.from("small");
    };
    const { digest } = await store.put("default", small());
    await writeFile(join(disk, "filler"), Buffer.alloc(400_000));
    const refusal: unknown = await store.put("default", bytes()).catch((thrown: unknown) => thrown);
    expect(asArtifactError(refusal)).toMatchObject({
      reason: "DiskFull",
      message: expect.stringMatching(/^the disk is full/),
    });
    expect(await readdir(join(disk, "artifacts/.parts"))).toEqual([]);
    expect(await readdir(join(disk, "artifacts/default"))).toEqual([digest.slice("sha256:".length)]);
    await rm(join(disk, "filler"));
    await run("mount", ["-o", "remount,size=4m", disk]);
    await expect(store.put("default", bytes())).resolves.toMatchObject({ size: 16 * 64 * 1024 });
  });

  test("run, why and describe tell when the disk of the server is full", async () => {
    await run("mount", ["-o", "remount,size=96m,nr_inodes=0", disk]);
    const server = await startServer(join(disk, "server"));
    const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
    const document = join(directory, "w.json");
    const steps = { a: { wait: { seconds: 600 } } };
    const metadata = { name: "held" };
    await writeFile(
      document,
      JSON.stringify({ apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata, spec: { steps } }),
    );
    const child = spawn(process.execPath, [slipwayBin, "run", document], { cwd: root, env: cleanEnvironment(env) });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    try {
      await eventually(
        60_000,
        "the run is there",
        () => /slipway: using the control plane/.test(said),
        () => said,
      );
      await expect.poll(async () => (await slipway(["get", "wf", "held"], { env })).code).toBe(0);
      await fill();
      const config = { apiVersion: "v1", kind: "ConfigMap", data: { text: "x".repeat(400_000) } };
      let count = 0;
      // The server keeps some room of its own, which takes a while to fill.
      await expect
        .poll(async () => {
          const input = JSON.stringify({ ...config, metadata: { name: `c${count++}` } });
          return (await slipway(["apply", "-f", "-"], { env, input })).err;
        })
        .toContain("its disk is full");
      const sentence = /slipway: the control plane is degraded: store: .*its disk is full/;
      expect((await slipway(["why", "held"], { env })).err).toMatch(sentence);
      expect((await slipway(["describe", "held"], { env })).err).toMatch(sentence);
      const status = await slipway(["status"], { env });
      expect(status.code).toBe(1);
      expect(status.out).toContain("its disk is full");
      await eventually(
        60_000,
        "the run is told",
        () => sentence.test(said),
        () => said,
      );
    } finally {
      child.kill("SIGKILL");
      await server.kill();
    }
  });

  test("a server whose log finds no room goes on, and logs what it held back when there is room", async () => {
    const log = join(disk, "log");
    const up = await logsTo(`2>>'${log}'`, directory);
    await fill();
    const server = await startServer(join(directory, "server"), [], {}, up);
    expect(await readFile(log, "utf8")).toBe("");
    const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
    expect((await slipway(["get", "wf"], { env })).code).toBe(0);
    await rm(join(disk, "filler"));
    expect(await server.stop()).toBe(0);
    expect(await readFile(log, "utf8")).toContain("slipway: stopping");
  });

  test.each(["at once", "while the store is made"])(
    "a server that finds no room %s names the directory",
    async (when) => {
      if (when === "at once") await fill();
      const directory = join(disk, "server");
      const { code, err } = await slipway(["up", "--data-dir", directory, "--port", "0"]);
      expect(code).toBe(1);
      expect(err).toContain(`slipway: cannot keep data in ${directory}: `);
      expect(err).toMatch(/no space left on device.*\nfree some space on its disk/);
    },
  );

  test("a server that finds no room for its kubeconfig names that file", async () => {
    await fill();
    const file = join(disk, "kubeconfig");
    const { code, err } = await slipway([
      "up",
      "--data-dir",
      join(directory, "d"),
      "--port",
      "0",
      "--kubeconfig",
      file,
    ]);
    expect(code).toBe(1);
    expect(err).toContain(`slipway: cannot keep data in ${file}: ENOSPC`);
  });

  test("the store is read-only while its disk is full, answers reads, and takes writes again when there is room", async () => {
    await run("mount", ["-o", "remount,size=48m", disk]);
    const store = await openStore(join(disk, "store"), { clock: systemClock, log: silentLog });
    const key = (name: string) => ({ group: "", resource: "configmaps", namespace: "default", name });
    const object = (name: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
      data: { text: "x".repeat(400_000) },
    });
    const write = (name: string) => store.write((transaction) => void transaction.put(key(name), object(name)));
    const names: string[] = [];
    try {
      await writeFile(join(disk, "filler"), Buffer.alloc(16_000_000));
      const refusal = await (async () => {
        for (let count = 0; count < 100; count++) {
          await write(`c${count}`);
          names.push(`c${count}`);
        }
      })().catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ message: expect.stringMatching(/no space left|disk is full/) });
      await expect(write("late")).rejects.toMatchObject({ code: "store-full" });
      for (const name of names) expect(store.get(key(name))?.uid).toBe(name);
      await rm(join(disk, "filler"));
      await expect
        .poll(
          () =>
            write("again").then(
              () => "stored",
              () => "refused",
            ),
          { timeout: 60_000, interval: 500 },
        )
        .toBe("stored");
    } finally {
      await store.close();
    }
    const reopened = await openStore(join(disk, "store"), { clock: systemClock, log: silentLog });
    for (const name of [...names, "again"]) expect(reopened.get(key(name))?.uid).toBe(name);
    expect(reopened.get(key("late"))).toBeUndefined();
    await reopened.close();
  });

  test("the runner goes on, and an end that it could not note is told when there is room", async () => {
    runtime = await testRuntime(disk, { runnerIdle: 60_000 });
    const gate = join(directory, "gate");
    // What is noted of it fits into the room that the journal has set aside, but for its end.
    const id = `${"x".repeat(110_000)}/main/0`;
    const logPath = join(directory, "0.log");
    await runtime.start(shellTask(directory, id, `while [ ! -e ${gate} ]; do sleep 0.02; done; exit 7`, { logPath }));
    const before = await lockOwner(runnerPaths(join(disk, "runner")).lock);
    await fill();
    await writeFile(gate, "");
    const other = shellTask(directory, `${"y".repeat(110_000)}/main/0`, "true", { logPath });
    await expect(runtime.start(other)).rejects.toThrow("ENOSPC");
    expect(runtime.find(id)?.state.phase).toBe("running");
    await rm(join(disk, "filler"));
    expect(await outcomeOf(runtime, id)).toMatchObject({ kind: "exited", code: 7 });
    expect((await runtime.start(other)).id).toBe(other.id);
    const after = await lockOwner(runnerPaths(join(disk, "runner")).lock);
    expect(after).toEqual(before);
    expect(after !== undefined && isAlive(after)).toBe(true);
  });

  test("a task whose log fills the disk runs to its end, and what it had printed can be read", async () => {
    runtime = await testRuntime(directory);
    const task = shellTask(directory, "loud/main/0", "seq 1 300000; exit 3", { logPath: join(disk, "0.log") });
    await runtime.start(task);
    const outcome = await outcomeOf(runtime, task.id);
    expect(outcome).toMatchObject({ kind: "exited", code: 3, note: expect.stringContaining("ENOSPC") });
    const pieces: Uint8Array[] = [];
    for await (const piece of readLogs(task.logPath)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toMatch(/^1\n2\n3\n/);
  });

  test.each([1, 4, 20])("a run with room for %d files fails and says why", async (count) => {
    await leaveNodes(count);
    const document = join(root, "examples/workflow/hello.yaml");
    const { code, err } = await slipway(["run", "--ephemeral", document], { env: { TMPDIR: disk } });
    expect(code).toBe(1);
    expect(err).toMatch(/greet: Failed .*the disk is full: ENOSPC: no space left on device, mkdir/);
  });

  test("a run without room for anything says so in one line", async () => {
    await leaveNodes(0);
    const document = join(root, "examples/workflow/hello.yaml");
    const { code, err } = await slipway(["run", "--ephemeral", document], { env: { TMPDIR: disk } });
    expect(code).toBe(1);
    expect(err).toMatch(/^slipway: ENOSPC: no space left on device, mkdtemp '[^']+'\n$/);
  });

  test("a run whose output is lost says so, and its steps are what they are", async () => {
    const document = join(directory, "loud.yaml");
    const steps = "{loud: {container: {image: none, command: [seq, '300000']}}}";
    const text = `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: loud}\nspec: {steps: ${steps}}\n`;
    await writeFile(document, text);
    const { code, err } = await slipway(["run", "--ephemeral", document], { env: { TMPDIR: disk } });
    expect(code).toBe(0);
    expect(err).toMatch(/error output of a container was lost .*output is incomplete: ENOSPC/);
    expect((await exec("ls", [disk])).out).toBe("");
    expect(await readFile(document, "utf8")).toBe(text);
  });
});
