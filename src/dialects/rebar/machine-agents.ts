import { Fleet, type FleetOptions } from "#kernel/agents/index.ts";
import type { Clock, Instant, Millis } from "#lib/base/index.ts";
import type { World } from "./world.ts";

/** Agents wait on their event streams; between two streams they come back sooner. */
const silence: Millis = 90_000;
/** Of an agent that asks more often, one sign of life in this time says enough. */
const between: Millis = 1_000;
const mostKnown = 20_000;

export interface MachineAgentsOptions
  extends Pick<FleetOptions, "client" | "clock" | "log" | "recorder" | "server" | "newcomers"> {
  readonly world: Pick<World, "get">;
}

/** Who is told of agents. */
export type AgentPresence = Pick<MachineAgents, "heard" | "streamed">;

/** The agents of machines as `kubectl get agents` shows them. They prove who they are by their machine's token. */
export class MachineAgents {
  readonly #fleet: Fleet;
  readonly #clock: Clock;
  readonly #heardAt = new Map<string, Instant>();
  /** Open event streams by machine. */
  readonly #streams = new Map<string, number>();

  constructor({ world, ...options }: MachineAgentsOptions) {
    this.#clock = options.clock;
    this.#fleet = new Fleet({
      ...options,
      keyOf,
      workflowOf: (key) => world.get("machines", key)?.Workflow || undefined,
      isNamed: (machine) => world.get("machines", keyOf(machine)) !== undefined,
      silence,
      isConnected: (machine) => this.#streams.has(keyOf(machine)),
      isBusy: (key) => this.#streams.has(key),
    });
  }

  /** For each request with the machine's token. */
  heard(machine: string): void {
    const now = this.#clock.now();
    const known = this.#heardAt.get(machine);
    if (known !== undefined && now >= known && now - known < between) return;
    if (this.#heardAt.size >= mostKnown) this.#heardAt.clear();
    this.#heardAt.set(machine, now);
    this.#fleet.heard({ agentID: machine, isIndividual: true }, "rest");
  }

  /** An event stream of the machine is open until the returned function is called. */
  streamed(machine: string): () => void {
    const key = keyOf(machine);
    this.heard(machine);
    this.#count(key, 1);
    return () => {
      this.#count(key, -1);
      this.#fleet.seen(machine);
    };
  }

  /** Once the world is known. */
  begin(): void {
    this.#fleet.begin();
  }

  async close(): Promise<void> {
    await this.#fleet.close();
  }

  #count(key: string, by: 1 | -1): void {
    const count = (this.#streams.get(key) ?? 0) + by;
    if (count > 0) this.#streams.set(key, count);
    else this.#streams.delete(key);
  }
}

const keyOf = (machine: string): string => machine.toLowerCase();
