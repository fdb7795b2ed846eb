import type { Clock } from "#lib/base/index.ts";
import { type AgentSettings, type AgentSurroundings, loadAgent } from "#dialects/tinkerbell/index.ts";
import { plainLog } from "./plain-log.ts";
import { runnerPath } from "./program-paths.ts";

/**
 * What an agent's process has. It is started here and not in the command line because it needs what a server needs: a log, and the program
 * that keeps processes alive beyond it.
 */
export interface ServeAgentOptions extends Pick<AgentSurroundings, "variable" | "home" | "notes"> {
  readonly version: string;
  readonly settings: AgentSettings;
  /** Somebody reads the log as it comes. */
  readonly isTerminal: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Is an agent until the signal; see `openAgent`. Everything it has to say goes to the log on stderr, as a server's does. */
export async function serveAgent(options: ServeAgentOptions): Promise<void> {
  const { settings, isTerminal, clock, signal, variable, home, notes, version } = options;
  const level = settings.logLevel;
  const log = isTerminal ? plainLog(level, clock) : (await import("./log.ts")).serverLog(level);
  const { openAgent } = await loadAgent();
  await openAgent(settings, { version, runnerPath, notes, variable, home, clock, log }, signal);
}
