import { tmpdir } from "node:os";
import { openHostPlace } from "../agent/host-place.ts";
import { type EmbeddedOptions, runEmbedded } from "./embedded.ts";
import type { ContextEngine } from "./engine.ts";

export interface HostEngineOptions extends EmbeddedOptions {
  /** What scripts inherit: PATH, HOME and the like. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Contexts with `Engine: host`: scripts run as the user of this server, so that whoever may write tasks may do what
 * this server may. Only where an option allows it. Scripts end with the server; nothing is left for a later one.
 */
export const hostContexts = (options: HostEngineOptions): ContextEngine => ({
  async run(agent, signal) {
    const place = await openHostPlace({ temporary: tmpdir(), ...options });
    try {
      await runEmbedded(agent, place, options, signal);
    } finally {
      await place.close();
    }
  },
  sweep: () => Promise.resolve(),
  close: () => Promise.resolve(),
});
