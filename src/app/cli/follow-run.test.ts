import { describe, expect, test } from "vitest";
import type { Dialect } from "#kernel/dialect/index.ts";
import { workflow } from "#dialects/workflow/index.ts";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError, type ResourceType } from "#kernel/model/index.ts";
import { followRun, hasEnded } from "./follow-run.ts";
import { act } from "#kernel/dialect/index.ts";

const group = { group: "slipway.dev", version: "v1alpha1", namespaced: true } as const;
const Workflow: ResourceType = { ...group, kind: "Workflow", plural: "workflows" };
const RunAction: ResourceType = { ...group, kind: "RunAction", plural: "runactions" };
const ref = { type: Workflow, namespace: "default", name: "wf" };
const dialect: Dialect = await workflow.load();

class World {
  readonly clock = new FakeClock();
  readonly store: MemoryClient = memoryClient({ clock: this.clock, types: [Workflow, RunAction] });
  readonly seen: string[] = [];
  readonly stop = new AbortController();

  async create(): Promise<void> {
    await this.store.create(Workflow, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "wf", namespace: "default" },
      spec: { steps: { a: { container: { image: "i" } } } },
    });
  }

  async phase(phase: string): Promise<void> {
    const stored = await this.store.get(ref);
    await this.store.updateStatus(Workflow, { ...stored, status: { phase } });
    await this.clock.advance(0);
  }

  follow(client: ApiClient = this.store) {
    const following = followRun(
      client,
      ref,
      dialect,
      this.clock,
      ({ view }) => this.seen.push(view.phase),
      this.stop.signal,
    );
    following.catch(() => undefined);
    return following;
  }
}

/** The client with some calls replaced; everything else is the store's. */
function with_(client: ApiClient, replaced: Partial<ApiClient>): ApiClient {
  return new Proxy(client, {
    get(target, name) {
      const own: unknown = Reflect.get(replaced, name);
      const value: unknown = own ?? Reflect.get(target, name);
      return typeof value === "function" && own === undefined ? value.bind(target) : value;
    },
  });
}

describe("following a run", () => {
  test("every state is shown, and the last is what it ended with", async () => {
    const world = new World();
    await world.create();
    const following = world.follow();
    for (const phase of ["Running", "Suspended", "Running", "Succeeded"]) await world.phase(phase);
    expect((await following).view.phase).toBe("Succeeded");
    expect(world.seen).toEqual(["Pending", "Running", "Suspended", "Running", "Succeeded"]);
  });

  test("a run that is over already is shown once", async () => {
    const world = new World();
    await world.create();
    await world.phase("Canceled");
    expect((await world.follow()).view.phase).toBe("Canceled");
    expect(world.seen).toEqual(["Canceled"]);
  });

  test("a watch that ends is begun again after a pause, and nothing is missed", async () => {
    const world = new World();
    await world.create();
    const following = world.follow();
    await world.clock.advance(0);
    world.store.dropWatches();
    await world.clock.advance(0);
    await world.phase("Running");
    expect(world.seen).toEqual(["Pending"]);
    await world.clock.advance(500);
    expect(world.seen).toEqual(["Pending", "Running"]);
    await world.phase("Failed");
    expect((await following).view.phase).toBe("Failed");
  });

  test("a revision that is gone is no failure: it can happen as often as it likes", async () => {
    const world = new World();
    await world.create();
    let times = 0;
    const gone = with_(world.store, {
      watch: (type, options) => {
        if (++times <= 50) throw new ApiError("Expired", "too old");
        return world.store.watch(type, options) as never;
      },
    });
    const following = world.follow(gone);
    await world.clock.advance(60_000);
    await world.phase("Succeeded");
    expect((await following).view.phase).toBe("Succeeded");
    expect(times).toBe(51);
  });

  test("a server that stays away is given up after ten seconds, with the last reason", async () => {
    const world = new World();
    const away = with_(world.store, { get: () => Promise.reject(new Error("connection refused")) });
    const following = world.follow(away);
    await world.clock.advance(9_900);
    let isOver = false;
    void following.catch(() => (isOver = true));
    expect(isOver).toBe(false);
    await world.clock.advance(600);
    await expect(following).rejects.toMatchObject({
      code: "run-lost",
      message: "lost track of wf: connection refused",
    });
  });

  test("a server that comes back in time is forgiven everything", async () => {
    const world = new World();
    await world.create();
    let failures = 0;
    const shaky = with_(world.store, {
      watch: (type, options) => {
        // A watch in between that ends by itself is what a server does that works.
        if (++failures % 15 === 0) return (async function* () {})() as never;
        if (failures < 60) throw new Error("reset by peer");
        return world.store.watch(type, options) as never;
      },
    });
    const following = world.follow(shaky);
    await world.clock.advance(60_000);
    await world.phase("Succeeded");
    expect((await following).view.phase).toBe("Succeeded");
  });

  test("a run that is not there, or is deleted, is not waited for", async () => {
    const world = new World();
    await expect(world.follow()).rejects.toMatchObject({ code: 404 });
    await world.create();
    const following = world.follow();
    await world.clock.advance(0);
    await world.store.delete(ref);
    await expect(following).rejects.toMatchObject({
      code: "run-deleted",
      message: "wf was deleted while it was followed",
    });
  });

  test("a signal ends it with its own reason", async () => {
    const world = new World();
    await world.create();
    const following = world.follow();
    await world.clock.advance(0);
    world.stop.abort(new Error("enough"));
    await expect(following).rejects.toThrow("enough");
  });

  test("only what a retry alone can leave is an end", () => {
    const phases = ["Pending", "Running", "Suspended", "Cancelling", "Succeeded", "Failed", "Canceled"];
    expect(phases.filter((phase) => hasEnded({ phase } as never))).toEqual(["Succeeded", "Failed", "Canceled"]);
  });
});

describe("asking for an action", () => {
  const run = { type: Workflow, name: "wf" };
  const ask = (world: World, client: ApiClient = world.store) => {
    const asked = act(client, "default", run, { action: "cancel", reason: "no need" }, world.clock, world.stop.signal);
    asked.catch(() => undefined);
    return asked;
  };
  const answer = async (world: World, status: JsonObject): Promise<void> => {
    await world.clock.advance(0);
    const { items } = await world.store.list(RunAction, { namespace: "default" });
    const [action] = items;
    if (action === undefined) throw new Error("there is no action");
    await world.store.updateStatus(RunAction, { ...action, status });
    await world.clock.advance(0);
  };

  test("it is recorded as a RunAction and resolves with the controller's judgement", async () => {
    const world = new World();
    const asked = ask(world);
    await answer(world, { phase: "Accepted" });
    await answer(world, { phase: "Done", message: "canceled" });
    const { items } = await world.store.list(RunAction, { namespace: "default" });
    expect(await asked).toEqual({ phase: "Done", message: "canceled", object: items[0] });
    expect(items[0]).toMatchObject({
      metadata: { name: expect.stringMatching(/^cancel-/) },
      spec: {
        target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" },
        action: "cancel",
        reason: "no need",
      },
    });
  });

  test("a refusal is an answer, also one without words", async () => {
    const world = new World();
    const asked = ask(world);
    await answer(world, { phase: "Refused" });
    expect(await asked).toMatchObject({ phase: "Refused", message: "" });
  });

  test("when nobody judges it, that is said, and the action stays", async () => {
    const world = new World();
    const asked = ask(world);
    await world.clock.advance(14_999);
    await answer(world, { phase: "Accepted" });
    await world.clock.advance(1);
    await expect(asked).rejects.toMatchObject({
      code: "action-pending",
      message: "no controller has answered the cancel within 15 s",
      hint: expect.stringMatching(/^it stays recorded as runaction\/cancel-/),
    });
    expect((await world.store.list(RunAction, { namespace: "default" })).items).toHaveLength(1);
  });

  test("a signal ends the waiting, not the action; a watch that ends is told", async () => {
    const world = new World();
    const asked = ask(world);
    await world.clock.advance(0);
    world.stop.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    const other = new World();
    const lost = ask(other);
    await other.clock.advance(0);
    other.store.dropWatches();
    await expect(lost).rejects.toMatchObject({ code: "action-lost" });
    expect((await other.store.list(RunAction, { namespace: "default" })).items).toHaveLength(1);
  });
});
