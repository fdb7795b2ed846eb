// Addresses as Kubernetes reads them, which is Go's net/netip without zones and without IPv4 addresses in disguise.

/** An IP address as a number of 32 or 128 bits, most significant first: `10.0.0.1` is 0x0a000001. */
export interface Address {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** An address with the length of its prefix. Bits behind the prefix may be set: `192.168.3.7/24`. */
export interface Network {
  readonly address: Address;
  /** 0 to the width of the family. */
  readonly prefix: number;
}

/** Bits of an address. */
export const widthOf = (family: Address["family"]): number => (family === 4 ? 32 : 128);

/**
 * Reads an address as Kubernetes does: no zones, no leading zeros in IPv4, no IPv4-mapped IPv6 (`::ffff:1.2.3.4` in any
 * spelling), because two addresses that name the same host would be different. Undefined for everything else.
 */
export const parseAddress = (text: string): Address | undefined => (text.includes(":") ? parseV6(text) : parseV4(text));

function parseV4(text: string): Address | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return { family: 4, bits: parts.reduce((bits, part) => bits * 256n + BigInt(part), 0n) };
}

/** Longest text: six groups and an IPv4 address at the end. */
const longestV6 = 45;
/** The 96 bits in front of an IPv4-mapped address (RFC 4291 2.5.5.2). */
const mappedPrefix = 0xffffn;

function parseV6(text: string): Address | undefined {
  if (text.length > longestV6) return undefined;
  const halves = withoutDottedEnd(text).split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  // "::" stands for at least one group of zeros.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  const bits = groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
  return bits >> 32n === mappedPrefix ? undefined : { family: 6, bits };
}

/** The last 32 bits may be IPv4: `64:ff9b::192.0.2.33` is `64:ff9b::c000:221` (RFC 4291 2.2, RFC 6052). */
function withoutDottedEnd(text: string): string {
  const at = text.lastIndexOf(":") + 1;
  const end = parseV4(text.slice(at));
  return end === undefined
    ? text
    : `${text.slice(0, at)}${(end.bits >> 16n).toString(16)}:${(end.bits & 0xffffn).toString(16)}`;
}

/**
 * The canonical text: IPv6 in lower case with the longest run of at least two zero groups shortened, the first of
 * equals (RFC 5952 section 4): `2001:db8:0:0:1:0:0:1` is `2001:db8::1:0:0:1`.
 */
export function formatAddress({ family, bits }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => (bits >> BigInt(112 - 16 * index)) & 0xffffn);
  const text = groups.map((group) => group.toString(16)).join(":");
  const runs = [...text.matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)].map((match) => match[0]);
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  if (longest === "") return text;
  const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
  return `${text.slice(0, at).replace(/:$/, "")}::${text.slice(at + longest.length).replace(/^:/, "")}`;
}

/** Reads `address/prefix`; a prefix has no leading zeros and fits its family. */
export function parseNetwork(text: string): Network | undefined {
  const [ip = "", prefix = "", ...more] = text.split("/");
  const address = parseAddress(ip);
  if (address === undefined || more.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(prefix)) return undefined;
  return Number(prefix) <= widthOf(address.family) ? { address, prefix: Number(prefix) } : undefined;
}

export const formatNetwork = ({ address, prefix }: Network): string => `${formatAddress(address)}/${prefix}`;

/** The network with the bits behind its prefix cleared. */
export function maskNetwork({ address, prefix }: Network): Network {
  const host = BigInt(widthOf(address.family) - prefix);
  return { address: { family: address.family, bits: (address.bits >> host) << host }, prefix };
}

/** Whether the first `prefix` bits agree. Families never contain each other. */
export function containsAddress(network: Network, address: Address): boolean {
  if (network.address.family !== address.family) return false;
  return maskNetwork({ address, prefix: network.prefix }).address.bits === maskNetwork(network).address.bits;
}

/** Whether every address of one network lies in the other; a network contains itself. */
export const containsNetwork = (outer: Network, inside: Network): boolean =>
  inside.prefix >= outer.prefix && containsAddress(outer, inside.address);
