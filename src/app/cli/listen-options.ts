import { isIP, isIPv6 } from "node:net";
import { UsageError } from "#kernel/command/index.ts";

/** What `--listen` names: an address without brackets, and a port if it was given. */
interface ListenOption {
  readonly host: string;
  readonly port?: number;
}

/** Throws `UsageError` for what no port can be. */
export function expectPort(port: number): void {
  if (port > 65535) throw new UsageError(`expected a port from 0 to 65535, found ${port}`);
}

/**
 * `192.0.2.7`, `192.0.2.7:6443`, `2001:db8::1`, `[2001:db8::1]:6443`. Names are refused, not looked up: what they lead to may change, and who
 * opens a server to others should see to what. Throws `UsageError`.
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

/**
 * A DNS name or an address, lower case, as it stands in certificates and in the requests of clients; `[2001:db8::1]` without its
 * brackets. Throws `UsageError` for whatever no client could ask for.
 */
export function parseServerName(text: string): string {
  const address = addressOf(/^\[(.*)\]$/.exec(text)?.[1] ?? text);
  if (address !== undefined) return address;
  const name = text.toLowerCase();
  const isName =
    name.length <= 253 &&
    name.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) &&
    // Clients take what ends in a number for an address (RFC 1123 2.1).
    !/(?:^|\.)\d+$/.test(name);
  if (!isName)
    throw new UsageError(
      `expected a name such as build.example, or an address, without a port, for --name, found ${JSON.stringify(text)}`,
    );
  return name;
}

/**
 * An IP address in its one form (RFC 5952), which is the one clients send; undefined for everything else. An address with a zone means
 * nothing to other machines, and IPv4 has a form of its own.
 */
function addressOf(text: string): string | undefined {
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  if (!isIPv6(text)) return text;
  const host = new URL(`https://[${text}]`).hostname.slice(1, -1);
  return host.startsWith("::ffff:") ? undefined : host;
}
