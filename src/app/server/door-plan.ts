import { isIPv4 } from "node:net";

/** The first port that is free among `tries`, from `first` on; 0 takes any. */
export interface Ports {
  readonly first: number;
  readonly tries: number;
}

/** An address to listen on besides loopback: IPv4, or IPv6 without brackets; `0.0.0.0` and `::` are all there are. */
export interface ListenAddress {
  readonly host: string;
  /** That of loopback when absent; 0 takes any. */
  readonly port?: number;
}

/** Which sockets it takes. Others without a port have that of the main one. */
export interface DoorPlan {
  /** Answers at 127.0.0.1, whatever else it does: commands of this machine come by it. */
  readonly main: { readonly host: string; readonly ports: Ports };
  readonly others: readonly ListenAddress[];
}

/** A listener, and who can come by it. */
export interface Reach {
  readonly address: string;
  readonly port: number;
  readonly from: "this-machine" | "other-machines";
  /** At least one. Whether a name leads here, and whether something is in between, is not known. */
  readonly urls: readonly string[];
}

/** What this machine is called, and its addresses on networks, as the system tells them. */
export interface Machine {
  readonly hostname: string;
  readonly addresses: readonly string[];
}

const loopback = "127.0.0.1";
const isWildcard = (host: string): boolean => host === "0.0.0.0" || host === "::";
const isLoopback = (host: string): boolean => host.startsWith("127.") || host === "::1";
/** `::` takes IPv4, too. */
const covers = (one: string, other: string): boolean =>
  one === "::" || one === other || (one === "0.0.0.0" && isIPv4(other));

/**
 * Loopback is always among the addresses. One that includes it takes its place, with its port unless another was named for loopback: the
 * system lets nobody listen on both. What another one on the same port includes is left out.
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

/**
 * The names and addresses a server answers for besides those of loopback: those that were given, and once it listens elsewhere what is
 * known of that. Addresses that the machine gets later have to be given as names.
 */
export function namesOf(
  wanted: readonly ListenAddress[],
  given: readonly string[],
  machine: Machine,
): readonly string[] {
  const addresses = wanted.flatMap(({ host }) => addressesAt(host, machine));
  return [...new Set([...(wanted.length === 0 ? [] : [machine.hostname.toLowerCase()]), ...addresses, ...given])];
}

/** Those by which packets come to a socket that listens on `host`. */
const addressesAt = (host: string, { addresses }: Machine): readonly string[] =>
  isWildcard(host) ? addresses.filter((address) => covers(host, address)) : [host];

/** Who can come by a listener at `host` and `port`. `given` are names that others were told. */
export function reachOf(
  { host, port }: { readonly host: string; readonly port: number },
  given: readonly string[],
  machine: Machine,
): Reach {
  const isOurs = isLoopback(host);
  const found = [...addressesAt(host, machine), ...(isOurs ? [] : given)];
  // A machine without a network has a name all the same.
  const names = found.length === 0 ? [machine.hostname] : [...new Set(found)];
  const urls = names.map((name) => `https://${name.includes(":") ? `[${name}]` : name}:${port}`);
  return { address: host, port, from: isOurs ? "this-machine" : "other-machines", urls };
}
