import { isIPv4 } from "node:net";

/** The first free port of `tries` ports from `first`; 0 is any. */
export interface Ports {
  readonly first: number;
  readonly tries: number;
}

/** An address besides loopback: IPv4, or IPv6 without brackets; `0.0.0.0` and `::` are all addresses. */
export interface ListenAddress {
  readonly host: string;
  /** Default: loopback's port; 0 is any. */
  readonly port?: number;
}

/** The sockets to open. Others without a port use that of the main one. */
export interface DoorPlan {
  /** Includes 127.0.0.1, which local commands use. */
  readonly main: { readonly host: string; readonly ports: Ports };
  readonly others: readonly ListenAddress[];
}

export interface Reach {
  readonly address: string;
  readonly port: number;
  readonly from: "this-machine" | "other-machines";
  /** At least one. Whether a name resolves to this machine is unknown. */
  readonly urls: readonly string[];
}

export interface Machine {
  readonly hostname: string;
  readonly addresses: readonly string[];
}

const loopback = "127.0.0.1";
const isWildcard = (host: string): boolean => host === "0.0.0.0" || host === "::";
const isLoopback = (host: string): boolean => host.startsWith("127.") || host === "::1";
/** `::` includes IPv4. */
const covers = (one: string, other: string): boolean =>
  one === "::" || one === other || (one === "0.0.0.0" && isIPv4(other));

/**
 * Plans the sockets. A wanted address that includes loopback replaces it, with its port unless another one was named
 * for loopback: the system does not allow both. Addresses included in another one on the same port are dropped.
 */
export function planDoors(ports: Ports, wanted: readonly ListenAddress[]): DoorPlan {
  const widestFirst = wanted.toSorted((a, b) => widthOf(b) - widthOf(a));
  const isPinned = ports.tries === 1;
  const widest: Partial<ListenAddress> =
    widestFirst.find(
      ({ host, port }) => covers(host, loopback) && (port === undefined || !isPinned || port === ports.first),
    ) ?? {};
  const { host = loopback, port } = widest;
  const main = { host, ports: port === undefined ? ports : { first: port, tries: 1 } };
  const isMainPort = (it: ListenAddress) =>
    it.port === undefined || (main.ports.tries === 1 && it.port === main.ports.first);
  const others: ListenAddress[] = [];
  for (const it of widestFirst) {
    const kept = [{ host: main.host }, ...others];
    const isOnSamePort = (other: ListenAddress) => (isMainPort(it) ? isMainPort(other) : other.port === it.port);
    const isAnyPort = it.port === 0 && !isMainPort(it);
    if (isAnyPort || !kept.some((other) => isOnSamePort(other) && covers(other.host, it.host))) others.push(it);
  }
  return { main, others };
}

const widthOf = ({ host }: ListenAddress): number => (host === "::" ? 2 : host === "0.0.0.0" ? 1 : 0);

/** The server's names and addresses besides loopback. Addresses that the machine gets later must be given. */
export function namesOf(
  wanted: readonly ListenAddress[],
  given: readonly string[],
  machine: Machine,
): readonly string[] {
  const addresses = wanted.flatMap(({ host }) => addressesAt(host, machine));
  return [...new Set([...(wanted.length === 0 ? [] : [machine.hostname.toLowerCase()]), ...addresses, ...given])];
}

/** The addresses of a socket that listens on `host`. */
const addressesAt = (host: string, { addresses }: Machine): readonly string[] =>
  isWildcard(host) ? addresses.filter((address) => covers(host, address)) : [host];

/** Who can reach a listener. `given` are names for other machines. */
export function reachOf(
  { host, port }: { readonly host: string; readonly port: number },
  given: readonly string[],
  machine: Machine,
): Reach {
  const isOurs = isLoopback(host);
  const found = [...addressesAt(host, machine), ...(isOurs ? [] : given)];
  // A machine without a network still has a name.
  const names = found.length === 0 ? [machine.hostname] : [...new Set(found)];
  const urls = names.map((name) => `https://${name.includes(":") ? `[${name}]` : name}:${port}`);
  return { address: host, port, from: isOurs ? "this-machine" : "other-machines", urls };
}
