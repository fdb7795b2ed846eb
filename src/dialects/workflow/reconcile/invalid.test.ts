import { afterEach, expect, test } from "vitest";
import { Job } from "#kernel/model/index.ts";
import { Harness, type HarnessOptions, job, Thing } from "../testing/harness.ts";

let open: Harness | undefined;
function start(options: HarnessOptions = {}): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const wrong = { dependencies: ["nobody"] };
const conditions = async (run: Harness) =>
  Object.fromEntries(
    ((await run.status()).conditions ?? []).map(({ type, status, reason }) => [type, `${status}/${reason ?? ""}`]),
  );

test("a cancel ends an invalid workflow of which nothing has started", async () => {
  const run = start();
  await run.create({ steps: { a: job(wrong), b: job() }, finally: { last: job() } });
  await run.act("cancel", { reason: "typo" });
  expect(await run.action("cancel")).toMatchObject({ phase: "Done" });
  const message = "typo";
  expect(await run.status()).toMatchObject({ phase: "Canceled", reason: "Canceled", message, progress: "3/3" });
  expect(await run.phases()).toEqual({
    a: "Canceled/RunCanceled",
    b: "Canceled/RunCanceled",
    last: "Canceled/RunCanceled",
  });
  expect(await conditions(run)).toMatchObject({
    Failed: "True/Canceled",
    Complete: "False/",
    Invalid: "True/InvalidSpec",
  });
  expect(run.reasons()).toContain("WorkflowEnded");
});

test("a cancel deletes what an invalid workflow has running, and its final steps do not run", async () => {
  const run = start({ types: [Thing] });
  await run.create({
    steps: { a: job(), t: { template: { apiVersion: "example.com/v1", kind: "Thing", spec: {} } } },
    finally: { last: job() },
  });
  await run.edit({ steps: { c: job(wrong) } });
  expect(await run.active()).toEqual(["a"]);
  await run.act("cancel");
  expect(await run.jobs()).toEqual([]);
  expect((await run.store.list(Thing)).items).toEqual([]);
  expect(await run.status()).toMatchObject({ phase: "Canceled" });
  expect(await run.phases()).toMatchObject({
    a: "Canceled/RunCanceled",
    t: "Canceled/RunCanceled",
    last: "Canceled/RunCanceled",
  });
});

test("a step of an invalid workflow that had succeeded when the cancel came stays succeeded", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: job() } });
  await run.edit({ steps: { c: job(wrong) } });
  await run.end("a");
  await run.act("cancel");
  expect(await run.phases()).toMatchObject({ a: "Succeeded", b: "Canceled/RunCanceled" });
});

test("a process that takes over in the middle of such a cancel finishes it", async () => {
  const first = start();
  await first.create({ steps: { a: job() } });
  await first.edit({ steps: { c: job(wrong) } });
  // A finalizer holds the Job, as processes that still end do.
  const child = await first.jobOf("a");
  const finalizers = ["example.com/hold"];
  await first.store.update(Job, { ...child, metadata: { ...child.metadata, finalizers } });
  await first.act("cancel");
  expect(await first.action("cancel")).toMatchObject({ phase: "Done" });
  expect(await first.status()).toMatchObject({ phase: "Cancelling" });
  await first.close();
  const second = start({ store: first.store, clock: first.clock });
  await second.settle();
  const held = await second.jobOf("a");
  await second.store.update(Job, { ...held, metadata: { ...held.metadata, finalizers: [] } });
  await second.settle();
  expect(await second.status()).toMatchObject({ phase: "Canceled" });
});

test.each(["suspend", "resume", "skip"])(
  "%s of an invalid workflow is refused with what is possible",
  async (action) => {
    const run = start();
    await run.create({ steps: { a: job(wrong) } });
    await run.act(action, action === "skip" ? { step: "a" } : {});
    expect(await run.action(action)).toEqual({
      phase: "Refused",
      message: "the specification of the workflow is invalid; correct it, or cancel the whole workflow",
      finishTime: expect.any(String),
    });
  },
);

test("a retry of an invalid workflow that was canceled is refused, and its time to live goes on", async () => {
  const run = start();
  await run.create({ steps: { a: job(wrong) }, ttlSecondsAfterFinished: 60 });
  await run.act("cancel");
  await run.act("retry");
  expect(await run.action("retry")).toMatchObject({
    phase: "Refused",
    message:
      "the specification of the workflow is invalid and cannot be corrected after its end; create another workflow",
  });
  await run.pass(61_000);
  expect(await run.exists()).toBe(false);
});

test("an invalid workflow says its first problem and how many more there are, until it is corrected", async () => {
  const run = start();
  await run.create({ steps: { a: job(wrong), b: job({ dependencies: ["b"] }) } });
  const message = 'spec.steps.a.dependencies[0]: no step "nobody"';
  expect(await run.status()).toMatchObject({ phase: "Pending", message: `${message} (and 1 more)` });
  await run.edit({ steps: { a: job(wrong), b: job({ dependencies: [] }) } });
  expect((await run.status()).message).toBe(message);
  const writes = run.statusWrites;
  await run.edit({ steps: { a: job({ dependencies: [] }) } });
  expect(await run.status()).toMatchObject({ phase: "Running" });
  expect(await run.status()).not.toHaveProperty("message");
  // The write of the start takes the message back.
  expect(run.statusWrites - writes).toBe(1);
});
