import { describe, expect, test } from "vitest";
import { deferred, err, FakeClock } from "#lib/base/index.ts";
import { built, planOf } from "./testing/build-request.ts";
import { failure, fakeStepRuntime, success, untilCancelled } from "./testing/fake-step-runtime.ts";
import type { StepEnd, StepJob } from "./step-runtime.ts";

/** Steps that end as their names say. */
const byName = (job: StepJob): Promise<StepEnd> => {
  const { step } = job.step;
  if (step.startsWith("bad")) return Promise.resolve(failure());
  return step.startsWith("long") ? untilCancelled(job) : Promise.resolve(success);
};

describe("stages", () => {
  test("run one after another, their steps at once, each step through its statuses", async () => {
    const gates = { a: deferred<void>(), b: deferred<void>() };
    const meeting = { a: gates.a.promise, b: gates.b.promise };
    const runtime = fakeStepRuntime(async ({ step }) => {
      // Each waits for the other: they end only if both run.
      if (step.step === "a" || step.step === "b") {
        gates[step.step].resolve();
        await meeting[step.step === "a" ? "b" : "a"];
      }
      return success;
    });
    const { end, stages, updates } = await built(
      planOf([
        ["one", "success", ["a", "b"]],
        ["two", "success", ["c"]],
      ]),
      runtime,
    );
    expect(end).toEqual({ status: "Success" });
    expect(runtime.started.slice(0, 2).toSorted()).toEqual(["a", "b"]);
    expect(runtime.started.slice(2)).toEqual(["c"]);
    expect(stages).toEqual({ one: "Success", two: "Success" });
    for (const each of updates) expect(each).toEqual(["None", "Scheduling", "Initializing", "Running", "Success"]);
  });

  test("run by their conditions: a skipped one is neither a success nor a failure", async () => {
    const plan = planOf([
      ["s1", "success", ["ok"]],
      ["s2", "always", ["ok2"]],
      ["s3", "success", ["bad"]],
      ["s4", "success", ["x4"]],
      ["s5", "fail", ["x5"]],
      ["s6", "success", ["x6"]],
      ["s7", "always", ["x7"]],
      ["s8", "fail", ["x8"]],
    ]);
    const { end, stages } = await built(plan, fakeStepRuntime(byName));
    expect(stages).toEqual({
      s1: "Success",
      s2: "Success",
      s3: "Failed",
      s4: "None",
      s5: "Success",
      s6: "None",
      s7: "Success",
      s8: "Success",
    });
    expect(end).toEqual({ status: "Failed", reason: "StepFailed", message: "step s3/bad has failed" });
  });
});

describe("a step that fails", () => {
  test("cancels those that run beside it, whichever ends first", async () => {
    // Of the 6 orders in which three steps can end, each with every delay of turns up to 4.
    for (let seed = 0; seed < 100; seed++) {
      const turns = [seed % 5, Math.floor(seed / 5) % 5, Math.floor(seed / 25) % 4];
      const wait = async (count = 0): Promise<void> => {
        for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
      };
      const runtime = fakeStepRuntime(async (job) => {
        const { step } = job.step;
        if (step === "long") return await untilCancelled(job);
        await wait(step === "bad" ? turns[0] : turns[1]);
        // What is done before it is told to end is done.
        if (step === "quick") return job.signal.aborted ? { status: "Cancelled", exitCode: 143 } : success;
        await wait(turns[2]);
        return failure();
      });
      const { steps, stages, end } = await built(planOf([["s", "success", ["bad", "long", "quick"]]]), runtime);
      expect(steps).toMatchObject({ bad: "Failed", long: "Cancelled" });
      expect(["Success", "Cancelled"]).toContain(steps["quick"]);
      expect([stages["s"], end.status]).toEqual(["Failed", "Failed"]);
    }
  });

  test("cancels those whose turn has not come, too", async () => {
    const plan = planOf([["s", "success", ["bad", "later"]]]);
    const { steps, stages } = await built(plan, fakeStepRuntime(byName), { maxParallel: 1 });
    expect([steps, stages]).toEqual([{ bad: "Failed", later: "Cancelled" }, { s: "Failed" }]);
  });

  test("says in the results why", async () => {
    const { build } = await built(planOf([["s", "success", ["bad"]]]), fakeStepRuntime(byName));
    expect(build.steps[0]).toMatchObject({ status: "Failed", exitCode: 1, reason: "ExitCode", message: "exit code 1" });
  });

  test("has, when what it needs is not there, which is masked as its output is", async () => {
    const materialOf = () => Promise.resolve(err("there is no secret hunter22"));
    const plan = planOf([["s", "success", ["a"]]]);
    const { build } = await built(plan, fakeStepRuntime(byName), { materialOf, masked: ["hunter22"] });
    const message = "there is no secret ***";
    expect(build.steps[0]).toMatchObject({ status: "Failed", exitCode: null, reason: "Material", message });
  });
});

describe("a bound", () => {
  test("on steps at once lets as many run, in their order", async () => {
    const one = fakeStepRuntime(byName);
    await built(planOf([["s", "success", ["a", "b", "c"]]]), one, { maxParallel: 1 });
    expect([one.most, one.started.join("")]).toEqual([1, "abc"]);
    let meet = deferred<void>();
    let present = 0;
    // Two that meet go on; a third one would meet them, too.
    const two = fakeStepRuntime(async () => {
      const own = meet;
      if (++present % 2 === 0) {
        meet = deferred();
        own.resolve();
      }
      await own.promise;
      return success;
    });
    await built(planOf([["s", "success", ["a", "b", "c", "d"]]]), two, { maxParallel: 2 });
    expect([two.most, two.started.length]).toEqual([2, 4]);
  });

  test("on the time of a step fails it, behind what it has printed", async () => {
    const plan = planOf([["s", "success", ["long"]]]);
    const [stage] = plan.stages;
    const steps = (stage?.steps ?? []).map((step) => ({ ...step, timeoutMs: 20 }));
    const timed = { stages: plan.stages.map((each) => ({ ...each, steps })) };
    const clock = new FakeClock();
    const runtime = fakeStepRuntime((job) => {
      job.log.append("stdout", Buffer.from("begun\n"));
      void clock.advance(20);
      return untilCancelled(job);
    });
    const { build, end, logs } = await built(timed, runtime, { clock });
    expect(logs).toEqual([["begun", "[slipway] not finished within 0.02s"]]);
    expect(build.steps[0]).toMatchObject({ status: "Failed", reason: "Timeout", message: "not finished within 0.02s" });
    expect(end.status).toBe("Failed");
  });

  test("on the time of the build fails it, and no further stage runs", async () => {
    const plan = planOf([
      ["s", "success", ["long"]],
      ["t", "always", ["x"]],
    ]);
    const { end, steps, stages } = await built(plan, fakeStepRuntime(byName), { timeoutMs: 20 });
    expect(end).toEqual({ status: "Failed", reason: "Timeout", message: "not finished within 0.02s" });
    expect([steps, stages]).toEqual([
      { long: "Cancelled", x: "None" },
      { s: "Cancelled", t: "None" },
    ]);
  });
});

describe("a cancel", () => {
  const plan = planOf([
    ["s", "success", ["long"]],
    ["t", "success", ["x"]],
    ["u", "always", ["y"]],
  ]);
  const cancelled = async (more: { readonly alwaysOnCancel?: boolean } = {}) => {
    const cancel = new AbortController();
    const runtime = fakeStepRuntime((job) => {
      if (job.step.step === "long") setImmediate(() => cancel.abort("SIGTERM"));
      return byName(job);
    });
    return { runtime, ...(await built(plan, runtime, { signal: cancel.signal, ...more })) };
  };

  test("ends what runs, and starts no further stage", async () => {
    const { end, steps, stages } = await cancelled();
    expect(end.status).toBe("Cancelled");
    expect(steps).toEqual({ long: "Cancelled", x: "None", y: "None" });
    expect(stages).toEqual({ s: "Cancelled", t: "None", u: "None" });
  });

  test("lets stages run that always do, if that was wanted", async () => {
    const { end, steps, stages } = await cancelled({ alwaysOnCancel: true });
    expect(end.status).toBe("Cancelled");
    expect(steps).toEqual({ long: "Cancelled", x: "None", y: "Success" });
    expect(stages).toEqual({ s: "Cancelled", t: "None", u: "Success" });
  });

  test("that cuts nothing short changes nothing", async () => {
    const cancel = new AbortController();
    const runtime = fakeStepRuntime(() => {
      cancel.abort("SIGTERM");
      return Promise.resolve(success);
    });
    const { end } = await built(planOf([["s", "success", ["a"]]]), runtime, { signal: cancel.signal });
    expect(end).toEqual({ status: "Success" });
  });

  test("before the beginning runs nothing", async () => {
    const runtime = fakeStepRuntime(byName);
    const { end } = await built(plan, runtime, { signal: AbortSignal.abort("SIGINT") });
    expect([end.status, runtime.started]).toEqual(["Cancelled", []]);
  });
});

test("a step whose artifacts cannot be kept has failed, whatever it has said itself", async () => {
  async function* artifacts() {
    yield { name: "good", open: async function* () {} };
    yield {
      name: "bad",
      // oxlint-disable-next-line require-yield
      open: async function* (): AsyncGenerator<Uint8Array> {
        throw new Error("unreadable");
      },
    };
  }
  const runtime = fakeStepRuntime(() => Promise.resolve({ ...success, artifacts: artifacts() }));
  const { build } = await built(planOf([["s", "success", ["a"]]]), runtime);
  expect(build.steps[0]).toMatchObject({ status: "Failed", exitCode: 0, reason: "Artifacts", message: "unreadable" });
});

test("a password in the name of an artifact is shown with stars", async () => {
  async function* artifacts() {
    yield { name: "out/hunter2.txt", open: async function* () {} };
  }
  const runtime = fakeStepRuntime(() => Promise.resolve({ ...success, artifacts: artifacts() }));
  const shown = await built(planOf([["s", "success", ["a"]]]), runtime, { masked: ["hunter2"] });
  expect(shown.artifacts).toEqual(["out/***.txt"]);
});

test("a fault of the runtime ends the build, its results and everything beside it", async () => {
  const runtime = fakeStepRuntime((job) =>
    job.step.step === "a" ? Promise.reject(new Error("broken")) : untilCancelled(job),
  );
  await expect(built(planOf([["s", "success", ["a", "long"]]]), runtime)).rejects.toThrow("broken");
});
