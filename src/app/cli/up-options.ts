import { isIP, isIPv6 } from "node:net";
import { parseQuantity, quantityToNumber } from "#lib/text/index.ts";
import { UsageError } from "#kernel/command/index.ts";

interface ListenOption {
  readonly host: string;
  readonly port?: number;
}

export function expectPort(port: number): void {
  if (port > 65535) throw new UsageError(`expected a port from 0 to 65535, found ${port}`);
}

/**
 * Reads `192.0.2.7`, `192.0.2.7:6443`, `2001:db8::1` or `[2001:db8::1]:6443`. Names are refused: what they resolve to
 * may change, and the user must know which address is opened.
 */
export function parseListenAddress(text: string): ListenOption {
  const [, bracketed, bare, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,9}))?$/.exec(text) ?? [];
  const host = addressOf(bracketed ?? bare ?? text);
  if (host === undefined || (bracketed !== undefined && !isIPv6(host)))
    throw new UsageError(
      `expected an address such as 192.0.2.7, 0.0.0.0:6443 or [::]:6443 for --listen, found ${JSON.stringify(text)}`,
      "names by which others know this server go with --name",
    );
  if (digits === undefined) return { host };
  const port = Number(digits);
  expectPort(port);
  return { host, port };
}

/** Reads a DNS name or an address as certificates and clients write it: in lower case, without brackets. */
export function parseServerName(text: string): string {
  const address = addressOf(/^\[(.*)\]$/.exec(text)?.[1] ?? text);
  if (address !== undefined) return address;
  const name = text.toLowerCase();
  const isName =
    name.length <= 253 &&
    name.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) &&
    // Clients read a name that ends in a number as an address (RFC 1123 2.1).
    !/(?:^|\.)\d+$/.test(name);
  if (!isName)
    throw new UsageError(
      `expected a name such as build.example, or an address, without a port, for --name, found ${JSON.stringify(text)}`,
    );
  return name;
}

/**
 * An IP address in the form that clients send (RFC 5952). Undefined for zones, which mean nothing to other machines,
 * and for IPv4 in the form of IPv6.
 */
function addressOf(text: string): string | undefined {
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  if (!isIPv6(text)) return text;
  const host = new URL(`https://[${text}]`).hostname.slice(1, -1);
  return host.startsWith("::ffff:") ? undefined : host;
}

/** Reads a size in bytes, above 0, as Kubernetes writes it: `512Mi`, `2Gi`, `1000000`. */
export function parseSize(flag: string, text: string): number {
  const quantity = parseQuantity(text);
  const bytes = quantity.ok ? quantityToNumber(quantity.value) : Number.NaN;
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new UsageError(`expected a size such as 512Mi or 20Gi for ${flag}, found ${JSON.stringify(text)}`);
}
