import type { Clock, Logger } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { DialectOptions } from "./controller-parts.ts";

/** An agent in this process, for the runs of one command. */
export interface LocalAgent {
  readonly id: string;
  /** `host:port`. */
  readonly server: string;
  /** Absolute. */
  readonly tokenFile?: string | undefined;
  /** Absolute; created by the agent. */
  readonly directory: string;
  readonly runtime: "process" | "docker";
  /** Undefined if unset or empty. */
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Programs on machines that run the dialect's runs. */
export interface Agents {
  /** Options that make a server listen for agents at `host:port`. */
  listeningAt(address: string): DialectOptions;
  /** The default server address of agents, `host:port`. */
  awaitedAt(variable: (name: string) => string | undefined): string;
  /** Ids of the agents that a run needs, as far as known yet. */
  neededBy(run: KubeObject): readonly string[];
  /** Runs an agent until the signal aborts. Rejects if it cannot start. */
  serve(agent: LocalAgent, signal: AbortSignal): Promise<void>;
}
