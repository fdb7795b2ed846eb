// Bundles the sources into dist/: one entry per program, shared code in chunks. Rebuilds only what is older than its sources.
//   node scripts/build.mjs [--force]
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = `${root}dist`;
const stampFile = `${dist}/.built`;

/** Programs that may be started as processes, and the library's public entries. */
const entries = {
  cli: "src/app/cli/main.ts",
  runner: "src/kernel/runtimes/process/runner/main.ts",
  engine: "src/engine/index.ts",
  kit: "src/kernel/kit/index.ts",
};

async function newestSource() {
  const listed = await readdir(`${root}src`, { recursive: true, withFileTypes: true });
  const paths = listed.filter((entry) => entry.isFile() && !/\.test\.ts$/.test(entry.name)).map((entry) => `${entry.parentPath}/${entry.name}`);
  const times = await Promise.all([...paths, `${root}package.json`, `${root}scripts/build.mjs`].map(async (path) => (await stat(path)).mtimeMs));
  return `${Math.max(...times)} ${paths.length}`;
}

/** Brings dist/ up to date; returns true when something was built. */
export async function bundle({ force = false } = {}) {
  const stamp = await newestSource();
  if (!force && (await readFile(stampFile, "utf8").catch(() => "")) === stamp) return false;
  const { version } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
  await mkdir(dist, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.entries(entries).map(([out, path]) => ({ in: path, out })),
    outdir: "dist",
    outExtension: { ".js": ".mjs" },
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: ["lmdb"],
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    legalComments: "none",
    define: { SLIPWAY_VERSION: JSON.stringify(version) },
    // Bundled CommonJS packages ask for Node's own modules through require.
    banner: { js: 'import{createRequire as __slipwayRequire}from"node:module";const require=__slipwayRequire(import.meta.url);' },
    metafile: true,
    logLevel: "warning",
  });
  await removeStale(Object.keys(metafile.outputs));
  await writeFile(`${dist}/meta.json`, JSON.stringify(metafile));
  await writeFile(stampFile, stamp);
  return true;
}

async function removeStale(outputs) {
  const wanted = new Set(outputs.map((path) => path.slice("dist/chunks/".length)));
  const chunks = await readdir(`${dist}/chunks`).catch(() => []);
  await Promise.all(chunks.filter((name) => !wanted.has(name)).map((name) => rm(`${dist}/chunks/${name}`)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle({ force: process.argv.includes("--force") });
