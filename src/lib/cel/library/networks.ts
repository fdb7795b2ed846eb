import type { TextValue } from "../values.ts";
import {
  type Address,
  containsAddress,
  containsNetwork,
  formatAddress,
  formatNetwork,
  maskNetwork,
  type Network,
  parseAddress,
  parseNetwork,
} from "./addresses.ts";
import { asText, type LibraryFunction } from "./function.ts";

// Kubernetes' ip and cidr libraries. What an address is, is decided in `addresses.ts`.

/** An IP address in an expression. Equal when the addresses are, however they were written. */
export class CelIp implements TextValue {
  readonly #value: Address;

  constructor(value: Address) {
    this.#value = value;
  }

  /** The address behind a value of this class, or behind a text, which several functions take instead. */
  static addressOf(value: unknown): Address {
    if (typeof value === "string") return CelIp.addressOf(ip(value));
    if (value instanceof CelIp) return value.#value;
    throw new Error("expected an IP address");
  }

  toText(): string {
    return formatAddress(this.#value);
  }
}

/** An IP network in an expression. `10.0.0.1/8` and `10.0.0.0/8` are different, as in Kubernetes: see `masked()`. */
export class CelCidr implements TextValue {
  readonly #value: Network;

  constructor(value: Network) {
    this.#value = value;
  }

  static networkOf(value: unknown): Network {
    if (typeof value === "string") return CelCidr.networkOf(cidr(value));
    if (value instanceof CelCidr) return value.#value;
    throw new Error("expected a CIDR");
  }

  toText(): string {
    return formatNetwork(this.#value);
  }
}

/** Throws for what is no address. */
function ip(text: unknown): CelIp {
  const address = parseAddress(asText(text));
  if (address !== undefined) return new CelIp(address);
  throw new Error(`${JSON.stringify(text)} is not an IP address`);
}

/** Throws for what is no network. */
function cidr(text: unknown): CelCidr {
  const network = parseNetwork(asText(text));
  if (network !== undefined) return new CelCidr(network);
  throw new Error(`${JSON.stringify(text)} is not a CIDR`);
}

const addressOf = (value: unknown): Address => CelIp.addressOf(value);
const networkOf = (value: unknown): Network => CelCidr.networkOf(value);

/** A test that an address lies in one of some networks. */
function within(...texts: readonly string[]): (value: unknown) => boolean {
  const networks = texts.map(networkOf);
  return (value) => networks.some((network) => containsAddress(network, addressOf(value)));
}

/** Texts are taken in the place of networks and addresses, as in Kubernetes. */
const contains = (outer: unknown, inside: unknown): boolean => containsNetwork(networkOf(outer), networkOf(inside));
const containsIp = (network: unknown, value: unknown): boolean => containsAddress(networkOf(network), addressOf(value));
/** What `ip` means in `ip.isCanonical(…)`: the CEL library has no other way to a function with a dot in its name. */
export class IpNamespace {
  /** Throws for what is no address, like Kubernetes. */
  isCanonical(text: unknown): boolean {
    return ip(text).toText() === text;
  }
}
export const ipNamespace = new IpNamespace();
const isUnspecified = within("0.0.0.0/32", "::/128");
const isLoopback = within("127.0.0.0/8", "::1/128");
const isLinkLocalUnicast = within("169.254.0.0/16", "fe80::/10");
const isMulticast = within("224.0.0.0/4", "ff00::/8");
// RFC 4291 2.7: the scope is in the last four bits of the first group, the four before are flags.
const linkLocalScopes = Array.from({ length: 16 }, (_, flags) => `ff${flags.toString(16)}2::/16`);
const isLinkLocalMulticast = within("224.0.0.0/24", ...linkLocalScopes);
// Only IPv4 has one; Go does not count it among the global unicast addresses.
const isBroadcast = within("255.255.255.255/32");
const special = [isUnspecified, isLoopback, isLinkLocalUnicast, isMulticast, isBroadcast];
/** Go's meaning: private addresses are global unicast too. */
const isGlobalUnicast = (value: unknown): boolean => !special.some((isOne) => isOne(value));

/** Both libraries. `string()` gives the canonical text. */
export const networkFunctions: readonly LibraryFunction[] = [
  { signature: "ip(string): net.IP", call: ip },
  { signature: "isIP(string): bool", call: (text) => parseAddress(asText(text)) !== undefined },
  { signature: "IpNamespace.isCanonical(string): bool", call: (_, text) => ipNamespace.isCanonical(text) },
  { signature: "string(net.IP): string", call: (value) => formatAddress(addressOf(value)) },
  { signature: "net.IP.family(): int", call: (value) => BigInt(addressOf(value).family) },
  { signature: "net.IP.isUnspecified(): bool", call: isUnspecified },
  { signature: "net.IP.isLoopback(): bool", call: isLoopback },
  { signature: "net.IP.isLinkLocalMulticast(): bool", call: isLinkLocalMulticast },
  { signature: "net.IP.isLinkLocalUnicast(): bool", call: isLinkLocalUnicast },
  { signature: "net.IP.isGlobalUnicast(): bool", call: isGlobalUnicast },
  { signature: "cidr(string): net.CIDR", call: cidr },
  { signature: "string(net.CIDR): string", call: (value) => formatNetwork(networkOf(value)) },
  { signature: "isCIDR(string): bool", call: (text) => parseNetwork(asText(text)) !== undefined },
  { signature: "net.CIDR.ip(): net.IP", call: (value) => new CelIp(networkOf(value).address) },
  { signature: "net.CIDR.prefixLength(): int", call: (value) => BigInt(networkOf(value).prefix) },
  { signature: "net.CIDR.masked(): net.CIDR", call: (value) => new CelCidr(maskNetwork(networkOf(value))) },
  { signature: "net.CIDR.containsIP(net.IP): bool", call: containsIp },
  { signature: "net.CIDR.containsIP(string): bool", call: containsIp },
  { signature: "net.CIDR.containsCIDR(net.CIDR): bool", call: contains },
  { signature: "net.CIDR.containsCIDR(string): bool", call: contains },
];

/** Equality for the CEL library, which compares objects by identity otherwise; families differ in their texts. */
export const isSameIp = (a: unknown, b: unknown): boolean =>
  formatAddress(addressOf(a)) === formatAddress(addressOf(b));
export const isSameCidr = (a: unknown, b: unknown): boolean =>
  formatNetwork(networkOf(a)) === formatNetwork(networkOf(b));
