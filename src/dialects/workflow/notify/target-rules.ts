import { BlockList, isIP } from "node:net";
import { err, ok, type Result } from "#lib/base/index.ts";

// A workflow says where this process is to send something, and this process may reach what the writer of the workflow may not: itself, its
// neighbours, the metadata of a cloud. So it sends to addresses of the internet only, unless the writer may use others.

/** Ranges of IPv4 that are not everybody's (IANA's registry of special-purpose addresses). */
const special = new BlockList();
for (const range of [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
]) {
  const [net = "", bits = ""] = range.split("/");
  special.addSubnet(net, Number(bits));
}

/** IPv6 is public where it is global unicast and hides no IPv4 address: no documentation, no Teredo, no 6to4. */
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");
const special6 = new BlockList();
for (const [net, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  special6.addSubnet(net, bits, "ipv6");

/** Whether an address is one of the internet; a text that is no address is not. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !special.check(address);
  return version === 6 && global6.check(address, "ipv6") && !special6.check(address, "ipv6");
}

/** A URL that may be posted to at all; the error says what is wrong with it, and not what it is: it may be a secret. */
export function readTarget(text: string): Result<URL, string> {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined) return err("expected a URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") return err("expected a URL of http or https");
  if (url.username !== "" || url.password !== "")
    return err("a URL with a password belongs into a Secret, in its path");
  return ok(url);
}
