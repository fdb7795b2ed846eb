import { backoffDelay, type Clock, isJsonObject, type Logger, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { RebarEvent, RebarStore } from "../store.ts";
import type { ContextEngine } from "./engine.ts";
import { type WantedAgent, wantedAgents } from "./wanted.ts";

export interface ContextsOptions {
  readonly store: Pick<RebarStore, "world" | "listen">;
  /** By `Engine` of contexts. */
  readonly engines: ReadonlyMap<string, ContextEngine>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ContextsController {
  /** Containers and Pods of images with an agent of their own continue; all other agents end. */
  close(): Promise<void>;
}

const firstPause: Millis = 1_000;
const longestPause: Millis = 60_000;

/** Runs one agent for each machine in a context that has an object. */
export async function startContexts(options: ContextsOptions): Promise<ContextsController> {
  const controller = new Controller(options);
  await controller.open();
  return controller;
}

interface RunningAgent {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

class Controller implements ContextsController {
  readonly #options: ContextsOptions;
  readonly #running = new Map<string, RunningAgent>();
  /** Engines that contexts name and this server lacks, told once. */
  readonly #told = new Set<string>();
  /** Wakes agents that wait for their machine. */
  #onChange = new Set<() => void>();
  #cancel: () => void = () => undefined;
  #isClosed = false;

  constructor(options: ContextsOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { engines, log, store } = this.#options;
    const wanted = [...wantedAgents(store.world).values()];
    for (const [name, engine] of engines) {
      const kept = new Set(wanted.flatMap((agent) => (agent.engine === name ? [agent.key] : [])));
      await engine.sweep(kept).catch((thrown: unknown) => {
        log.warn("agents of an earlier server could not be removed", { engine: name, error: messageOf(thrown) });
      });
    }
    this.#cancel = store.listen((event) => {
      if (event.Type === "contexts" || (event.Type === "machines" && matters(event))) this.#look();
    });
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort(serverCloses);
    await Promise.allSettled(running.map(({ ended }) => ended));
    for (const engine of this.#options.engines.values()) await engine.close();
  }

  /** Compares what runs with what should. */
  #look(): void {
    if (this.#isClosed) return;
    const wanted = wantedAgents(this.#options.store.world);
    for (const [key, { stop }] of this.#running) if (!wanted.has(key)) stop.abort();
    for (const [key, agent] of wanted) {
      // One that is ending is started again afterwards.
      if (this.#running.has(key)) continue;
      const engine = this.#options.engines.get(agent.engine);
      if (engine === undefined) this.#tellMissing(agent);
      else this.#start(agent, engine);
    }
    for (const wake of this.#onChange) wake();
  }

  #tellMissing({ context, engine }: WantedAgent): void {
    if (this.#told.has(context)) return;
    this.#told.add(context);
    const known = [...this.#options.engines.keys()].join(", ");
    this.#options.log.warn("no agent is started: the engine of the context is not available", {
      context,
      engine,
      known,
    });
  }

  #start(agent: WantedAgent, engine: ContextEngine): void {
    const stop = new AbortController();
    const ended = this.#keepRunning(agent, engine, stop.signal).finally(() => {
      this.#running.delete(agent.key);
      this.#look();
    });
    this.#running.set(agent.key, { stop, ended });
  }

  /** Never rejects. An agent that exits by itself, as before a reboot, is started again with its machine. */
  async #keepRunning(agent: WantedAgent, engine: ContextEngine, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const about = { machine: agent.machineName, context: agent.context, engine: agent.engine };
    for (let failures = 0; !signal.aborted; ) {
      try {
        log.info("agent of a context started", about);
        await engine.run(agent, signal);
        failures = 0;
        await this.#untilRunnable(agent.machine, signal);
      } catch (thrown) {
        if (signal.aborted) break;
        failures += 1;
        log.warn("agent of a context failed, starting it again", { ...about, error: messageOf(thrown) });
      }
      const pause = backoffDelay(Math.max(1, failures), { first: firstPause, longest: longestPause });
      await sleep(clock, pause, signal).catch(() => undefined);
    }
    log.info("agent of a context ended", about);
  }

  #untilRunnable(machine: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        const isRunnable = this.#options.store.world.get("machines", machine)?.Runnable === true;
        if (!isRunnable && !signal.aborted) return;
        this.#onChange.delete(look);
        signal.removeEventListener("abort", look);
        resolve();
      };
      this.#onChange.add(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
  }
}

/** Every step of a job changes its machine, and few change its agent. */
function matters({ Object: now, Original: before }: RebarEvent): boolean {
  if (!isJsonObject(now) || !isJsonObject(before)) return true;
  return ["Context", "Name", "Runnable"].some((field) => now[field] !== before[field]);
}

/** Reason of an abort that is not about the machine: agents of images continue. */
export const serverCloses = new Error("the server closes");
