import { lockOwner } from "#lib/base/index.node.ts";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLogs } from "#kernel/streams/index.ts";
import type { Runtime, Task } from "#kernel/runtimes/index.ts";
import { outcomeOf } from "#kernel/runtimes/runtime.contract.ts";
import { shellTask, temporaryDirectory, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { findNamespaceTools } from "#kernel/runtimes/process/runner/host-command.ts";

// Namespaces need root; the runtime itself says so by name where it is refused.
const found = await findNamespaceTools();
describe.skipIf(typeof found === "string")("with mounts", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let runtime: Runtime;
  let count = 0;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    runtime = await testRuntime(directory.path);
    await mkdir(join(directory.path, "source"));
    await writeFile(join(directory.path, "source", "file"), "content\n");
    await mkdir(join(directory.path, "target"));
  });
  afterAll(async () => {
    await runtime.close({ stopTasks: 0 });
    await directory.remove();
  });

  async function run(script: string, more: Partial<Task>) {
    const task = shellTask(directory.path, `m${count++}/main/0`, script, more);
    await runtime.start(task);
    const outcome = await outcomeOf(runtime, task.id);
    const pieces: Uint8Array[] = [];
    for await (const piece of readLogs(task.logPath)) pieces.push(piece);
    return { outcome, output: Buffer.concat(pieces).toString() };
  }
  const at = (name: string) => join(directory.path, name);

  test("the runtime says that it can", async () => {
    expect((await runtime.capabilities()).mounts).toEqual({ supported: true });
  });

  test("files appear for the task and for nobody else", async () => {
    const mounts = [{ source: at("source"), target: at("target"), readOnly: false }];
    const { output } = await run(`cat ${at("target/file")}; echo new > ${at("target/made")}`, { mounts });
    expect(output).toBe("content\n");
    expect(await readFile(at("source/made"), "utf8")).toBe("new\n");
    await expect(stat(at("target/made"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a read-only mount refuses writing", async () => {
    const mounts = [{ source: at("source"), target: at("target"), readOnly: true }];
    const { output, outcome } = await run(`echo x > ${at("target/forbidden")}`, { mounts });
    expect(output).toContain("Read-only file system");
    expect(outcome).toMatchObject({ kind: "exited", code: 2 });
  });

  test("a working directory inside a mount is the mounted one", async () => {
    const mounts = [{ source: at("source"), target: at("target"), readOnly: false }];
    expect((await run("cat file", { mounts, workingDirectory: at("target") })).output).toBe("content\n");
  });

  test("missing mount points are made, for directories and for files, and go with their task", async () => {
    const mounts = [
      { source: at("source"), target: at("new/deep"), readOnly: true },
      { source: at("source/file"), target: at("other/single"), readOnly: true },
    ];
    expect((await run(`cat ${at("new/deep/file")} ${at("other/single")}`, { mounts })).output).toBe(
      "content\ncontent\n",
    );
    for (const name of ["new", "other"]) await expect(stat(at(name))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a task keeps its pid through the preparation, so it can be stopped", async () => {
    const mounts = [{ source: at("source"), target: at("target"), readOnly: true }];
    const task = shellTask(directory.path, "stop/main/0", "exec sleep 3600", { mounts });
    await runtime.start(task);
    await runtime.stop(task.id, 30_000);
    expect(await outcomeOf(runtime, task.id)).toMatchObject({ signal: "SIGTERM" });
  });

  test("a task of a killed runner keeps its mounts, whose places go with it", async () => {
    const own = await temporaryDirectory();
    const first = await testRuntime(own.path);
    const place = join(own.path, "place");
    const mounts = [{ source: at("source"), target: place, readOnly: true }];
    const script = `echo up; while [ ! -e ${own.path}/gate ]; do sleep 0.02; done; cat ${place}/file; exit 7`;
    const task = shellTask(own.path, "kept/main/0", script, { mounts });
    await first.start(task);
    await expect.poll(() => readFile(task.logPath, "utf8").catch(() => "")).toContain("up");
    const { pid } = (await lockOwner(runnerPaths(join(own.path, "runner")).lock)) ?? { pid: 0 };
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
    await expect.poll(async () => (await lockOwner(runnerPaths(join(own.path, "runner")).lock))?.pid).not.toBe(pid);
    // Another one that mounts there comes and goes meanwhile.
    await first.start(shellTask(own.path, "other/main/0", "true", { mounts }));
    expect(await outcomeOf(first, "other/main/0")).toMatchObject({ code: 0 });
    await writeFile(join(own.path, "gate"), "");
    expect(await outcomeOf(first, "kept/main/0")).toMatchObject({ kind: "exited", code: 7 });
    expect(await readFile(task.logPath, "utf8")).toContain("content\n");
    await expect(stat(place)).rejects.toMatchObject({ code: "ENOENT" });
    await first.close({ stopTasks: 0 });
    await own.remove();
  });

  test("a mount that fails is told as a task that could not start, in the words of mount", async () => {
    const { outcome } = await run("true", {
      mounts: [{ source: at("source"), target: "/proc/self/nowhere", readOnly: true }],
    });
    expect(outcome).toMatchObject({ kind: "not-started", code: 128 });
  });

  test("a missing working directory is told the same way, and an own exit code of 125 is not taken for one", async () => {
    const mounts = [{ source: at("source"), target: at("target"), readOnly: true }];
    const missing = await run("true", { mounts, workingDirectory: "/no/such/place" });
    expect(missing.outcome).toMatchObject({ kind: "not-started", message: expect.stringContaining("/no/such/place") });
    expect((await run("exit 125", { mounts })).outcome).toMatchObject({ kind: "exited", code: 125 });
  });

  test("another user's task writes its output and is that user", async () => {
    const plain = await run("id -u; echo ok > /dev/stdout", {
      user: { uid: 65534, gid: 65534 },
      workingDirectory: "/",
    });
    expect(plain.output).toBe("65534\nok\n");
    const mounts = [{ source: "/usr", target: at("target"), readOnly: true }];
    const mounted = await run("id -u; id -g", { user: { uid: 65534, gid: 65534 }, mounts, workingDirectory: "/" });
    expect(mounted.output).toBe("65534\n65534\n");
  });
});
