import { tmpdir } from "node:os";
import type { Clock, Logger } from "#lib/base/index.ts";
import { openHostPlace } from "../agent/host-place.ts";
import { runEmbedded } from "./embedded.ts";
import type { AgentAccess, ContextEngine } from "./engine.ts";

export interface HostEngineOptions {
  readonly access: AgentAccess;
  /** What scripts inherit: PATH, HOME and the like. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Contexts with `Engine: host`: scripts run as the user of this server, so that whoever may write tasks may do what
 * this server may. Only where an option allows it. Scripts end with the server; nothing is left for a later one.
 */
export const hostContexts = ({ access, environment, clock, log }: HostEngineOptions): ContextEngine => ({
  async run(agent, signal) {
    const place = await openHostPlace({ temporary: tmpdir(), environment, clock, log });
    try {
      await runEmbedded(agent, place, access, { clock, log }, signal);
    } finally {
      await place.close();
    }
  },
  sweep: () => Promise.resolve(),
  close: () => Promise.resolve(),
});
