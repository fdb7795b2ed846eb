import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../src/lib/base/index.ts";

const execute = promisify(execFile);

/** Faults are system calls of Linux that fail. Tests that need them are left out elsewhere, and nowhere else. */
export const canFault: boolean = process.platform === "linux";

/**
 * Builds a fault into a folder and returns what `LD_PRELOAD` is to name; undefined where there are no faults. Throws, with
 * what to run, where the compiler or the headers of the C library are missing: tests that nobody misses would prove nothing.
 */
export async function buildFaults(directory: string, fault = "store-fault.c"): Promise<string | undefined> {
  if (!canFault) return undefined;
  const library = join(directory, "fault.so");
  const source = join(import.meta.dirname, fault);
  await execute("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]).catch((thrown: unknown) => {
    const message = `${source} cannot be built; if cc or its headers are missing, run: node scripts/test-tools.mjs`;
    throw new Error(`${message}\n${messageOf(thrown)}`, { cause: thrown });
  });
  return library;
}
