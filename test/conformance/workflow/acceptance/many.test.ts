import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import { commandLine } from "#test/support/command-line.ts";
import { workflow, WorkflowPlane, workflows } from "../control-plane.ts";
import { jobsOf, Kubelet, labelsOf } from "../kubelet.ts";

// Lines 21, 37 and 38 of the acceptance list: many items, many workflows, many steps.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };

/** Ten seconds of work, on the busiest machine. */
const timeout = 300_000;

/** Line 21 of the acceptance list says a thousand. */
const count = rounds(120, 1_000);

test(`line 21: a fan-out over ${count} items, 50 at a time`, { timeout }, async () => {
  const items = Array.from({ length: count }, (_, n) => `item ${n}`);
  const forEach = { items, limit: 1_000, maxParallel: 50 };
  const spec = { steps: { fan: { ...box, forEach, outputs: { name: {} } } } };
  await plane.create("wf", spec);
  let most = 0;
  let largest = 0;
  for (let live = await kubelet.running(); live.length > 0; live = await kubelet.running()) {
    most = Math.max(most, live.length);
    // Some of them end, not those that began first.
    await kubelet.endSome(live.toReversed().slice(0, 40), ({ item }) => ({ message: `name=${item}` }));
    largest = Math.max(largest, JSON.stringify(await plane.status("wf")).length);
  }
  expect(most).toBe(50);
  expect(largest).toBeLessThan(10 * 1_024);
  const status = await plane.status("wf");
  expect(status).toMatchObject({ phase: "Succeeded" });
  expect(status["statuses"]?.["fan"]?.["outputs"]?.["name"]).toEqual(items.map((_item, n) => `${n}`));
  expect(status["statuses"]?.["fan"]?.["items"]).toMatchObject({ total: count, states: `${count}S` });
  const names = new Set((await jobsOf(plane)).map((job) => labelsOf(job)["slipway.dev/item"]));
  expect(names.size).toBe(count);
});

test("line 38: 1,000 steps are created, described, drawn and judged, each in less than a second", {
  timeout,
}, async () => {
  const key = (n: number) => `step-${String(n).padStart(3, "0")}`;
  const step = (n: number) => {
    const args = [`echo this is step ${n} of a thousand`];
    const dependencies = n < 10 ? [] : [key(n - 10), key(n - (n % 10) - 1)];
    return { container: { image: "busybox", command: ["sh", "-c"], args }, dependencies: [...new Set(dependencies)] };
  };
  const steps = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [key(n), step(n)]));
  const document = JSON.stringify(workflow("wf", { activeDeadlineSeconds: 3_600, steps }));
  const line = await commandLine({ client: plane.api.server.client(), clock: plane.clock });
  await writeFile(join(line.directory, "wf.json"), document);
  /** Least processor time of three tries, in seconds: others on this machine and what is loaded once are not what is judged. */
  const cost = async (what: () => Promise<unknown>): Promise<number> => {
    const costs: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      const before = process.cpuUsage();
      await what();
      const { user, system } = process.cpuUsage(before);
      costs.push((user + system) / 1e6);
    }
    return Math.min(...costs);
  };
  const create = async () => {
    await plane.api.ask("DELETE", `${workflows}/wf?propagationPolicy=Background`);
    await plane.settle();
    return (
      await plane.api.ask("POST", workflows, { bytes: document, headers: { "Content-Type": "application/json" } })
    ).status;
  };
  const costs = {
    create: await cost(create),
    lint: await cost(() => line.run("lint", "wf.json")),
    graph: await cost(() => line.run("graph", "wf.json", "-o", "mermaid")),
    describe: await cost(() => line.run("describe", "workflow", "wf")),
  };
  for (const [what, seconds] of Object.entries(costs)) expect(seconds, what).toBeLessThan(1);
  const { bytes, json } = await plane.api.ask("GET", `${workflows}/wf`);
  expect(bytes.length).toBeLessThan(1_024 * 1_024);
  expect(Object.keys(json["spec"]?.["steps"] ?? {})).toHaveLength(1_000);
  await line.close();
});
