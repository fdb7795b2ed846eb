import { access, constants, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { shellQuoted } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";

/** Programs that scripts of public content call. `jq` and `drpjq` are one program. */
const programs: Readonly<Record<string, string>> = { drpcli: "drpcli", drpjq: "jq", jq: "jq" };

/**
 * Writes the programs that are missing in `path` into a directory, and returns the PATH that finds them. `slipway` is
 * the command that starts this program.
 */
export async function writeShims(directory: string, slipway: readonly string[], path: string): Promise<string> {
  const missing: string[] = [];
  for (const name of Object.keys(programs)) if (!(await isFound(name, path))) missing.push(name);
  if (missing.length === 0) return path;
  await makeDirectories(directory, 0o755);
  for (const name of missing) {
    const words = [...slipway, "rebar", programs[name] ?? name, "--"].map(shellQuoted).join(" ");
    await writeFile(join(directory, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  }
  return path === "" ? directory : `${directory}${delimiter}${path}`;
}

async function isFound(name: string, path: string): Promise<boolean> {
  for (const directory of path.split(delimiter).filter((one) => one !== "")) {
    const found = await access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
