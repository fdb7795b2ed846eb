import { hostname, networkInterfaces } from "node:os";
import type { Machine } from "./door-plan.ts";

/** Link-local addresses (`fe80::`) cannot stand in a URL. */
export function thisMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const addresses = all.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0);
  return { hostname: hostname(), addresses: [...new Set(addresses.map(({ address }) => address))] };
}
