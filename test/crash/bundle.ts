import { join } from "node:path";
import { build } from "esbuild";

/** Bundles a program of this folder so that Node runs it, and returns its path. */
export async function bundleProgram(source: string): Promise<string> {
  // Inside node_modules, so that the bundle finds the packages with native parts, which stay outside of it.
  const outfile = join(import.meta.dirname, "../../node_modules/.cache/slipway-crash", source.replace(/\.ts$/, ".mjs"));
  await build({
    entryPoints: [join(import.meta.dirname, source)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["lmdb"],
    logLevel: "error",
  });
  return outfile;
}
