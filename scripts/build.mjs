// Bundles the sources into dist/: programs as CommonJS, and the library's entries as ES modules (docs/decisions/0094).
//   node scripts/build.mjs [--force]     without --force, rebuilds only when a source has changed
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { build } from "esbuild";
import { bundlePage } from "./build-page.mjs";
import { lazyModules } from "./lazy-modules.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = `${root}dist`;
const stampFile = `${dist}/.built`;

const builders = ["build", "build-page", "lazy-modules"].map((name) => `${root}scripts/${name}.mjs`);

const cli = "src/app/cli/main.ts";

const programs = {
  slipway: cli,
  runner: "src/kernel/runtimes/process/runner/main.ts",
  "yaml-reader": "src/kernel/apiserver/http/yaml-reader-program.ts",
  "template-thread": "src/kernel/template/thread-program.ts",
  courier: "src/kernel/couriers/program.ts",
};

/**
 * The template module, as scripts/build-template.mjs has built it, and the licences of what is in it. Uncompressed:
 * reading it takes a tenth of the time that brotli does.
 */
const templateFiles = {
  "template.wasm": async () => brotliDecompressSync(await readFile(`${root}go/built/template.wasm.br`)),
  "template-licenses.txt": () => readFile(`${root}go/built/template-licenses.txt`),
};

/** CUE files of a dialect, by their paths without the ending. */
export async function cueTree(folder) {
  const names = (await readdir(`${root}${folder}`, { recursive: true })).filter((name) => name.endsWith(".cue")).sort();
  const texts = await Promise.all(names.map((name) => readFile(`${root}${folder}/${name}`, "utf8")));
  return Object.fromEntries(names.map((name, index) => [name.slice(0, -4), texts[index]]));
}

/** What src/dialects/vela/cue-sources.ts reads. */
const velaCue = "vela-cue.json";
const velaSources = async () => ({
  packages: await cueTree("src/dialects/vela/packages"),
  definitions: await cueTree("src/dialects/vela/definitions/shipped"),
});

/** The library's public entries. */
const library = {
  engine: "src/engine/index.ts",
  kit: "src/kernel/kit/index.ts",
};

/** What every bundle has in common. Names are not minified, so errors and profiles show them. */
export const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  // The second is a megabyte that few programs load.
  external: ["lmdb", "jq-wasm"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  write: false,
  logLevel: "warning",
};

/** Used late or never, and slow to load. */
const lazy = [
  "node:child_process",
  "node:crypto",
  "node:fs/promises",
  "node:http",
  "node:https",
  "node:perf_hooks",
  "node:tls",
  "node:worker_threads",
  "node:zlib",
  "@bufbuild/protobuf",
  "@bufbuild/protobuf/wkt",
  "@marcbachmann/cel-js",
  "@marcbachmann/cel-js/evaluator",
  "re2js",
  "string-width",
  "js-yaml",
  "tar-stream",
  "ws",
  "yaml",
];

/** Messages of gRPC: their descriptors are decoded when the file is loaded. */
const lazyFiles = /_pb\.js$/;

/** esbuild's options for a program: what is imported on use stays asleep inside the file until then. */
export const programOptions = (version) => ({
  ...common,
  format: "cjs",
  // Modules imported on use stay inside the one file.
  supported: { "dynamic-import": false },
  define: {
    SLIPWAY_VERSION: JSON.stringify(version),
    "import.meta.dirname": "__dirname",
    // Node loads eight modules at the first touch of `performance`.
    "performance.now": "__monotonic",
  },
  banner: { js: "const __monotonic=()=>{const[s,n]=process.hrtime();return s*1e3+n/1e6};" },
  plugins: [lazyModules(lazy, lazyFiles)],
});

/** Leaves out every module that the program imports on use: the help and the version need none. */
const withoutImportsOnUse = {
  name: "without-imports-on-use",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^/ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined)),
};

async function newestSource() {
  const listed = await readdir(`${root}src`, { recursive: true, withFileTypes: true });
  const paths = listed
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  const times = await Promise.all(
    [...paths, `${root}package.json`, `${root}go/built/template.json`, ...builders].map(
      async (path) => (await stat(path)).mtimeMs,
    ),
  );
  return `${Math.max(...times)} ${paths.length}`;
}

/** Brings dist/ up to date; returns true when something was built. `onBuild` is called before. */
export async function bundle({ force = false, onBuild = () => undefined } = {}) {
  const stamp = await newestSource();
  if (!force && (await readFile(stampFile, "utf8").catch(() => "")) === stamp) return false;
  onBuild();
  const { version } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
  await mkdir(dist, { recursive: true });
  const [page, ...results] = await Promise.all([
    bundlePage(),
    build({
      ...programOptions(version),
      entryPoints: programs,
      outdir: dist,
      outExtension: { ".js": ".cjs" },
    }),
    build({
      ...programOptions(version),
      entryPoints: [cli],
      outfile: `${dist}/help.cjs`,
      plugins: [lazyModules(lazy, lazyFiles), withoutImportsOnUse],
    }),
    build({
      ...common,
      // What is CommonJS and asks for modules of Node cannot be part of a module.
      external: [...common.external, "ws"],
      format: "esm",
      entryPoints: library,
      outdir: dist,
      outExtension: { ".js": ".mjs" },
      splitting: true,
      chunkNames: "chunks/[name]-[hash]",
    }),
  ]);
  const files = results.flatMap(({ outputFiles }) => outputFiles.map(asAscii));
  await Promise.all(files.map(({ path, contents }) => replace(path, contents)));
  await Promise.all(
    Object.entries(templateFiles).map(async ([name, content]) => replace(`${dist}/${name}`, await content())),
  );
  await replace(`${dist}/${velaCue}`, JSON.stringify(await velaSources()));
  const pageFiles = page.map(({ name, contents }) => ({ path: `${dist}/ui/${name}`, contents }));
  await Promise.all(pageFiles.map(({ path, contents }) => replace(path, contents)));
  await writeFile(stampFile, stamp);
  await removeStale([
    ...[...files, ...pageFiles].map(({ path }) => path),
    ...[...Object.keys(templateFiles), velaCue].map((name) => `${dist}/${name}`),
  ]);
  return true;
}

/** The file behind a comment with its hash. esbuild leaves characters outside ASCII in regular expressions. */
function asAscii({ path, text }) {
  const ascii = text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return { path, contents: `//${createHash("sha256").update(ascii).digest("hex").slice(0, 16)}\n${ascii}` };
}

/** A program that starts meanwhile sees the old file or the new one. */
async function replace(path, content) {
  await mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await writeFile(`${path}.${process.pid}`, content);
  await rename(`${path}.${process.pid}`, path);
}

/** Removes every other file in dist/, and folders that are empty then. */
async function removeStale(wanted) {
  const kept = new Set([stampFile, ...wanted].flatMap((path) => [path, dirname(path)]));
  const present = (await readdir(dist, { recursive: true })).map((name) => `${dist}/${name}`);
  await Promise.all(
    present.filter((path) => !kept.has(path)).map((path) => rm(path, { recursive: true, force: true })),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle({ force: process.argv.includes("--force") });
