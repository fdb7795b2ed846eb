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

/** An IP address in an expression. */
export class CelIp implements TextValue {
  readonly #value: Address;

  constructor(value: Address) {
    this.#value = value;
  }

  static addressOf(value: unknown): Address {
    if (typeof value === "string") return CelIp.addressOf(ip(value));
    if (value instanceof CelIp) return value.#value;
    throw new Error("expected an IP address");
  }

  toText(): string {
    return formatAddress(this.#value);
  }
}

/** An IP network in an expression. */
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

function ip(text: unknown): CelIp {
  const address = parseAddress(asText(text));
  if (address !== undefined) return new CelIp(address);
  throw new Error(`${JSON.stringify(text)} is not an IP address`);
}

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

const contains = (outer: unknown, inside: unknown): boolean => containsNetwork(networkOf(outer), networkOf(inside));
const containsIp = (network: unknown, value: unknown): boolean => containsAddress(networkOf(network), addressOf(value));
const isCanonical = (text: unknown): boolean => ip(text).toText() === text;
const isSpecial = within(
  "0.0.0.0/32",
  "::/128",
  "127.0.0.0/8",
  "::1/128",
  "224.0.0.0/4",
  "ff00::/8",
  "169.254.0.0/16",
  "255.255.255.255/32",
  "fe80::/10",
);
const isGlobalUnicast = (value: unknown): boolean => !isSpecial(value);

export const networkFunctions: readonly LibraryFunction[] = [
  { signature: "ip(string): net.IP", call: ip },
  { signature: "isIP(string): bool", call: (text) => parseAddress(asText(text)) !== undefined },
  { signature: "isCanonicalIP(string): bool", call: isCanonical },
  { signature: "net.IP.family(): int", call: (value) => BigInt(addressOf(value).family) },
  { signature: "net.IP.isUnspecified(): bool", call: within("0.0.0.0/32", "::/128") },
  { signature: "net.IP.isLoopback(): bool", call: within("127.0.0.0/8", "::1/128") },
  { signature: "net.IP.isLinkLocalMulticast(): bool", call: within("224.0.0.0/24", "ff02::/16") },
  { signature: "net.IP.isLinkLocalUnicast(): bool", call: within("169.254.0.0/16", "fe80::/10") },
  { signature: "net.IP.isGlobalUnicast(): bool", call: isGlobalUnicast },
  { signature: "cidr(string): net.CIDR", call: cidr },
  { signature: "isCIDR(string): bool", call: (text) => parseNetwork(asText(text)) !== undefined },
  { signature: "net.CIDR.ip(): net.IP", call: (value) => new CelIp(networkOf(value).address) },
  { signature: "net.CIDR.prefixLength(): int", call: (value) => BigInt(networkOf(value).prefix) },
  { signature: "net.CIDR.masked(): net.CIDR", call: (value) => new CelCidr(maskNetwork(networkOf(value))) },
  { signature: "net.CIDR.containsIP(net.IP): bool", call: containsIp },
  { signature: "net.CIDR.containsIP(string): bool", call: containsIp },
  { signature: "net.CIDR.containsCIDR(net.CIDR): bool", call: contains },
  { signature: "net.CIDR.containsCIDR(string): bool", call: contains },
];

export const isSameIp = (a: unknown, b: unknown): boolean =>
  formatAddress(addressOf(a)) === formatAddress(addressOf(b));
export const isSameCidr = (a: unknown, b: unknown): boolean =>
  formatNetwork(networkOf(a)) === formatNetwork(networkOf(b));
