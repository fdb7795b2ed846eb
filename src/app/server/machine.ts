import { hostname, networkInterfaces } from "node:os";
import type { Machine } from "./door-plan.ts";

/** Asks the system. Addresses that mean something on one link only (`fe80::`) cannot stand in a URL and are left out. */
export function thisMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const addresses = all.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0);
  return { hostname: hostname(), addresses: [...new Set(addresses.map(({ address }) => address))] };
}
