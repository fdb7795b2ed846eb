import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { kubeconfigUnderTest } from "#test/support/cluster-under-test.ts";
import { freePort } from "#test/support/free-port.ts";
import { type AskingAgent, pollAgent, workerAgent } from "./asking-agents.ts";
import { pathOf, TinkerbellPlane } from "./plane.ts";
import { PythonClient } from "./python-client.ts";

// The protocols of released agents through everything that happens to a workflow, on the whole server with its controller.

let plane: TinkerbellPlane;
let client: PythonClient;
beforeAll(async () => {
  plane = await TinkerbellPlane.start({}, await freePort());
});
afterAll(() => plane?.close());
beforeEach(async () => {
  client = await PythonClient.start(await plane.agentPort);
});
afterEach(() => client.close());

interface Status {
  readonly state?: string;
  readonly failureReason?: string;
  readonly tasks?: readonly { readonly actions: readonly { readonly state: string; readonly attempts?: number }[] }[];
}
const statusOf = async (name: string) => ((await plane.workflow(name))["status"] ?? {}) as Status;
const stateOf = async (name: string) => (await statusOf(name)).state;
const actionsOf = async (name: string) =>
  ((await statusOf(name)).tasks ?? []).flatMap(({ actions }) =>
    actions.map((one) => `${one.state} ${one.attempts ?? 0}`),
  );
const isGone = async (name: string) => (await plane.workflow(name))["reason"] === "NotFound";

const agents = { poll: pollAgent, worker: workerAgent } as const;

/** Nobody is waited for: what is deleted while it runs is gone at once. On a cluster the other plane would be at work on the same workflow. */
describe.skipIf(kubeconfigUnderTest !== undefined).each(Object.entries(agents))(
  "the %s protocol where nobody is waited for",
  (protocol, start) => {
    let impatient: TinkerbellPlane;
    beforeEach(async () => {
      impatient = await TinkerbellPlane.start({ cancellingTimeout: 1 });
    });
    afterEach(() => impatient.close());

    test("deletion while an action runs for longer than is waited for: its end is answered OK, so that the agent lives", async () => {
      const own = await PythonClient.start(await impatient.agentPort);
      try {
        const agent = start(own, protocol);
        const data = JSON.stringify({
          name: "t",
          tasks: [{ name: "task", worker: protocol, actions: [{ name: "one", image: "none" }] }],
        });
        const path = `${pathOf("workflows")}/w`;
        const status = async () => (await impatient.workflow())["status"];
        await impatient.create("templates", { data }, "t");
        await impatient.create("workflows", { templateRef: "t" }, "w");
        await agent.begin();
        await impatient.api.ask("DELETE", path);
        await expect.poll(async () => (await impatient.workflow())["reason"]).toBe("NotFound");
        expect(await agent.end("FAILED")).toBe("OK");
        await impatient.create("workflows", { templateRef: "t" }, "w");
        await agent.begin();
        expect(await status()).toMatchObject({ state: "RUNNING" });
      } finally {
        await own.close();
      }
    });
  },
);

describe.each(Object.entries(agents))("the %s protocol", (protocol, start) => {
  let count = 0;
  let worker: string;
  let agent: AskingAgent;
  beforeEach(() => {
    worker = `${protocol}-${(count += 1)}`;
    agent = start(client, worker);
  });

  /** A workflow of the actions `one` and `two` for this test's agent, under a name of the test's own. */
  async function create(name: string, action: object = {}): Promise<string> {
    const actions = ["one", "two"].map((each) => ({ name: each, image: "none", ...action }));
    const data = JSON.stringify({ name: "t", tasks: [{ name: "task", worker, actions }] });
    const own = `${name}-${worker}`;
    for (const answer of [
      await plane.create("templates", { data }, own),
      await plane.create("workflows", { templateRef: own }, own),
    ])
      expect(answer.status, answer.text).toBe(201);
    await expect.poll(() => stateOf(own)).toBe("PENDING");
    return own;
  }

  test("success: each action once, in order, with a limit that is none", async () => {
    const name = await create("w");
    for (const action of ["one", "two"]) {
      expect(await agent.begin()).toMatchObject({ action, timeout: 315_360_000 });
      expect(await agent.end("SUCCESS")).toBe("OK");
    }
    expect(await stateOf(name)).toBe("SUCCESS");
    expect(await actionsOf(name)).toEqual(["SUCCESS 1", "SUCCESS 1"]);
  });

  test("failure: the workflow has failed, and its agent takes the next one", async () => {
    const name = await create("w");
    const next = await create("x");
    await agent.begin();
    expect(await agent.end("FAILED")).toBe("OK");
    expect(await statusOf(name)).toMatchObject({ state: "FAILED", failureReason: "RuntimeError" });
    expect(await actionsOf(name)).toEqual(["FAILED 1", "PENDING 0"]);
    expect((await agent.begin()).workflow).toContain(next);
  });

  test("timeout: told by the agent", async () => {
    const name = await create("w");
    await agent.begin();
    expect(await agent.end("TIMEOUT")).toBe("OK");
    expect(await statusOf(name)).toMatchObject({ state: "TIMEOUT", failureReason: "ActionTimeout" });
  });

  test("timeout: noticed by the server, while the agent is silent and tells a success too late", async () => {
    const name = await create("w", { timeout: 1 });
    const next = await create("x");
    expect(await agent.begin()).toMatchObject({ timeout: 1 });
    await expect.poll(() => stateOf(name)).toBe("TIMEOUT");
    expect(await agent.end("SUCCESS")).toBe("OK");
    expect(await actionsOf(name)).toEqual(["TIMEOUT 1", "PENDING 0"]);
    // Of a workflow that has ended nothing more is run.
    if (protocol === "worker") expect(await agent.goOn()).toBe("FAILED_PRECONDITION");
    expect((await start(client, worker).begin()).workflow).toContain(next);
  });

  test("deletion while an action runs: its end confirms the stop, nothing more of it runs, and the next one is taken", async () => {
    const name = await create("w");
    const next = await create("x");
    await agent.begin();
    await plane.api.ask("DELETE", `${pathOf("workflows")}/${name}`);
    await expect.poll(() => stateOf(name)).toBe("CANCELLING");
    expect(await agent.end("SUCCESS")).toBe("OK");
    await expect.poll(() => isGone(name)).toBe(true);
    // A worker knows what came next, and waits for ever to be allowed to begin it.
    if (protocol === "worker") expect(await agent.goOn()).toBe("NOT_FOUND");
    const again = protocol === "worker" ? start(client, worker) : agent;
    expect((await again.begin()).workflow).toContain(next);
  });

  test("the server begins anew while an action runs: its end is recorded once, and the rest goes on", async () => {
    const name = await create("w");
    await agent.begin();
    await plane.restart();
    // While nobody listens an agent tells it again.
    await expect.poll(() => agent.end("SUCCESS")).toBe("OK");
    expect(await agent.begin()).toMatchObject({ action: "two" });
    expect(await agent.end("SUCCESS")).toBe("OK");
    expect(await stateOf(name)).toBe("SUCCESS");
    expect(await actionsOf(name)).toEqual(["SUCCESS 1", "SUCCESS 1"]);
  });
});
