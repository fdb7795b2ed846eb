import { BlockList, isIP } from "node:net";
import { err, ok, type Result } from "#lib/base/index.ts";

// This process may reach what the workflow's writer may not: itself, its network, cloud metadata. So it posts only to
// public addresses, unless the writer has the right to others.

/** IANA's special-purpose IPv4 addresses. */
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

/** Global unicast without documentation, Teredo and 6to4 addresses. */
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

/** False for text that is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !special.check(address);
  return version === 6 && global6.check(address, "ipv6") && !special6.check(address, "ipv6");
}

/** The error does not quote the URL, which may be a secret. */
export function readTarget(text: string): Result<URL, string> {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined) return err("expected a URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") return err("expected a URL of http or https");
  if (url.username !== "" || url.password !== "")
    return err("a URL with a password belongs into a Secret, in its path");
  return ok(url);
}
