import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { root } from "./slipway.ts";

/** Bundles a program so that Node runs it as a process of its own, and returns the path of the bundle. */
export async function bundleProgram(source: string): Promise<string> {
  // Inside node_modules, so that the bundle finds the packages that stay outside of it: with native parts, or of modules that ESM cannot hold.
  const outfile = join(root, "node_modules/.cache/slipway-programs", basename(source).replace(/\.ts$/, ".mjs"));
  const { outputFiles } = await build({
    entryPoints: [source],
    outfile,
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["@grpc/grpc-js", "lmdb", "tar-stream", "yaml"],
    logLevel: "error",
  });
  // Whole at any moment: another test may be about to start the one of before.
  const next = `${outfile}.${randomUUID()}`;
  await mkdir(dirname(outfile), { recursive: true });
  await writeFile(next, outputFiles[0]?.contents ?? "");
  await rename(next, outfile);
  return outfile;
}
