import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiClient, Metrics } from "#kernel/kit/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { WorkflowPlane, workflows } from "../control-plane.ts";
import { jobsOf, Kubelet } from "../kubelet.ts";

// Lines 13 and 14 of the acceptance list: a controller with an old view, and two of them at once.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.bare();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] };
const short = { jobTemplate: { spec: { backoffLimit: 0, ttlSecondsAfterFinished: 0, template: { spec: podSpec } } } };

/** A client whose watches show Workflows as they were: every state of them is this one. */
const stale = (client: ApiClient, old: Stored): ApiClient =>
  new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (name !== "watch") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<ApiClient["watch"]>) {
        for await (const event of target.watch(...args))
          yield event.type !== "BOOKMARK" && event.object.kind === "Workflow" ? { ...event, object: old } : event;
      };
    },
  });

test("line 13: a stale Workflow, after its end and its children's, creates nothing and is counted", async () => {
  const first = await plane.control();
  await plane.create("wf", { steps: { a: short } });
  const old = (await plane.get(`${workflows}/wf`)) as unknown as Stored;
  expect(old).toMatchObject({ status: { statuses: { a: { phase: "Starting" } } } });
  await kubelet.endAll();
  await plane.pass(2_000);
  expect(await jobsOf(plane)).toEqual([]);
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  await first.close();
  const { text: before } = await plane.api.ask("GET", `${workflows}/wf`);
  const metrics = new Metrics();
  await plane.control({ client: stale(plane.api.server.client(), old), metrics });
  await plane.pass(60_000);
  expect(await jobsOf(plane)).toEqual([]);
  expect((await plane.api.ask("GET", `${workflows}/wf`)).text).toBe(before);
  const counted = metrics.collect().find(({ name }) => name === "slipway_workflow_stale_effects_prevented_total");
  expect(counted).toMatchObject({ samples: [{ value: expect.any(Number) }] });
  expect(counted).not.toMatchObject({ samples: [{ value: 0 }] });
});

/** A client whose mirrors of Jobs are as long behind as it is used: they show none. */
const blind = (client: ApiClient): ApiClient =>
  new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (name !== "watch") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<ApiClient["watch"]>) {
        for await (const event of target.watch(...args))
          if (event.type === "BOOKMARK" || event.object.kind !== "Job") yield event;
      };
    },
  });

test("a Job that another controller has created, and that is not in the mirror yet, is not taken for deleted", async () => {
  const first = await plane.control();
  await plane.create("wf", { steps: { a: short } });
  await kubelet.running();
  await plane.pass(1_000);
  expect(await plane.phases("wf")).toEqual({ a: "Running" });
  await first.close();
  const late = await plane.control({ client: blind(plane.api.server.client()) });
  await plane.pass(2_000);
  expect(await plane.phases("wf")).toEqual({ a: "Running" });
  // One that is gone is gone, whatever the mirror has shown.
  for (const made of await jobsOf(plane)) {
    const path = `/apis/batch/v1/namespaces/default/jobs/${made["metadata"]?.["name"]}?propagationPolicy=Background`;
    expect((await plane.api.ask("DELETE", path)).status).toBe(200);
  }
  await plane.pass(20 * 60_000);
  expect(await plane.phases("wf")).toEqual({ a: "Failed/ChildDeleted" });
  await late.close();
});

/** Counts what is created of a kind, by name; what is refused is not. */
function counting(client: ApiClient, kind: string, created: Map<string, number>): ApiClient {
  return new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (name !== "create") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<ApiClient["create"]>): Promise<KubeObject> => {
        const made = await target.create(...args);
        const { name: of } = made.metadata;
        if (made.kind === kind) created.set(of, (created.get(of) ?? 0) + 1);
        return made;
      };
    },
  });
}

test("line 14: two controllers that both act, for a minute: no child twice", async () => {
  const created = new Map<string, number>();
  const jobsSeen = new Set<string>();
  for (const _process of ["one", "two"])
    await plane.control({ client: counting(plane.api.server.client(), "Job", created) });
  const after = (...dependencies: readonly string[]) => ({ ...short, dependencies });
  const steps = {
    one: short,
    fan: { ...after("one"), forEach: { items: [1, 2, 3, 4] } },
    flaky: { ...after("one"), retry: { limit: 1, initialSeconds: 1 } },
    loop: { ...short, repeat: { until: "iteration == 3" } },
    last: after("fan", "flaky", "loop"),
  };
  const names = Array.from({ length: 10 }, (_run, n) => `wf-${n}`);
  for (let second = 0; second < 60; second += 1) {
    const name = names[second];
    if (name !== undefined) await plane.create(name, { steps });
    for (const { workflow, step, attempt, item } of await kubelet.running())
      jobsSeen.add([workflow, step, attempt, item].join(" "));
    await kubelet.endSome(await kubelet.running(), ({ step, attempt }) => ({
      exitCode: step === "flaky" && attempt === 1 ? 1 : 0,
    }));
    await plane.pass(1_000);
  }
  await kubelet.endAll();
  for (const name of names)
    expect({ name, ...(await plane.phases(name)) }).toEqual({
      name,
      one: "Succeeded",
      fan: "Succeeded",
      flaky: "Succeeded",
      loop: "Succeeded",
      last: "Succeeded",
    });
  for (const name of names) expect(await plane.status(name)).toMatchObject({ phase: "Succeeded" });
  const perRun = 1 + 4 + 2 + 3 + 1;
  expect(created.size).toBe(perRun * names.length);
  expect([...created.values()].filter((count) => count !== 1)).toEqual([]);
  expect(jobsSeen.size).toBe(perRun * names.length);
});
