import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { deferred, FakeClock, SlipwayError } from "#lib/base/index.ts";
import { labelValue, stepNamePrefix } from "../step-labels.ts";
import { shellStep } from "../testing/step-job.ts";
import { containerSettings } from "./container-words.ts";
import { endOfLife } from "../program-end.ts";
import { lacksInit, notCreated, notStarted, Turns } from "./docker-runtime.ts";
import { isOwnerGone, thisOwner } from "./owner-label.ts";
import { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";

const build = { instance: "team/a", buildId: 12, projectId: 7 };
const options = { build, stageId: 3, owner: "o", limits: {}, isKept: false, mounts: [], hasInit: true };

describe("a container of a step", () => {
  test("has the labels of the original's worker and those of the RFC, and the names as they are written", () => {
    const step = shellStep("true", { stepId: 4, stage: "träv", step: "unit tests" });
    expect(containerSettings({ step, env: {} }, options)["Labels"]).toEqual({
      app: "wharf-cmd-worker-step",
      "app.kubernetes.io/name": "wharf-cmd-worker-step",
      "app.kubernetes.io/part-of": "wharf",
      "app.kubernetes.io/managed-by": "wharf-cmd-worker",
      "app.kubernetes.io/created-by": "wharf-cmd-worker",
      "wharf.iver.com/instance": "team_a",
      "wharf.iver.com/build-ref": "12",
      "wharf.iver.com/buildRef": "12",
      "wharf.iver.com/project-id": "7",
      "wharf.iver.com/stage-id": "3",
      "wharf.iver.com/step-id": "4",
      "wharf.iver.com/stage": "tr_v",
      "wharf.iver.com/step": "unit_tests",
      "wharf.iver.com/stage-name": "träv",
      "wharf.iver.com/step-name": "unit tests",
      "slipway.dev/owner": "o",
    });
  });

  test("of a build without numbers has no labels for them", () => {
    const alone = { ...options, build: { instance: "local" }, isKept: true };
    const labels = Object.keys(containerSettings({ step: shellStep("true"), env: {} }, alone)["Labels"] ?? {});
    expect(labels.filter((name) => /build-ref|buildRef|project/.test(name))).toEqual([]);
    expect(labels).toContain("slipway.dev/keep");
  });

  test("runs what the step says, where the repository is, within its limits", () => {
    const limits = { memoryBytes: 1024, cpus: 0.5 };
    const env = { A: "b=c", WHARF_ARTIFACTS_DIR: "/elsewhere" };
    expect(containerSettings({ step: shellStep("a\nb"), env }, { ...options, limits })).toMatchObject({
      Image: "busybox",
      Entrypoint: ["/bin/sh", "-c"],
      Cmd: ["a\nb"],
      Env: ["A=b=c", "WHARF_ARTIFACTS_DIR=/mnt/artifacts"],
      WorkingDir: "/mnt/repo",
      HostConfig: { Init: true, Memory: 1024, MemorySwap: 1024, NanoCpus: 500_000_000 },
    });
    const { entry: _, ...bare } = shellStep("x");
    expect(containerSettings({ step: bare, env: {} }, { ...options, hasInit: false })).not.toHaveProperty("Entrypoint");
  });
});

test("labels hold what Kubernetes allows, names what all engines take", () => {
  expect(labelValue("-a b/ä.")).toBe("a_b");
  expect(labelValue("x".repeat(70))).toHaveLength(63);
  expect(stepNamePrefix(shellStep("", { step: "Unit_Tests (fast)" }))).toBe("wharf-build-container-unit-tests--fast-");
  expect(stepNamePrefix(shellStep("", { type: "helm-package", step: "y".repeat(50) }))).toMatch(/^[a-z-]{42}-$/);
});

test.each([
  [
    { exitCode: 0, outOfMemory: false },
    { status: "Success", exitCode: 0 },
  ],
  [
    { exitCode: 42, outOfMemory: false },
    { status: "Failed", reason: "ExitCode", message: "exit code 42" },
  ],
  [
    { exitCode: 126, outOfMemory: false },
    { status: "Failed", reason: "NotExecutable" },
  ],
  [
    { exitCode: 127, outOfMemory: false },
    { status: "Failed", reason: "NotFound" },
  ],
  [
    { exitCode: 139, outOfMemory: false },
    { status: "Failed", reason: "Signal", message: "killed by SIGSEGV" },
  ],
  [
    { exitCode: 255, outOfMemory: false },
    { status: "Failed", reason: "ExitCode" },
  ],
  [
    { exitCode: 137, outOfMemory: true },
    { status: "Failed", reason: "OutOfMemory" },
  ],
])("a container that ends with %j is told as %j", (life, expected) => {
  expect(endOfLife(life, false)).toMatchObject(expected);
  expect(endOfLife(life, true)).toEqual({ status: "Cancelled", exitCode: life.exitCode });
});

test("what the engine refuses is told with its words, and with the code a shell would have", () => {
  const refused = (message: string, isProgramMissing = false) => ({ message, isProgramMissing });
  expect(notCreated("x:1", refused("No such image: x:1")).end).toMatchObject({
    reason: "ImageMissing",
    exitCode: null,
  });
  expect(notCreated("x:1", refused("bad label")).end).toMatchObject({
    reason: "ContainerCreate",
    message: "bad label",
  });
  expect(notStarted(refused("exec: no such file", true)).end).toMatchObject({ reason: "NotFound", exitCode: 127 });
  expect(notStarted(refused("permission denied")).end).toMatchObject({ reason: "NotExecutable", exitCode: 126 });
  expect(notStarted(refused("no room")).end).toMatchObject({ reason: "ContainerStart", exitCode: null });
  expect(lacksInit(refused('exec: "docker-init": executable file not found in $PATH', true))).toBe(true);
});

test("an owner is gone when its very process is; of other machines and other words nobody knows", () => {
  const own = thisOwner();
  expect(isOwnerGone(own)).toBe(false);
  const [, , start = "", boot = ""] = own.split(" ");
  expect(isOwnerGone(`${hostname()} ${process.pid} ${Number(start) + 1} ${boot}`)).toBe(true);
  expect(isOwnerGone(`${hostname()} ${process.pid} ${start} another-boot`)).toBe(true);
  expect(isOwnerGone(`elsewhere ${process.pid} ${Number(start) + 1} ${boot}`)).toBe(false);
  expect(isOwnerGone("somebody")).toBe(false);
});

test("turns are taken by few at a time, in the order of asking, also when one fails", async () => {
  const turns = new Turns(2);
  const works = [deferred<void>(), deferred<void>(), deferred<void>(), deferred<void>()];
  const begun: number[] = [];
  const taken = works.map((work, index) =>
    turns.take(() => {
      begun.push(index);
      return work.promise;
    }),
  );
  expect(begun).toEqual([0, 1]);
  works[1]?.reject(new Error("failed"));
  await expect(taken[1]).rejects.toThrow("failed");
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  works[0]?.resolve();
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  works[2]?.resolve();
  works[3]?.resolve();
  await Promise.all([taken[0], taken[2], taken[3]]);
});

describe("an engine that is away", () => {
  const away = new SlipwayError("engine-unreachable", "nobody answers");

  test("is asked again until it answers", async () => {
    const clock = new FakeClock();
    let asked = 0;
    const answer = new Patience(clock).ask(() => (++asked < 3 ? Promise.reject(away) : Promise.resolve("yes")));
    for (let second = 0; second < 5; second++) await clock.advance(1_000);
    expect(await answer).toBe("yes");
    expect(asked).toBe(3);
  });

  test("for longer than its time has lost the step, and what it refuses is not asked again", async () => {
    const clock = new FakeClock();
    const asking = new Patience(clock, 60_000).ask(() => Promise.reject(away)).catch((thrown: unknown) => thrown);
    for (let second = 0; second < 70; second++) await clock.advance(1_000);
    expect(await asking).toMatchObject({ reason: "RuntimeLost", message: expect.stringContaining("60 s") });
    const refused = new StepFailure("ImageMissing", "no");
    await expect(new Patience(clock).ask(() => Promise.reject(refused))).rejects.toBe(refused);
  });
});
