import { readFile } from "node:fs/promises";

/** Shown by interfaces without an address, such as tunnels. */
const noAddress = "00:00:00:00:00:00";

/** MAC address of the interface of the default route, which network boot knows; undefined without one. */
export async function defaultAgentId(root = "/"): Promise<string | undefined> {
  const read = (path: string) => readFile(`${root}${path}`, "utf8").catch(() => "");
  const [four, six] = await Promise.all([read("proc/net/route"), read("proc/net/ipv6_route")]);
  const name = defaultInterface4(four) ?? defaultInterface6(six);
  if (name === undefined || name.includes("/")) return undefined;
  const address = (await read(`sys/class/net/${name}/address`)).trim().toLowerCase();
  return address === "" || address === noAddress ? undefined : address;
}

interface Route {
  readonly name: string;
  readonly metric: number;
}

/** The first with the lowest metric, as the kernel chooses. */
const nearest = (routes: readonly Route[]): string | undefined =>
  routes.reduce<Route | undefined>(
    (best, route) => (best === undefined || route.metric < best.metric ? route : best),
    undefined,
  )?.name;

/** Columns: interface, destination, gateway, flags, references, use, metric (decimal), mask. Else hexadecimal. */
export function defaultInterface4(table: string): string | undefined {
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return nearest(
    rows.flatMap(([name = "", destination, , flags = "0", , , metric = "0", mask]) =>
      destination === "00000000" && mask === "00000000" && isUsable(flags) ? [{ name, metric: Number(metric) }] : [],
    ),
  );
}

/** Columns: destination, prefix, source, prefix, next hop, metric, references, use, flags, interface. */
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

/** RTF_UP without RTF_REJECT: a reject route is a default route, too. */
const isUsable = (flags: string): boolean => (Number.parseInt(flags, 16) & 0x0201) === 0x0001;
