import type { Clock, Logger } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { DialectOptions } from "./controller-parts.ts";

/** An agent in this process, for runs of one command. Its directory and what it runs end with it. */
export interface LocalAgent {
  readonly id: string;
  /** Where the server is, `host:port`. */
  readonly server: string;
  /** The file of the token that it presents there; absolute. */
  readonly tokenFile?: string | undefined;
  /** Its own, absolute; made by the agent. */
  readonly directory: string;
  /** Where it runs what it is told. */
  readonly runtime: "process" | "docker";
  /** Answers undefined for what is unset or empty. */
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Programs on machines, which carry out the runs of a language. They connect to the server by themselves. */
export interface Agents {
  /** What makes a server listen for them at an address, `host:port`. */
  listeningAt(address: string): DialectOptions;
  /** Where agents expect the server of this machine when nobody tells them, `host:port`. */
  awaitedAt(variable: (name: string) => string | undefined): string;
  /** Ids of those that a run needs, as far as it says so yet: it may say more when it is prepared. */
  neededBy(run: KubeObject): readonly string[];
  /** Is one until the signal aborts, and ends what it runs then. Rejects when it cannot begin. */
  serve(agent: LocalAgent, signal: AbortSignal): Promise<void>;
}
