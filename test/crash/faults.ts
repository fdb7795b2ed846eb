import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

const hasCompiler = await execute("cc", ["--version"]).then(
  () => process.platform === "linux",
  () => false,
);

/** Faults need Linux and a C compiler; where tests must not be left out, their absence is a failure. */
export const canFault: boolean = hasCompiler || process.env["CI"] !== undefined;

/** Builds `store-fault.c` into a folder and returns what `LD_PRELOAD` is to name; undefined where it cannot be built. */
export async function buildFaults(directory: string): Promise<string | undefined> {
  if (!canFault) return undefined;
  const library = join(directory, "fault.so");
  await execute("cc", ["-shared", "-fPIC", "-o", library, join(import.meta.dirname, "store-fault.c"), "-ldl"]);
  return library;
}
