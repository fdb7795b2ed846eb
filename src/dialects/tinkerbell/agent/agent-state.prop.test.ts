import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeEvent } from "../events.ts";
import { resume } from "../reconnect.ts";
import { awaitsDispatch, isTerminal, segmentOf, type WorkflowState } from "../state.ts";
import { action, begin, pending, settings } from "../testing/states.ts";
import { beginCancel, dispatch, type Move } from "../transitions.ts";
import { advance, type AgentState, type Effect, idle, type Input, resumedBy } from "./agent-state.ts";
import type { Ending, Execution } from "./work.ts";

// The agent's machine against the server's own rules, with everything between them that can go wrong: answers that are lost, connections
// that break, and a crash of the agent before and after every single step. What runs is a world of its own that survives the agent.

const workflow = "default/w/uid";
const taker = { agentID: "agent-a", protocol: "stream" } as const;
const context = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
const keyOf = ({ action: { id }, attempt }: Execution) => `${id}/${attempt}`;

/** A container. It was started at most once, whatever the agent asks for: that is the engine's promise. */
interface Container {
  state: "made" | "runs" | "ended";
}

class World {
  server: WorkflowState = pending({ actions: ["one", "two", "three"].map((name) => action(name)) });
  agent: AgentState = idle;
  /** Of the agent's memory: gone with a crash. */
  owed: Effect[] = [];
  isConnected = false;
  commands: Input[] = [];
  readonly containers = new Map<string, Container>();
  readonly starts: string[] = [];
  readonly breaches: string[] = [];

  /** The state is durable; its effects wait, and may be lost. */
  put(input: Input): void {
    const { state, effects } = advance(this.agent, input);
    this.agent = state;
    this.owed.push(...effects);
  }

  crash(): void {
    this.disconnect();
    this.owed = [];
    this.put({ is: "restarted" });
  }

  /** The machine was off: what ran is gone. */
  lose(): void {
    for (const [key, { state }] of this.containers) if (state === "runs") this.containers.delete(key);
    this.crash();
  }

  disconnect(): void {
    this.isConnected = false;
    this.commands = [];
  }

  #move(move: Move | undefined): void {
    this.server = move?.state ?? this.server;
  }

  /** The agent says what it has, once it knows: the server does what it owes it. */
  connect(): void {
    if (this.isConnected || this.owed.some((effect) => effect.do === "recover")) return;
    this.isConnected = true;
    const said = resumedBy(this.agent).find((resumed) => resumed.workflow === workflow)?.state ?? "none";
    if (this.server.dispatch.held) {
      const { move, send } = resume(this.server, said, taker, begin, settings);
      this.#move(move);
      if (send !== undefined) this.send(send);
    } else if (awaitsDispatch(this.server)) {
      this.#move(dispatch(this.server, taker, begin, settings));
      this.send("start");
    }
  }

  send(what: "start" | "stop"): void {
    if (!this.isConnected) return;
    if (what === "stop") this.commands.push({ is: "stop", workflow, message: "by the server" });
    else this.commands.push({ is: "start", workflow: { id: workflow, actions: segmentOf(this.server) } });
  }

  hear(): void {
    const command = this.commands.shift();
    if (command !== undefined) this.put(command);
  }

  publish(isAnswered: boolean): void {
    const [first] = this.agent.outbox;
    if (first === undefined || !this.isConnected) return;
    const verdict = judgeEvent(this.server, first.event, context);
    this.server = verdict.state ?? this.server;
    if (verdict.stop) this.send("stop");
    if (!isAnswered) this.disconnect();
    else this.put({ is: "answered", seq: first.seq, answer: verdict.code === "OK" ? "ok" : "refused" });
  }

  cancel(): void {
    if (this.server.phase !== "Running" && this.server.phase !== "Scheduled") return;
    this.#move(beginCancel(this.server, "Delete", begin, settings));
    this.send("stop");
  }

  /** Carries out one effect; its answer may be lost to a crash. */
  act(isAnswered: boolean): void {
    const effect = this.owed.shift();
    if (effect === undefined) return;
    const answer = this.#answerTo(effect);
    if (!isAnswered) this.crash();
    else if (answer !== undefined) this.put(answer);
  }

  #answerTo(effect: Effect): Input | undefined {
    if (effect.do === "sweep") {
      const kept = effect.keep === undefined ? undefined : keyOf(effect.keep);
      for (const key of this.containers.keys()) if (key !== kept) this.#discard(key);
      return undefined;
    }
    const { execution } = effect;
    const key = keyOf(execution);
    const found = this.containers.get(key);
    switch (effect.do) {
      case "prepare":
        if (found === undefined) this.containers.set(key, { state: "made" });
        return { is: "prepared", execution, handle: key };
      case "run":
        this.#start(key);
        return undefined;
      case "recover":
        if (found === undefined) return { is: "gone", execution };
        this.#start(key);
        return undefined;
      case "stop":
        if (found !== undefined) found.state = "ended";
        return { is: "stopped", execution };
      case "discard":
        this.#discard(key);
        return undefined;
    }
  }

  #discard(key: string): void {
    if (this.containers.get(key)?.state === "runs") this.breaches.push(`${key} was thrown away while it ran`);
    this.containers.delete(key);
  }

  #start(key: string): void {
    const found = this.containers.get(key);
    if (found?.state !== "made") return;
    for (const [other, { state }] of this.containers)
      if (state === "runs") this.breaches.push(`${key} was started beside ${other}`);
    const recorded = this.server.actions.find(({ id }) => key.startsWith(`${id}/`));
    if (recorded?.phase === "Pending") this.breaches.push(`${key} was started before the server knew of it`);
    found.state = "runs";
    this.starts.push(key);
  }

  /** What runs ends by itself; the agent sees it when it looks. */
  end(ending: Ending): void {
    const { work } = this.agent;
    if (work === undefined || work.phase.is !== "running") return;
    const [key, container] = [...this.containers].find(([, { state }]) => state !== "made") ?? [];
    if (key === undefined || container === undefined) return;
    const [id = ""] = key.split("/");
    const one = work.workflow.actions.find((candidate) => candidate.id === id);
    if (one === undefined || this.owed.some((effect) => effect.do === "recover" || effect.do === "run")) return;
    container.state = "ended";
    this.put({ is: "ended", execution: { workflow, action: one, attempt: work.attempt }, ending });
  }
}

const good: Ending = { is: "succeeded" };
const bad: Ending = { is: "failed", reason: "NonZeroExit", message: "exit code 1" };

const moves = {
  connect: (world: World) => world.connect(),
  hear: (world: World) => world.hear(),
  publish: (world: World) => world.publish(true),
  act: (world: World) => world.act(true),
  end: (world: World) => world.end(good),
  crash: (world: World) => world.crash(),
  actAndCrash: (world: World) => world.act(false),
  publishInVain: (world: World) => world.publish(false),
  disconnect: (world: World) => world.disconnect(),
  sendAgain: (world: World) => world.server.phase === "Running" && world.send("start"),
  fail: (world: World) => world.end(bad),
  lose: (world: World) => world.lose(),
  cancel: (world: World) => world.cancel(),
} as const;
type MoveName = keyof typeof moves;

const usual: readonly MoveName[] = ["connect", "hear", "publish", "act", "end"];
const accidents: readonly MoveName[] = ["crash", "actAndCrash", "publishInVain", "disconnect", "sendAgain"];
const storyOf = (...names: readonly MoveName[]) =>
  fc.array(fc.constantFrom(...usual, ...usual, ...names), { maxLength: 80, size: "max" });

/** Everything goes well from here on, until nothing is left to do. */
function settle(world: World): void {
  for (let turn = 0; turn < 200; turn++) for (const name of usual) moves[name](world);
}

function tell(story: readonly MoveName[]): World {
  const world = new World();
  for (const name of story) moves[name](world);
  settle(world);
  expect(world.breaches).toEqual([]);
  expect(new Set(world.starts).size).toBe(world.starts.length);
  expect(isTerminal(world.server.phase)).toBe(true);
  expect(world.server.dispatch.held).toBe(false);
  expect(world.agent.outbox).toEqual([]);
  // An interrupted workflow that the server has given up is forgotten with the next one; until then the agent runs nothing.
  expect(["interrupted", undefined]).toContain(world.agent.work?.phase.is);
  expect([...world.containers]).toEqual([]);
  return world;
}

test("each action runs exactly once through any crash of the agent and any break of the connection", () => {
  fc.assert(
    fc.property(storyOf(...accidents), (story) => {
      const { server, starts } = tell(story);
      expect(server.phase).toBe("Succeeded");
      expect(server.actions.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
      expect(starts).toEqual(["id-one/1", "id-two/1", "id-three/1"]);
    }),
    { numRuns: 500 },
  );
});

test("an action that a restart of the machine has interrupted runs as often as the server says, and never beyond", () => {
  fc.assert(
    fc.property(storyOf(...accidents, "lose", "lose"), (story) => {
      const { server, starts } = tell(story);
      for (const { id, attempts } of server.actions) {
        expect(starts.filter((key) => key.startsWith(`${id}/`))).toHaveLength(attempts);
        expect(attempts).toBeLessThanOrEqual(settings.maxActionAttempts);
      }
    }),
    { numRuns: 500 },
  );
});

test("a workflow ends, and its agent is free, whatever is canceled, fails or breaks in between", () => {
  fc.assert(
    fc.property(storyOf(...accidents, "lose", "cancel", "fail"), (story) => {
      const { server } = tell(story);
      const failed = server.actions.filter(({ phase }) => phase === "Failed");
      expect(failed.length).toBe(server.phase === "Succeeded" ? 0 : Math.min(1, failed.length));
    }),
    { numRuns: 500 },
  );
});
