import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { Harness, job, namespace, Thing } from "../testing/harness.ts";

let open: Harness | undefined;
function start(): Harness {
  open = new Harness();
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const trying = (expression: string, more: JsonObject = {}) => ({
  retry: { limit: 5, initialSeconds: 1, expression },
  ...more,
});
const again = "Waiting/Backoff";

test.each([
  [["Lost"], "Waiting/Backoff"],
  [["Error", "Timeout"], "Failed/Lost"],
] as const)(
  "a container that was lost with its runner is tried again where retry.on is %j: %s",
  async (on, expected) => {
    const harness = start();
    await harness.create({ steps: { a: job({ retry: { limit: 1, initialSeconds: 1, on: [...on] } }) } });
    const message = "the runner process ended while it ran; its exit code is unknown";
    await harness.end("a", { exitCode: 137, reason: "ContainerStatusUnknown", message });
    expect((await harness.phases())["a"]).toBe(expected);
  },
);

test.each([
  ["exitCode == 75", 75, "", again],
  ["exitCode == 75", 1, "", "Failed/Error"],
  ["attempt < 1", 1, "", "Failed/Error"],
  ["reason == 'Error' && message == 'exit code 3: no route'", 3, "trying\nno route\n", again],
  ["outputs.again == 'yes'", 1, "again=yes", again],
  ["outputs.again == 'yes'", 1, "", "Failed/Error"],
  ["has(outputs.again)", 1, "what is this", "Failed/Error"],
  ["steps.before.outputs.n == '1' && params.mode == 'fast'", 1, "", again],
  ["workflow.name == 'wf' && workflow.runNumber == 1", 1, "", again],
])("%s after exit code %d with the message %j: %s", async (expression, exitCode, message, phase) => {
  const run = start();
  await run.create({
    params: [{ name: "mode", default: "fast" }],
    steps: { before: job({ outputs: { n: {} } }), a: job(trying(expression, { dependencies: ["before"] })) },
  });
  await run.end("before", { message: "n=1" });
  await run.end("a", { exitCode, message });
  expect((await run.phases())["a"]).toBe(phase);
});

test("an expression that fails never becomes a loop", async () => {
  const run = start();
  await run.create({ steps: { a: job(trying("outputs.count > 3")) } });
  await run.end("a", { exitCode: 1 });
  expect(await run.phases()).toEqual({ a: "Failed/Error" });
});

test.each([
  ["reason == 'Timeout'", again],
  ["reason == 'Error'", "Failed/Timeout"],
  ["exitCode == null && attempt == 1", again],
  ["steps.before.outputs.n == '1' && workflow.name == 'wf'", again],
])("an attempt that took too long is judged by %s: %s", async (expression, phase) => {
  const run = start();
  const more = { timeoutSeconds: 5, dependencies: ["before"] };
  await run.create({ steps: { before: job({ outputs: { n: {} } }), a: job(trying(expression, more)) } });
  await run.end("before", { message: "n=1" });
  await run.pass(5_200);
  expect((await run.phases())["a"]).toBe(phase);
});

test("the class and the expression must both agree", async () => {
  const run = start();
  const retry = { limit: 5, initialSeconds: 1, on: ["Lost" as const], expression: "true" };
  await run.create({ steps: { a: job({ retry }) } });
  await run.end("a", { exitCode: 1 });
  expect(await run.phases()).toEqual({ a: "Failed/Error" });
});

test.each([
  ["reason == 'OutputMissing' && exitCode == 0", "", again],
  ["reason != 'OutputMissing'", "", "Failed/OutputMissing"],
  ["outputs.other == 'x'", "other=x", again],
])("a success without its outputs is judged by %s too, with the message %j: %s", async (expression, message, phase) => {
  const run = start();
  await run.create({ steps: { a: job(trying(expression, { outputs: { digest: {} } })) } });
  await run.end("a", { message });
  expect(await run.phases()).toEqual({ a: phase });
});

test.each([
  ["reason == 'OutputInvalid'", again],
  ["reason == 'OutputMissing'", "Failed/OutputInvalid"],
])("outputs that cannot be read are judged by %s: %s", async (expression, phase) => {
  const run = start();
  await run.create({ steps: { a: job(trying(expression, { outputs: { digest: {} } })) } });
  await run.end("a", { message: "{ no json" });
  expect(await run.phases()).toEqual({ a: phase });
});

test.each([
  ["reason == 'Told' && message == 'by the thing' && outputs.code == 7 && exitCode == null", again],
  ["outputs.code == 8", "Failed/Told"],
])("the object of a template is judged by %s: %s", async (expression, phase) => {
  const run = start();
  const template = { apiVersion: "example.com/v1", kind: "Thing" };
  await run.create({ steps: { a: { template, ...trying(expression) } } });
  const { items } = await run.store.list(Thing, { namespace });
  const conditions = [{ type: "Failed", status: "True", reason: "Told", message: "by the thing" }];
  const ref = { type: Thing, namespace, name: items[0]?.metadata.name ?? "" };
  const body = { status: { conditions, outputs: { code: 7 } } };
  await run.store.patch(ref, { type: "merge", body }, { subresource: "status" });
  await run.settle();
  expect(await run.phases()).toEqual({ a: phase });
});
