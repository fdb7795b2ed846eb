import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";

// Loopback is shared by all users of a machine. Linux lists the connections with the user of each end.

const tables = ["/proc/net/tcp", "/proc/net/tcp6"] as const;

/** Whether a loopback connection comes from this process's user or root; true where the system does not tell. */
export async function isOwnPeer(socket: Socket, ownUser = process.getuid?.()): Promise<boolean> {
  if (process.platform !== "linux" || ownUser === undefined) return true;
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
  const [near, far] = [endOf(localAddress, localPort), endOf(remoteAddress, remotePort)];
  // A client may use a socket of IPv6 for an address of IPv4.
  for (const [index, prefix] of ["", mapped].entries()) {
    const table = await readFile(tables[index] ?? "", "utf8").catch(() => "");
    const user = userIn(table, `${prefix}${far}`, `${prefix}${near}`);
    if (user !== undefined) return user === ownUser || user === 0;
  }
  return false;
}

const isLittle = endianness() === "LE";
const mapped = isLittle ? "0000000000000000FFFF0000" : "00000000000000000000FFFF";

/** As the tables write it: the address in the machine's order of bytes. */
function endOf(address: string, port: number): string {
  const bytes = address
    .replace(/^::ffff:/i, "")
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"));
  return `${(isLittle ? bytes.reverse() : bytes).join("")}:${port.toString(16).padStart(4, "0")}`.toUpperCase();
}

/** The user of the socket with these ends. */
export function userIn(table: string, local: string, remote: string): number | undefined {
  for (const line of table.split("\n")) {
    const [, at, to, , , , , user] = line.trim().split(/\s+/);
    if (at === local && to === remote && user !== undefined) return Number(user);
  }
  return undefined;
}
