import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { codeOf, silentLog, systemClock } from "#lib/base/index.ts";
import { readLogs } from "#kernel/streams/index.ts";
import { createDockerRuntime } from "#kernel/runtimes/docker/docker-runtime.ts";
import type { Runtime, Task } from "#kernel/runtimes/index.ts";
import { interactionContract } from "#kernel/runtimes/interaction.contract.ts";
import { outcomeOf, runtimeContract } from "#kernel/runtimes/runtime.contract.ts";
import { containerTask, plainSandbox, plainSetup, temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import { testImage } from "#test/support/docker-engine.ts";
import { rounds } from "#test/support/rounds.ts";
import { engine } from "./engine.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
const open: Runtime[] = [];

beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => directory.remove());
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ stopTasks: 0 });
});

/** What it runs is removed when it is closed with `stopTasks`, as it belongs to this process. */
function runtimeOf(store: string, owner: string | undefined = "test"): Runtime {
  const runtime = createDockerRuntime({
    address: { kind: "socket", path: engine.socket },
    version: "20.10",
    store,
    ...(owner === undefined ? {} : { owner }),
    clock: systemClock,
    log: silentLog,
  });
  open.push(runtime);
  return runtime;
}

const host = (runtime: Runtime) => {
  if (runtime.containers === undefined) throw new Error("the runtime has no containers");
  return runtime.containers;
};

const task = (id: string, script: string, more: Partial<Task> = {}) =>
  containerTask(directory.path, id, script, plainSetup(testImage, "box"), more);

let stores = 0;
const freshStore = () => `store-${++stores}`;

async function opened(store = freshStore()): Promise<Runtime> {
  const runtime = runtimeOf(store);
  await host(runtime).openSandbox(plainSandbox("box"));
  return runtime;
}

async function logOf({ logPath }: Task): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(logPath)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

runtimeContract("docker", async () => {
  const runtime = await opened();
  const place = await temporaryDirectory();
  const setup = plainSetup(testImage, "box");
  // Each run leaves a line in a file of this machine, once `first` has been done.
  const counted = (id: string, script: string, first = ":"): Task => ({
    ...containerTask(place.path, id, `${first}; echo run >> /runs/${id.replaceAll("/", "_")}; ${script}`, setup),
    mounts: [{ source: place.path, target: "/runs", readOnly: false }],
  });
  return {
    runtime,
    exits: (id, code, text = "") => counted(id, `printf '%s' '${text}'; exit ${code}`),
    // The first process of a container is not ended by signals that it does not catch.
    waits: (id) => counted(id, "while :; do sleep 0.05; done", "trap 'exit 143' TERM"),
    ignoresTerm: (id) => counted(id, "while :; do sleep 0.05; done", "trap '' TERM"),
    async runsOf(id) {
      const file = join(place.path, id.replaceAll("/", "_"));
      const text = await readFile(file, "utf8").catch((thrown: unknown) => {
        if (codeOf(thrown) === "ENOENT") return "";
        throw thrown;
      });
      return text.split("\n").length - 1;
    },
    passes: async () => undefined,
    async close() {
      await runtime.close({ stopTasks: 0 });
      await place.remove();
    },
  };
});

describe("containers", () => {
  test("both outputs are kept, also bytes that are no text and a last line without an end", async () => {
    const runtime = await opened();
    const one = task("out/main/0", "printf 'a\\377b\\n'; sleep 1; echo two >&2; sleep 1; printf three");
    await runtime.start(one);
    await outcomeOf(runtime, one.id);
    const pieces: Uint8Array[] = [];
    for await (const piece of readLogs(one.logPath)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString("latin1")).toBe("a\xffb\ntwo\nthree");
    expect(await readFile(one.logPath, "latin1")).toMatch(/ stderr F two\n.* stdout P three\n$/s);
  });

  test("a program that is not there never ran, and its code is 127", async () => {
    const runtime = await opened();
    const setup = plainSetup(testImage, "box", { command: ["/no/such"] });
    const { state } = await runtime.start({ ...task("no/main/0", ""), container: setup });
    expect(state).toMatchObject({ phase: "ended", outcome: { kind: "not-started", code: 127 } });
  });

  // Many at once, because the engine's word of it then comes late or never.
  test("containers that use more memory than their limit are killed by the kernel, which is told of each", async () => {
    const runtime = await opened();
    const setup = {
      ...plainSetup(testImage, "box", { limits: { memoryBytes: 16 * 1024 * 1024 } }),
      command: ["/bin/sh", "-c", "exec tail -c 100m /dev/zero"],
    };
    const tasks = Array.from({ length: rounds(4, 12) }, (_, n) => ({ ...task(`oom/main/${n}`, ""), container: setup }));
    await Promise.all(tasks.map((one) => runtime.start(one)));
    for (const { id } of tasks)
      expect(await outcomeOf(runtime, id)).toMatchObject({ kind: "exited", code: 137, outOfMemory: true });
  });

  test("a kill that is not the kernel's for memory is none", async () => {
    const runtime = await opened();
    const setup = plainSetup(testImage, "box", { limits: { memoryBytes: 16 * 1024 * 1024 } });
    const killed = (id: string, script: string) => ({
      ...task(id, ""),
      container: { ...setup, command: ["/bin/sh", "-c", script] },
    });
    const own = killed("own/main/0", "sleep 1.2; sh -c 'kill -9 $$'; exit $?");
    const ours = killed("ours/main/0", "sleep 60");
    await Promise.all([own, ours].map((one) => runtime.start(one)));
    await runtime.stop(ours.id, 0);
    for (const { id } of [own, ours]) {
      const outcome = await outcomeOf(runtime, id);
      expect(outcome).toMatchObject({ kind: "exited", code: 137 });
      expect(outcome).not.toHaveProperty("outOfMemory");
    }
  });

  test("what ran while nobody was there is found again, with its whole output and its code", async () => {
    const store = freshStore();
    const first = runtimeOf(store, undefined);
    await host(first).openSandbox(plainSandbox("box"));
    const [ended, running] = [
      task("e/main/0", "echo one; sleep 0.5; echo two; exit 7"),
      task("r/main/0", "echo one; until test -e /tmp/go; do sleep 0.1; done; echo two"),
    ];
    await first.start(ended);
    await first.start(running);
    const address = host(first).addressOf("box");
    await first.close();
    const containerOf = async ({ id }: Task) =>
      (await engine.docker("ps", "-aqf", `label=dev.slipway.task=${id}`)).out.trim();
    await engine.docker("wait", await containerOf(ended));
    const second = runtimeOf(store);
    expect((await second.list()).map(({ id, state }) => `${id} ${state.phase}`).sort()).toEqual([
      "e/main/0 ended",
      "r/main/0 running",
    ]);
    expect(host(second).addressOf("box")).toBe(address);
    expect(second.find(ended.id)?.state).toMatchObject({ outcome: { kind: "exited", code: 7 } });
    await engine.docker("exec", await containerOf(running), "/bin/touch", "/tmp/go");
    expect(await outcomeOf(second, running.id)).toMatchObject({ kind: "exited", code: 0 });
    for (const one of [ended, running]) expect(await logOf(one)).toBe("one\ntwo\n");
  });

  test("two servers on one engine do not see each other's containers", async () => {
    const [one, other] = [await opened(), await opened()];
    await one.start(task("x/main/0", "sleep 60"));
    expect(await other.list()).toEqual([]);
    await other.close({ stopTasks: 0 });
    expect(one.find("x/main/0")?.state.phase).toBe("running");
  });

  test("a control plane that ends with its process leaves nothing behind", async () => {
    const store = freshStore();
    const runtime = await opened(store);
    const memory = plainSandbox("memory", { memoryVolumes: [{ name: "m", sizeBytes: 1024 * 1024 }] });
    await host(runtime).openSandbox(memory);
    await runtime.start(task("x/main/0", "sleep 60"));
    await runtime.close({ stopTasks: 0 });
    const mine = `label=dev.slipway.store=${store}`;
    for (const what of [
      ["ps", "-aq"],
      ["volume", "ls", "-q"],
      ["network", "ls", "-q"],
    ]) {
      expect((await engine.docker(...what, "--filter", mine)).out).toBe("");
    }
  });

  test("containers of a sandbox share its address, and others reach it by its names, which can be changed", async () => {
    const runtime = await opened();
    const containers = host(runtime);
    const named = plainSandbox("named", { names: ["web.default.svc"], searches: ["default.svc"], hostname: "web-0" });
    const address = await containers.openSandbox(named);
    const serve = containerTask(
      directory.path,
      "named/main/0",
      "hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp",
      plainSetup(testImage, "named"),
    );
    await runtime.start(serve);
    const fetch = async (id: string, url: string, sandbox: string) => {
      const one = containerTask(
        directory.path,
        id,
        `until wget -qO- ${url}; do sleep 0.2; done`,
        plainSetup(testImage, sandbox),
      );
      await runtime.start(one);
      await outcomeOf(runtime, id);
      return logOf(one);
    };
    expect(await fetch("named/side/0", "http://127.0.0.1:8080/", "named")).toBe("web-0\n");
    expect(await fetch("box/a/0", `http://${address}:8080/`, "box")).toBe("web-0\n");
    expect(await fetch("box/b/0", "http://web.default.svc:8080/", "box")).toBe("web-0\n");
    await containers.rename("named", ["other.default.svc"]);
    expect(containers.addressOf("named")).toBe(address);
    expect(await fetch("box/c/0", "http://other.default.svc:8080/", "box")).toBe("web-0\n");
  });

  test("an engine that is killed and comes back has ended its containers, which is told with their output", async () => {
    const runtime = await opened();
    const one = task("k/main/0", "echo before; exec sleep 600");
    await runtime.start(one);
    await engine.kill();
    await expect(host(runtime).findImage(testImage)).rejects.toMatchObject({ code: "engine-unreachable" });
    await expect.poll(() => runtime.trouble?.()).toMatch(/engine/i);
    await engine.restart();
    await expect.poll(() => runtime.trouble?.()).toBeUndefined();
    expect(await outcomeOf(runtime, one.id)).toMatchObject({ kind: "exited" });
    expect(await logOf(one)).toBe("before\n");
    await host(runtime).openSandbox(plainSandbox("box"));
    const next = task("k/main/1", "echo after");
    await runtime.start(next);
    expect(await outcomeOf(runtime, next.id)).toMatchObject({ code: 0 });
  });

  test("a container that somebody else removes has ended, killed or lost, and one whose sandbox ends is killed", async () => {
    const runtime = await opened();
    await runtime.start(task("l/main/0", "sleep 600"));
    await engine.docker("rm", "-f", (await engine.docker("ps", "-qf", "label=dev.slipway.task=l/main/0")).out.trim());
    // Removing kills first; who looks in between sees that.
    expect((await outcomeOf(runtime, "l/main/0")).kind).toMatch(/^(?:lost|exited)$/);
    await runtime.start(task("l/main/1", "sleep 600"));
    await engine.docker("kill", (await engine.docker("ps", "-qf", "label=dev.slipway.role=sandbox")).out.trim());
    expect(await outcomeOf(runtime, "l/main/1")).toMatchObject({ kind: "exited", code: 137 });
  });

  interactionContract(
    "docker",
    async () => {
      const runtime = await opened();
      // Kept from the clean-up after each test, which is not of this suite's tests.
      open.splice(open.indexOf(runtime), 1);
      await runtime.start(task("i/main/0", "sleep 600"));
      return {
        interact: (command, options) => host(runtime).interact("i/main/0", command, options),
        close: () => runtime.close({ stopTasks: 0 }),
      };
    },
    { kill: "the engine cannot end a command" },
  );

  test("a command runs beside the container's own, and tells its code and output", async () => {
    const runtime = await opened();
    await runtime.start(task("x/main/0", "sleep 600"));
    const { signal } = new AbortController();
    const run = (...command: string[]) => host(runtime).exec("x/main/0", command, signal);
    expect(await run("/bin/sh", "-c", "echo out; sleep 1; echo err >&2; exit 3")).toEqual({
      code: 3,
      output: "out\nerr\n",
    });
    expect((await run("/no/such")).code).toBe(126);
    await expect(host(runtime).exec("nobody", ["/bin/true"], signal)).rejects.toMatchObject({ code: "engine-refusal" });
  });
});
