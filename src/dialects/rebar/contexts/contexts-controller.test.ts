import { expect, onTestFinished, test } from "vitest";
import { deferred, type Deferred, FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import { until } from "../agent/testing/agents.ts";
import type { RebarEvent } from "../store.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { startContexts } from "./contexts-controller.ts";
import type { ContextEngine } from "./engine.ts";

const Uuid = "00000000-0000-4000-8000-000000000001";

/** An engine whose agents run until the test or the controller ends them. */
class FakeEngine implements ContextEngine {
  readonly log: string[] = [];
  readonly agents: Deferred<void>[] = [];
  async run({ context, image }: Parameters<ContextEngine["run"]>[0], signal: AbortSignal): Promise<void> {
    this.log.push(`start ${context} ${image}`);
    const ended = deferred<void>();
    this.agents.push(ended);
    signal.addEventListener("abort", () => ended.resolve(), { once: true });
    await ended.promise;
    this.log.push(`end ${context} ${image}`);
  }
  sweep(kept: ReadonlySet<string>): Promise<void> {
    this.log.push(`sweep, keeping ${kept.size}`);
    return Promise.resolve();
  }
  close(): Promise<void> {
    this.log.push("close");
    return Promise.resolve();
  }
}

async function scene(machine: JsonObject, Engine = "fake") {
  const world = new MemoryWorld({
    contexts: [{ Name: "x", Engine, Image: "img" }],
    machines: [{ Name: "m1", Uuid, ...machine }],
  });
  const listeners = new Set<(event: RebarEvent) => void>();
  const event = { Time: "", Action: "update", Key: Uuid, Principal: "", Object: null, Original: null };
  const change = (changes: JsonObject) => {
    world.send("machines", { Name: "m1", Uuid, ...machine, ...changes });
    for (const listener of listeners) listener({ ...event, Type: "machines" });
  };
  const store = {
    world,
    listen: (listener: (event: RebarEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const engine = new FakeEngine();
  const clock = new FakeClock();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const controller = await startContexts({ store, engines: new Map([["fake", engine]]), clock, log });
  onTestFinished(() => controller.close());
  return { engine, change, clock, controller, warnings };
}

test("8 an agent is started when the Context becomes x, and stopped when it changes", async () => {
  const { engine, change } = await scene({ Context: "" });
  expect(engine.log).toEqual(["sweep, keeping 0"]);
  change({ Context: "x" });
  change({ Context: "x", Description: "again" });
  expect(engine.log).toEqual(["sweep, keeping 0", "start x img"]);
  change({ Context: "" });
  await until(() => engine.log.includes("end x img"));
  expect(engine.log).toEqual(["sweep, keeping 0", "start x img", "end x img"]);
});

test("8 an agent that exits by itself is started again when its machine is runnable", async () => {
  const { engine, change, clock } = await scene({ Context: "x", Runnable: false });
  engine.agents[0]?.resolve();
  await until(() => engine.log.at(-1) === "end x img");
  await clock.advance(60_000);
  expect(engine.log.at(-1)).toBe("end x img");
  change({ Runnable: true });
  await until(() => {
    void clock.advance(1_000);
    return engine.agents.length === 2;
  });
});

test("8 an agent that cannot run is tried again", async () => {
  const { engine, clock, warnings } = await scene({ Context: "x", Runnable: true });
  engine.agents[0]?.reject(new Error("no such image"));
  await until(() => warnings.includes("agent of a context failed, starting it again"));
  await until(() => {
    void clock.advance(1_000);
    return engine.agents.length === 2;
  });
});

test("8 closing ends all agents before the engines", async () => {
  const { engine, controller } = await scene({ Context: "x" });
  await controller.close();
  expect(engine.log).toEqual(["sweep, keeping 1", "start x img", "end x img", "close"]);
});

test("8 an engine that this server lacks is told once", async () => {
  const { engine, change, warnings } = await scene({ Context: "x" }, "podman");
  change({ Context: "x", Description: "again" });
  expect(engine.log).toEqual(["sweep, keeping 0"]);
  expect(warnings).toEqual(["no agent is started: the engine of the context is not available"]);
});
