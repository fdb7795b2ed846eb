import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { build as esbuild } from "esbuild";
import { root } from "./slipway.ts";

const bundles = new Map<string, Promise<string>>();

/** The path of a program's bundle, which Node runs as a process of its own. It is built once in a process. */
export function bundleProgram(source: string): Promise<string> {
  const bundle = bundles.get(source) ?? build(source);
  bundles.set(source, bundle);
  return bundle;
}

async function build(source: string): Promise<string> {
  // Inside node_modules, so that the bundle finds the packages that stay outside of it: with native parts, or of modules that ESM cannot hold.
  const outfile = join(root, "node_modules/.cache/slipway-programs", basename(source).replace(/\.ts$/, ".mjs"));
  const { outputFiles } = await esbuild({
    entryPoints: [source],
    outfile,
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["@grpc/grpc-js", "lmdb", "tar-stream", "ws", "yaml"],
    // For packages of CommonJS that ask for modules of Node.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  // Whole at any moment: another test may be about to start the one of before.
  const next = `${outfile}.${randomUUID()}`;
  await mkdir(dirname(outfile), { recursive: true });
  await writeFile(next, outputFiles[0]?.contents ?? "");
  await rename(next, outfile);
  return outfile;
}
