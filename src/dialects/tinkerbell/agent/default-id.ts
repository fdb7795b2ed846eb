import { readFile } from "node:fs/promises";

/** No device has it; interfaces without an address of their own, such as tunnels, show it. */
const noAddress = "00:00:00:00:00:00";

/**
 * The hardware address of the interface that leads to the world, as `/proc/net/route` and `/sys/class/net` have it: the name under which
 * a machine that has started over the network is known. Undefined where there is none, or no such files.
 */
export async function defaultAgentId(root = "/"): Promise<string | undefined> {
  const read = (path: string) => readFile(`${root}${path}`, "utf8").catch(() => "");
  const [four, six] = await Promise.all([read("proc/net/route"), read("proc/net/ipv6_route")]);
  const name = defaultInterface4(four) ?? defaultInterface6(six);
  // What the kernel calls an interface is part of a path here.
  if (name === undefined || name.includes("/")) return undefined;
  const address = (await read(`sys/class/net/${name}/address`)).trim().toLowerCase();
  return address === "" || address === noAddress ? undefined : address;
}

interface Route {
  readonly name: string;
  readonly metric: number;
}

/** The first of those with the lowest metric, as the kernel itself chooses. */
const nearest = (routes: readonly Route[]): string | undefined =>
  routes.reduce<Route | undefined>(
    (best, route) => (best === undefined || route.metric < best.metric ? route : best),
    undefined,
  )?.name;

/** Columns: interface, destination, gateway, flags, reference count, use, metric (decimal), mask, … Addresses are hexadecimal. */
export function defaultInterface4(table: string): string | undefined {
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return nearest(
    rows.flatMap(([name = "", destination, , flags = "0", , , metric = "0", mask]) =>
      destination === "00000000" && mask === "00000000" && isUsable(flags) ? [{ name, metric: Number(metric) }] : [],
    ),
  );
}

/** Columns: destination, its prefix, source, its prefix, next hop, metric, reference count, use, flags, interface. All hexadecimal. */
export function defaultInterface6(table: string): string | undefined {
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return nearest(
    rows.flatMap(([destination, prefix, , , , metric = "0", , , flags = "0", name = ""]) =>
      destination !== undefined && /^0{32}$/.test(destination) && prefix === "00" && isUsable(flags)
        ? [{ name, metric: Number.parseInt(metric, 16) }]
        : [],
    ),
  );
}

/** RTF_UP, without RTF_REJECT: a route that says "not this way" is a default route, too. */
const isUsable = (flags: string): boolean => (Number.parseInt(flags, 16) & 0x0201) === 0x0001;
