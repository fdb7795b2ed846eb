import { expect, test } from "vitest";
import { containerTask, plainSandbox, plainSetup } from "../testing/index.ts";
import { pauseContainer, taskContainer } from "./container-config.ts";
import { registryAuth, splitImage } from "./images.ts";
import { engineName, labels, networkName, sandboxName } from "./names.ts";
import { endedUnheard, lifeOf, mayHaveRunOutOfMemory, outcomeOf } from "./outcome.ts";
import { pauseProgram, tarOf } from "./pause-program.ts";

// The pure parts: our words to the engine's, and back.

test.each([
  ["busybox", "busybox", "latest"],
  ["busybox:1", "busybox", "1"],
  ["localhost:5000/a/b", "localhost:5000/a/b", "latest"],
  ["localhost:5000/a/b:c", "localhost:5000/a/b", "c"],
  ["a/b@sha256:00", "a/b", "sha256:00"],
  ["a/b:c@sha256:00", "a/b", "sha256:00"],
])("the image %s is %s with the tag %s", (image, name, tag) => {
  expect(splitImage(image)).toEqual({ name, tag });
});

test("names are fit for an engine, differ for different ids and stores, and are the same every time", () => {
  const names = ["a/b", "a_b", "a/b/0", `${"x".repeat(300)}/1`, `${"x".repeat(300)}/2`].flatMap((id) => [
    engineName("s", id),
    engineName("t", id),
  ]);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,180}$/);
  expect(engineName("s", "a/b")).toBe(engineName("s", "a/b"));
});

test("a task joins the network, and with a shared table the processes, of its sandbox", () => {
  const task = { ...containerTask("/d", "p/main/0", "true", plainSetup("i", "p")), env: { A: "b=c" } };
  const sandbox = plainSandbox("p", { sharesProcesses: true });
  const limits = { memoryBytes: 1000, cpus: 1.5, cpuShares: 512 };
  const setup = plainSetup("i", "p", { limits, mayGainRights: false, filtersCalls: false, groups: [5] });
  const shared = `container:${sandboxName("s", "p")}`;
  expect(taskContainer(task, setup, sandbox, { store: "s" })).toMatchObject({
    Image: "i",
    Entrypoint: null,
    Cmd: null,
    Env: ["A=b=c"],
    HostConfig: {
      NetworkMode: shared,
      IpcMode: shared,
      PidMode: shared,
      Memory: 1000,
      MemorySwap: 1000,
      NanoCpus: 1_500_000_000,
      CpuShares: 512,
      GroupAdd: ["5"],
      SecurityOpt: ["no-new-privileges", "seccomp=unconfined"],
    },
  });
  expect(taskContainer(task, setup, sandbox, { store: "s" })).toMatchObject({ HostConfig: { Privileged: false } });
  const ruling = taskContainer(task, { ...setup, isPrivileged: true }, sandbox, { store: "s" });
  expect(ruling).toMatchObject({ HostConfig: { Privileged: true } });
  const hosted = taskContainer(task, setup, { ...sandbox, hostNetwork: true }, { store: "s" });
  expect(hosted).toMatchObject({ HostConfig: { NetworkMode: "host" } });
});

test("a task always has the labels that name files of this machine, so that an image cannot give them", () => {
  const task = containerTask("/d", "p/main/0", "true", plainSetup("i", "p"));
  const { maskedVariables: _, message: __, ...plain } = task;
  expect(taskContainer(plain, plainSetup("i", "p"), plainSandbox("p"), { store: "s" })).toMatchObject({
    Labels: { [labels.message]: "", [labels.masked]: "", [labels.log]: task.logPath, [labels.task]: task.id },
  });
});

test("mounts come in the order in which one may lie in another", () => {
  const memoryMounts = [{ volume: "m", target: "/a", readOnly: false }];
  const mounts = [{ source: "/s", target: "/a/b", readOnly: true }];
  const task = { ...containerTask("/d", "p/main/0", "true", plainSetup("i", "p")), mounts };
  const made = taskContainer(task, plainSetup("i", "p", { memoryMounts }), plainSandbox("p"), { store: "s" });
  expect(made).toMatchObject({
    HostConfig: {
      Mounts: [
        { Type: "volume", Target: "/a" },
        { Type: "bind", Target: "/a/b", ReadOnly: true },
      ],
    },
  });
});

test("a sandbox has its names, ports and hosts, and none of them on the machine's network", () => {
  const ports = [{ port: 80, hostPort: 8080, protocol: "tcp", address: "127.0.0.1" }] as const;
  const sandbox = plainSandbox("p", {
    ports,
    names: ["a.b"],
    searches: ["b"],
    hosts: [{ name: "h", address: "1.2.3.4" }],
  });
  const made = pauseContainer(sandbox, "pause", { store: "s", process: "1 2 3 4" });
  expect(made).toMatchObject({
    Hostname: "p",
    Labels: { "dev.slipway.owner": "1 2 3 4", "dev.slipway.role": "sandbox" },
    HostConfig: {
      DnsSearch: ["b"],
      ExtraHosts: ["h:1.2.3.4"],
      PortBindings: { "80/tcp": [{ HostIp: "127.0.0.1", HostPort: "8080" }] },
    },
    NetworkingConfig: { EndpointsConfig: { [networkName("s")]: { Aliases: ["a.b"] } } },
  });
  const hosted = pauseContainer({ ...sandbox, hostNetwork: true }, "pause", { store: "s" });
  expect(hosted).not.toHaveProperty("NetworkingConfig");
  expect(hosted).toMatchObject({ HostConfig: { NetworkMode: "host", PortBindings: {} } });
});

const times = { StartedAt: "2026-01-01T00:00:00.123456789Z", FinishedAt: "2026-01-01T00:00:02Z" };
const never = { StartedAt: "0001-01-01T00:00:00Z", FinishedAt: "0001-01-01T00:00:00Z" };

test.each([
  ["an exit", { ...times, ExitCode: 3 }, { kind: "exited", code: 3 }],
  ["a signal", { ...times, ExitCode: 143 }, { kind: "exited", code: 143, signal: "SIGTERM" }],
  ["too much memory", { ...times, ExitCode: 137, OOMKilled: true }, { code: 137, outOfMemory: true }],
  [
    "no program",
    { ...never, Error: 'exec: "x": executable file not found in $PATH' },
    { kind: "not-started", code: 127 },
  ],
  ["no right", { ...never, Error: "permission denied" }, { kind: "not-started", code: 126 }],
  ["anything else", { ...never, Error: "no" }, { kind: "not-started", code: 128, message: "no" }],
])("%s is told as it was", (_name, State, outcome) => {
  expect(outcomeOf(lifeOf({ State }), 0)).toMatchObject(outcome);
});

test("what a container has printed came after its creation, though maybe before its start was noted", () => {
  const { createdAt, startedAt } = lifeOf({ Created: "2025-12-31T23:59:59.5Z", State: times });
  expect([createdAt, startedAt]).toEqual([Date.UTC(2025, 11, 31, 23, 59, 59, 500), Date.UTC(2026, 0, 1, 0, 0, 0, 123)]);
});

test("why a container did not start is told without the values that are kept out of its log", () => {
  const Config = { Env: ["TOKEN=hunter22", "PATH=/bin"], Labels: { "dev.slipway.masked": "TOKEN" } };
  const State = { ...never, Error: 'exec: "hunter22": executable file not found in $PATH' };
  expect(outcomeOf(lifeOf({ Config, State }), 0)).toMatchObject({
    code: 127,
    message: 'exec: "***": executable file not found in $PATH',
  });
});

test.each([
  ["a kill of a container with a limit", { ...times, ExitCode: 137 }, 1, true],
  ["one that the engine knows of", { ...times, ExitCode: 137, OOMKilled: true }, 1, false],
  ["a kill of a container without a limit", { ...times, ExitCode: 137 }, 0, false],
  ["another end", { ...times, ExitCode: 143 }, 1, false],
])("%s may be the kernel's for memory", (_name, State, Memory, expected) => {
  expect(mayHaveRunOutOfMemory(lifeOf({ State, HostConfig: { Memory } }))).toBe(expected);
});

test.each([
  ["2026-01-01T00:00:00.950Z", true],
  ["2025-12-31T23:59:59.990Z", true],
  ["2026-01-01T00:00:01.500Z", false],
])("an end at %s, of a start at midnight, may not have been heard: %s", (FinishedAt, expected) => {
  expect(endedUnheard(lifeOf({ State: { StartedAt: "2026-01-01T00:00:00.000Z", FinishedAt } }))).toBe(expected);
});

test("a clock that was set back does not make an end come before its start", () => {
  const life = lifeOf({ State: { ...times, FinishedAt: "2025-01-01T00:00:00Z", ExitCode: 0 } });
  expect(outcomeOf(life, 0)).toMatchObject({ startedAt: life.startedAt, finishedAt: life.startedAt });
});

test.each(["amd64", "x86_64", "arm64", "aarch64"])(
  "the pause program for %s is an ELF file for it that loads all of itself",
  (name) => {
    const file = pauseProgram(name) ?? Buffer.alloc(0);
    expect(file.subarray(0, 4).toString("latin1")).toBe("\x7fELF");
    expect(file.readUInt16LE(18)).toBe(/arm|aarch/.test(name) ? 183 : 62);
    expect(Number(file.readBigUInt64LE(64 + 32))).toBe(file.length);
    expect(file.readBigUInt64LE(24) - file.readBigUInt64LE(64 + 16)).toBe(120n);
  },
);

test("other processors have none", () => {
  expect(pauseProgram("s390x")).toBeUndefined();
});

test("an archive has whole blocks and a sum that fits", () => {
  const tar = tarOf("pause", Buffer.from("content"), 0o755);
  expect(tar.length % 512).toBe(0);
  const sum = tar.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  expect(parseInt(tar.toString("latin1", 148, 154), 8)).toBe(sum);
  expect(tar.toString("latin1", 512, 519)).toBe("content");
});

test.each(["p", "pp", "ppp", "~~~???>>>"])(
  "a login with the password %j is padded and in the URL's alphabet",
  (password) => {
    const text = registryAuth({ server: "s", username: "u", password });
    expect(text).toMatch(/^[A-Za-z0-9_-]+={0,2}$/);
    expect(text.length % 4).toBe(0);
    expect(JSON.parse(Buffer.from(text, "base64url").toString())).toEqual({
      username: "u",
      password,
      serveraddress: "s",
    });
  },
);
