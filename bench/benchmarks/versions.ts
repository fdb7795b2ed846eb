import { execFileSync } from "node:child_process";

/** The first number with dots that a program says of itself; empty when it is not installed. */
export function versionOf(program: string, ...args: readonly string[]): string {
  try {
    return /\d+\.[\d.]+/.exec(execFileSync(program, args, { encoding: "utf8" }))?.[0] ?? "";
  } catch {
    return ""; // Its absence is told of when it is to be started.
  }
}

export const etcdVersion = (): string => versionOf("etcd", "--version");
