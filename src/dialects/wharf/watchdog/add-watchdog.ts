import type { Manager } from "#kernel/kit/index.ts";
import { type Millis, orAborted } from "#lib/base/index.ts";
import type { ClientServices } from "../services.ts";
import { usualLimits } from "./judge.ts";
import { watchedServices } from "./watched-services.ts";
import { Watchdog } from "./watchdog.ts";

/** What a watchdog is told by who starts it. */
export interface WatchdogOptions {
  /** Resolves with the services that are compared, when their ports are open. */
  readonly services: () => Promise<ClientServices>;
  readonly intervalMs?: Millis;
  /** How old must be what it acts on; a minute unless told. */
  readonly minAgeMs?: Millis;
  /** See `WatchdogParts`. */
  readonly isIdle?: () => boolean;
}

/** Adds a watchdog to a manager that has not started. It is a client of services, and ends with the manager. */
export function addWatchdog(manager: Manager, { services, intervalMs, minAgeMs, isIdle }: WatchdogOptions): void {
  const { clock, random, log } = manager;
  const given = {
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(minAgeMs === undefined ? {} : { limits: { ...usualLimits, minAgeMs } }),
    ...(isIdle === undefined ? {} : { isIdle }),
  };
  manager.add({
    name: "wharf-watchdog",
    async run({ stop }) {
      // None where a port cannot be opened, which the log says.
      const found = await orAborted(services(), stop).catch(() => undefined);
      if (found !== undefined)
        await new Watchdog({ watched: watchedServices(found), clock, random, log, ...given }).run(stop);
    },
  });
}
