import { tmpdir } from "node:os";
import type { Clock, Logger } from "#lib/base/index.ts";
import { openHostPlace } from "../agent/host-place.ts";
import { runAgent } from "../agent/run-agent.ts";
import type { WorkPlace } from "../agent/work-place.ts";
import type { AgentAccess, ContextEngine } from "./engine.ts";
import { openContainerPlace, type Programs } from "./programs.ts";
import type { WantedAgent } from "./wanted.ts";

/** Runs an agent in this process that works in a container until that has `ended`, which it should not. */
export async function runInContainer(
  agent: WantedAgent,
  container: { readonly programs: Programs; readonly ended: Promise<void> },
  options: EmbeddedOptions,
  signal: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  const end = () => gone.abort();
  void container.ended.then(end, end);
  const place = await openContainerPlace(container.programs, options.log);
  await runEmbedded(agent, place, options, AbortSignal.any([signal, gone.signal]));
  if (gone.signal.aborted && !signal.aborted) throw new Error("its container has ended");
}

export interface EmbeddedOptions {
  readonly access: AgentAccess;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Runs an agent in this process that works in another place. Its scripts end with the signal. */
export async function runEmbedded(
  agent: WantedAgent,
  place: WorkPlace,
  { access, clock, log }: EmbeddedOptions,
  signal: AbortSignal,
): Promise<void> {
  const client = access.connect(agent.machine);
  try {
    await runAgent(
      {
        machine: agent.machine,
        context: agent.context,
        isOneShot: false,
        exitsOnFailure: false,
        // A job that was left by a killed server is failed, and its machine waits for a person.
        marksRunnable: false,
        client,
        place,
        os: "linux",
        clock,
        tell: (line) => log.debug(line, { machine: agent.machineName, context: agent.context }),
        echo: () => undefined,
      },
      signal,
    );
  } finally {
    client.close();
  }
}

interface HostEngineOptions extends EmbeddedOptions {
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
