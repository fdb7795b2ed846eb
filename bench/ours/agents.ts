import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureCertificates } from "#kernel/apiserver/index.ts";

// What the programs of B5 have in common.

/** How a server of agents is started. */
export interface AgentServer {
  readonly dir: string;
  /** A free one without. */
  readonly port?: number;
  readonly isTls: boolean;
  /** How many will connect. */
  readonly agents: number;
}

/** Actions of each workflow. */
export const actionCount = 2;

/** As usual the address of a network card. */
export const agentName = (at: number): string =>
  ["02", "00", ...[24, 16, 8, 0].map((shift) => ((at >>> shift) & 0xff).toString(16).padStart(2, "0"))].join(":");

export const workflowName = (at: number): string => `w-${at}`;

/** Throws unless this process may open a file for each of so many connections. */
export function requireFiles(connections: number): void {
  const [, limit = "0"] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  const needed = connections + 200;
  if (Number(limit) < needed)
    throw new Error(`a process may open ${limit} files here, ${needed} are needed (ulimit -n)`);
}

/** Keys of the server, made once for a directory. */
export async function tlsFiles(dir: string): Promise<{ readonly certificate: string; readonly key: string }> {
  const { cert, key } = await ensureCertificates(join(dir, "pki"), Date.now());
  const paths = { certificate: join(dir, "agents.crt"), key: join(dir, "agents.key") };
  await writeFile(paths.certificate, cert);
  await writeFile(paths.key, key, { mode: 0o600 });
  return paths;
}
