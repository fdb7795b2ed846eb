import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestServer } from "#kernel/apiserver/testing/index.ts";
import { startWorkflowServer, types, workflow, workflows } from "./control-plane.ts";

// One request, however large, lets others have their turn. What is judged is the longest turn of the event loop beside a loop that takes about
// 25 ms where nothing else runs, in the same seconds: time alone would be that of the machine. bench/held-loop.mjs prints milliseconds.

let api: TestServer;
beforeAll(async () => {
  api = await startWorkflowServer();
});
afterAll(() => api.close());

/** Of the clock and of a processor: a turn has not taken longer than the shorter of the two. */
function now(): readonly [wall: number, processor: number] {
  const { user, system } = process.cpuUsage();
  return [performance.now(), (user + system) / 1000];
}
const since = ([wall, processor]: ReturnType<typeof now>): number => {
  const [nowWall, nowProcessor] = now();
  return Math.min(nowWall - wall, nowProcessor - processor);
};

let kept = 0;
function calibrated(): number {
  const begun = now();
  for (let at = 0; at < 10_000_000; at += 1) kept = (kept * 31 + at) | 0;
  return since(begun);
}

/** The longest turn while `work` goes on, in calibrated loops. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const before = calibrated();
  await new Promise((resolve) => setImmediate(resolve));
  let [last, longest] = [now(), 0];
  const timer = setInterval(() => {
    longest = Math.max(longest, since(last));
    last = now();
  }, 1);
  await work();
  // The last turn has not been looked at.
  await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(timer);
  return longest / Math.max(before, calibrated());
}

/** Of about 25 ms each; requests of their size are the first of this process, before its code is compiled. */
const mostLoops = 2;

test("a graph of 500 steps that all depend on each other holds the event loop for no longer than two calibrated loops", async () => {
  const keys = Array.from({ length: 500 }, (_, at) => `s${at}`);
  const steps = Object.fromEntries(
    keys.map((key, at) => [key, { wait: { seconds: 3600 }, dependencies: keys.slice(0, at) }]),
  );
  const create = (name: string, kind: string) => async () => {
    const at = workflows.replace("workflows", `${kind.toLowerCase()}s`);
    const { status, text } = await api.ask("POST", at, { body: { ...workflow(name, { steps }), kind } });
    expect(status, text).toBe(201);
  };
  for (const name of ["first", "second"])
    expect(await longestTurn(create(name, "Workflow")), name).toBeLessThan(mostLoops);
  expect(await longestTurn(create("template", "WorkflowTemplate"))).toBeLessThan(mostLoops);
});

test("JSON patches of 10,000 operations hold it for no longer than two, one after the other", async () => {
  const map = "/api/v1/namespaces/default/configmaps";
  await api.ask("POST", map, {
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { key: "" } },
  });
  const patch = (operation: (at: number) => object) => {
    const bytes = Buffer.from(JSON.stringify(Array.from({ length: 10_000 }, (_, at) => operation(at))));
    return async () => {
      const { status, text } = await api.ask("PATCH", `${map}/m`, { headers: types.json, bytes });
      expect(status, text.slice(0, 500)).toBe(200);
    };
  };
  const turns = {
    replacements: await longestTurn(patch((at) => ({ op: "replace", path: "/data/key", value: `${at}` }))),
    additions: await longestTurn(patch((at) => ({ op: "add", path: `/data/key${at}`, value: "" }))),
    removals: await longestTurn(patch((at) => ({ op: "remove", path: `/data/key${at}` }))),
  };
  expect(Object.entries(turns).filter(([, longest]) => longest >= mostLoops)).toEqual([]);
});
