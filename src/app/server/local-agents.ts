import type { Dialect, LocalAgent } from "#kernel/dialect/index.ts";
import { messageOf, SlipwayError } from "#lib/base/index.ts";

export interface LocalAgentsOptions extends Omit<LocalAgent, "id" | "directory"> {
  readonly directory: string;
}

/** Agents in this process, one for each id that runs need. */
export class LocalAgents {
  readonly #options: LocalAgentsOptions;
  readonly #agents = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: LocalAgentsOptions) {
    this.#options = options;
  }

  /** Starts missing agents. `onFailure` reports one that failed: a run that needs it would wait for ever. */
  ensure(dialect: Dialect, ids: readonly string[], onFailure: (error: SlipwayError) => void): void {
    for (const id of ids) {
      if (dialect.agents === undefined || this.#agents.has(id) || this.#stop.signal.aborted) continue;
      const { directory, ...shared } = this.#options;
      // Ids may be any text; numbers make directory names.
      const agent = { ...shared, id, directory: `${directory}/${this.#agents.size}` };
      const serving = dialect.agents.serve(agent, this.#stop.signal).catch((thrown: unknown) => {
        if (this.#stop.signal.aborted) return;
        onFailure(new SlipwayError("agent-failed", `the agent ${id} failed: ${messageOf(thrown)}`, { cause: thrown }));
      });
      this.#agents.set(id, serving);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the command ends"));
    await Promise.all(this.#agents.values());
  }
}
