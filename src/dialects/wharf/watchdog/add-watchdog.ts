import type { Manager } from "#kernel/kit/index.ts";
import { type Millis, orAborted } from "#lib/base/index.ts";
import type { ClientServices } from "../services.ts";
import { usualLimits } from "./judge.ts";
import { watchedServices } from "./watched-services.ts";
import { Watchdog } from "./watchdog.ts";

export interface WatchdogOptions {
  readonly services: () => Promise<ClientServices>;
  readonly intervalMs?: Millis;
  /** Default: one minute. */
  readonly minAgeMs?: Millis;
  readonly isIdle?: () => boolean;
}

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
      // Undefined if a port cannot be opened, which is logged.
      const found = await orAborted(services(), stop).catch(() => undefined);
      if (found !== undefined)
        await new Watchdog({ watched: watchedServices(found), clock, random, log, ...given }).run(stop);
    },
  });
}
