import type { Manager } from "#kernel/kit/index.ts";
import type { Millis } from "#lib/base/index.ts";
import { usualLimits } from "./judge.ts";
import { watchedServices, type WatchedAddresses } from "./watched-services.ts";
import { Watchdog } from "./watchdog.ts";

/** What a watchdog is told by who starts it. */
export interface WatchdogOptions extends WatchedAddresses {
  readonly intervalMs?: Millis;
  /** How old must be what it acts on; a minute unless told. */
  readonly minAgeMs?: Millis;
  /** See `WatchdogParts`. */
  readonly isIdle?: () => boolean;
}

/** Adds a watchdog to a manager that has not started. It is a client of services, and ends with the manager. */
export function addWatchdog(manager: Manager, { intervalMs, minAgeMs, isIdle, ...addresses }: WatchdogOptions): void {
  const { clock, random, log } = manager;
  const watched = watchedServices(addresses);
  const given = {
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(minAgeMs === undefined ? {} : { limits: { ...usualLimits, minAgeMs } }),
    ...(isIdle === undefined ? {} : { isIdle }),
  };
  const watchdog = new Watchdog({ watched, clock, random, log, ...given });
  manager.add({
    name: "wharf-watchdog",
    run: ({ stop }) => watchdog.run(stop),
  });
}
