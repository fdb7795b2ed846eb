import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { PacedWrites } from "../harness/open-loop.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import type { AgentServer } from "../ours/agents.ts";

/** How many agents of which kind. */
export type FleetSetup = Omit<AgentServer, "dir" | "port"> & { readonly isAnsweringAtOnce?: boolean };

/** Agents that one process plays: as many as it may open files for. */
const perProcess = 5000;

interface Part {
  readonly load: WorkerProcess;
  readonly from: number;
  readonly count: number;
}

/** A server, and agents that are connected to it. */
export class Fleet {
  readonly setup: FleetSetup;
  /** Of the server, without agents. */
  readonly rssBefore: number;
  /** When all agents had connected for the first time. */
  readonly connectedAt = performance.now();
  readonly #start: () => Promise<WorkerProcess>;
  readonly #parts: readonly Part[];
  #server: WorkerProcess;

  private constructor(
    setup: FleetSetup,
    start: () => Promise<WorkerProcess>,
    server: WorkerProcess,
    parts: readonly Part[],
    rssBefore: number,
  ) {
    this.setup = setup;
    this.#start = start;
    this.#server = server;
    this.#parts = parts;
    this.rssBefore = rssBefore;
  }

  static async start(environment: Environment, role: "ours" | "floor", setup: FleetSetup): Promise<Fleet> {
    const { agents, isTls, isAnsweringAtOnce = false } = setup;
    const isOurs = role === "ours";
    const [dir, port] = [await environment.directory(), environment.ports()];
    const start = async (): Promise<WorkerProcess> => {
      const server = environment.worker(isOurs ? "ours/agents-server" : "floors/agents-server", { isOurs });
      await server.call("start", { dir, port, isTls, agents });
      return server;
    };
    const server = await start();
    const rssBefore = treeRssBytes([server.pid]);
    const parts = Array.from({ length: Math.ceil(agents / perProcess) }, (_, at): Part => {
      const from = at * perProcess;
      return { load: environment.worker("load/agents"), from, count: Math.min(perProcess, agents - from) };
    });
    await Promise.all(
      parts.map(({ load, from, count }) => load.call("connect", { port, isTls, from, count, isAnsweringAtOnce })),
    );
    return new Fleet(setup, start, server, parts, rssBefore);
  }

  get server(): WorkerProcess {
    return this.#server;
  }

  /** Resolves when the agents have been told of each of these workflows. */
  async delivery({ first, writes }: PacedWrites): Promise<void> {
    const told = Array.from({ length: writes }, (_, at) => (first + at) % this.setup.agents);
    await Promise.all(
      this.#parts.map(({ load, from, count }) =>
        load.call("delivery", { expected: told.filter((agent) => agent >= from && agent < from + count).length }),
      ),
    );
  }

  /** In no order; those of each workflow once. */
  async latencies(paced: PacedWrites & { readonly perSecond: number }): Promise<readonly number[]> {
    const all = await Promise.all(this.#parts.map(({ load }) => load.call<readonly number[]>("latencies", paced)));
    const took = all.flat();
    if (took.length !== paced.writes)
      throw new Error(`agents were told of ${took.length} of ${paced.writes} workflows`);
    return took;
  }

  /** Reports everything that is to be reported; answers how many events were acknowledged. */
  async reportAll(): Promise<number> {
    const counts = await Promise.all(this.#parts.map(({ load }) => load.call<number>("reportAll")));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Kills the server and starts it anew; resolves when it serves, and every agent has noticed. */
  async restart(): Promise<void> {
    const lost = this.#parts.map(({ load }) => load.call("allLost"));
    await this.#server.kill();
    await Promise.all(lost);
    this.#server = await this.#start();
  }

  /** Resolves when every agent is connected, with the time since when. */
  async allConnected(): Promise<number> {
    const times = await Promise.all(this.#parts.map(({ load }) => load.call<number>("allConnected")));
    return Math.max(...times);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map(({ load }) => load.close()));
    await this.#server.close();
  }
}
