/** An IP address as a number of 32 or 128 bits. */
export interface Address {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

export const widthOf = (family: Address["family"]): number => (family === 4 ? 32 : 128);

/** Reads an address as Kubernetes does: no zones, no leading zeros, no IPv4 inside IPv6. */
export const parseAddress = (text: string): Address | undefined => (text.includes(":") ? parseV6(text) : parseV4(text));

function parseV4(text: string): Address | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return { family: 4, bits: parts.reduce((bits, part) => bits * 256n + BigInt(part), 0n) };
}

function parseV6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2 || text.length > 45) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  // "::" stands for at least one group of zeros.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  return { family: 6, bits: groups.reduce((bits, group) => bits * 65_536n + BigInt(`0x${group}`), 0n) };
}

/** The canonical text: IPv6 in lower case with the longest run of zero groups shortened (RFC 5952). */
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

export function containsAddress(network: Network, address: Address): boolean {
  if (network.address.family !== address.family) return false;
  return maskNetwork({ address, prefix: network.prefix }).address.bits === maskNetwork(network).address.bits;
}

export const containsNetwork = (outer: Network, inside: Network): boolean =>
  inside.prefix >= outer.prefix && containsAddress(outer, inside.address);
