import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { exec } from "#test/support/slipway.ts";
import { TemplateHost } from "./template-host.ts";
import { moduleFiles, realHost } from "./testing/index.ts";
import { threadStarter } from "./thread.ts";

const text = "name: x\ntasks: [{name: a, worker: w, actions: [{name: b, image: i}]}]";

test("a program that waits for a template lives until it is rendered, then ends, and writes nothing else", async () => {
  const program = await bundleProgram(join(import.meta.dirname, "testing/render-once.ts"));
  const files = await moduleFiles();
  const ended = await exec(process.execPath, [program, files.program, files.artifact]);
  expect(ended).toEqual({ code: 0, out: "x", err: "" });
});

test("nothing is read before the first question", async () => {
  const host = new TemplateHost({ program: "/nowhere/thread.cjs", artifact: "/nowhere/wasm.br", clock: systemClock });
  await host.close();
});

test("a module that is not there is an error of the installation", async () => {
  const host = await realHost({ artifact: "/nowhere/template.wasm.br" });
  try {
    await expect(host.render({ id: "wf", text, values: {} })).rejects.toMatchObject({
      code: "template-module",
      message: expect.stringContaining("/nowhere/template.wasm.br") as string,
    });
  } finally {
    await host.close();
  }
});

test("the second thread gets the module compiled", async () => {
  const start = threadStarter(await moduleFiles());
  const first = start();
  await first.ready;
  const second = start();
  await second.ready;
  const question = JSON.stringify({ operation: "render", id: "wf", text, values: {}, maxBytes: 1000 });
  const answers = [await first.ask(question), await second.ask(question)];
  expect(answers.map((answer) => answer.kind)).toEqual(["answer", "answer"]);
  await Promise.all([first.end(), second.end()]);
});

test("closing in the middle of a template ends the thread, and the caller hears of it", async () => {
  const host = await realHost();
  const rendered = host.render({ id: "wf", text: "{{ range 9000000000000000 }}{{ end }}", values: {} });
  // Behind it, so that the thread is at work.
  host.warm();
  await host.close();
  expect(await rendered).toMatchObject({ ok: false, error: { kind: "closed" } });
  expect(await host.render({ id: "wf", text, values: {} })).toMatchObject({ ok: false, error: { kind: "closed" } });
});
