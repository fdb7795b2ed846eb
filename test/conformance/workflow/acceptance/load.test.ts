import { afterEach, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import type { Json } from "#kernel/apiserver/testing/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { WorkflowPlane, workflows } from "../control-plane.ts";

// Line 37 of the acceptance list: many workflows at once, and nothing at all once they have ended.

let plane: WorkflowPlane;
afterEach(() => plane.close());

/** Counts what is asked of a server through a client; a watch is no question, it is renewed every few minutes and answers by itself. */
function counting(client: ApiClient): { readonly client: ApiClient; readonly asked: () => number } {
  let asked = 0;
  const counted = new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) => {
        if (name !== "watch") asked += 1;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { client: counted, asked: () => asked };
}

/** Fifteen seconds of work, on the busiest machine. */
const timeout = 300_000;

/** Line 37 says a thousand. */
const count = rounds(100, 1_000);

test(`line 37: ${count} workflows of 10 steps end, and then nobody asks for anything`, { timeout }, async () => {
  plane = await WorkflowPlane.bare();
  const { client, asked } = counting(plane.api.server.client());
  await plane.control({ client });
  // A ConfigMap is done when it is there.
  const made = (step: number) => ({
    template: { apiVersion: "v1", kind: "ConfigMap", data: { step: `${step}` } },
    ...(step === 0 ? {} : { dependencies: [`s${step < 5 ? 0 : step - 4}`] }),
  });
  const steps = Object.fromEntries(Array.from({ length: 10 }, (_, step) => [`s${step}`, made(step)]));
  const body = (n: number) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: `wf-${n}` },
    spec: { steps },
  });
  for (let n = 0; n < count; n += 50)
    await Promise.all(Array.from({ length: 50 }, (_, at) => plane.api.ask("POST", workflows, { body: body(n + at) })));
  for (let turn = 0; turn < 200; turn += 1) await plane.clock.advance(50);
  const ended = await plane.list(workflows);
  expect(ended).toHaveLength(count);
  for (const { status } of ended) {
    expect(status).toMatchObject({ phase: "Succeeded", progress: "10/10" });
    const attempts = Object.values<Json>(status?.["statuses"] ?? {}).map(({ attempt }) => attempt);
    expect(attempts).toEqual(Array.from({ length: 10 }, () => 1));
  }
  const children = await plane.list("/api/v1/namespaces/default/configmaps?labelSelector=slipway.dev/workflow");
  expect(children).toHaveLength(10 * count);
  const before = asked();
  const spent = process.cpuUsage();
  for (let minute = 0; minute < 60; minute += 1) await plane.clock.advance(60_000);
  expect(asked() - before).toBe(0);
  const { user, system } = process.cpuUsage(spent);
  // A hundredth of the hour, in processor time, which is not what others on this machine do.
  expect((user + system) / 1e6).toBeLessThan(36);
});
